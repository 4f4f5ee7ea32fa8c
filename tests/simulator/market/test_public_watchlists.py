"""Public watchlists."""

from brokerage_async.models import InstrumentType
from brokerage_async.simulator.keyed_random import KeyedRandom
from brokerage_async.simulator.market.catalogue import Catalogue, Sizes
from brokerage_async.simulator.market.public_watchlists import pairs_watchlists, public_watchlists


def test_lists_hold_tradable_instruments_and_pairs_two_sides() -> None:
    catalogue = Catalogue(Sizes(equities=3_000), KeyedRandom(0), 1_781_100_000.0)
    lists = public_watchlists(catalogue)
    assert max(len(one.entries) for one in lists) == 200
    assert len({one.name for one in lists}) == len({one.number for one in lists}) == len(lists)
    for one in lists:
        for symbol, kind in one.entries:
            assert kind is InstrumentType.INDEX or catalogue.instrument(kind, symbol) is not None
    for one in pairs_watchlists():
        for pair in one.pairs_equations or ():
            assert pair.left_symbol != pair.right_symbol
