"""Values of options: invariants of every chain."""

import itertools
import random
from collections.abc import Iterator
from decimal import Decimal
from itertools import pairwise
from math import exp, isfinite

import attrs

from brokerage_async.models import InstrumentType, OptionType
from brokerage_async.simulator.keyed_random import KeyedRandom
from brokerage_async.simulator.market.catalogue import Catalogue, Sizes
from brokerage_async.simulator.market.instrument import Instrument, occ_symbol
from brokerage_async.simulator.market.option_pricing import RATE, Surface, price_of, theory_of
from tests.simulator.harness import START, kind_of, market_prices


def problems(seed: int) -> Iterator[str]:
    draw = random.Random(seed)
    far = draw.uniform(0.08, 1.2)
    surface = Surface(far * draw.uniform(0.8, 1.25), far, draw.choice([None, 0.0, draw.uniform(0, 0.06)]))
    spot, years = draw.uniform(1, 7000), draw.choice([draw.uniform(0.0001, 0.02), draw.uniform(0.02, 3)])
    strikes = [spot * part / 20 for part in range(6, 41)]
    calls = [price_of(surface, spot, strike, years, is_call=True) for strike in strikes]
    puts = [price_of(surface, spot, strike, years, is_call=False) for strike in strikes]
    forward, least = surface.forward(spot, years), spot * 1e-9
    for strike, call, put in zip(strikes, calls, puts, strict=True):
        if abs(call - put - exp(-RATE * years) * (forward - strike)) > 0.005:
            yield f"put-call parity at {strike}"
        later = price_of(surface, spot, strike, years + 0.05, is_call=True)
        if surface.dividend == 0 and later < call - least:
            yield f"a later call at {strike} is cheaper"
    for name, prices, sign in (("calls", calls, -1), ("puts", puts, 1)):
        if any(sign * (after - before) < -least for before, after in pairwise(prices)):
            yield f"{name} are not monotone in the strike"
        if any(one + three - 2 * two < -least for one, two, three in zip(prices, prices[1:], prices[2:], strict=False)):
            yield f"{name} are not convex in the strike"
    for strike, is_call in zip(draw.sample(strikes, 6), (True, False) * 3, strict=True):
        theory, step = theory_of(surface, spot, strike, years, is_call=is_call), spot * 1e-5
        up, down = (price_of(surface, spot + way * step, strike, years, is_call=is_call) for way in (1, -1))
        if abs((up - down) / (2 * step) - theory.delta) > 0.002:
            yield f"delta at {strike} is {theory.delta}, not {(up - down) / (2 * step)}"
        if not -1e-6 <= theory.delta * (1 if is_call else -1) <= 1.001:
            yield f"delta at {strike} is {theory.delta}"
        if theory.gamma < -1e-6 or theory.vega < -1e-9:
            yield f"gamma or vega at {strike} is negative"
        inside = spot - strike if is_call else strike - spot
        if theory_of(surface, spot, strike, 0.0, is_call=is_call).price != max(0.0, inside):
            yield f"value at expiration of {strike} is not the payoff"


def test_chains_have_no_arbitrage_and_their_greeks_are_derivatives() -> None:
    assert [(seed, problem) for seed in range(200) for problem in problems(seed)] == []


def test_quotes_are_the_ticks_around_the_value_and_follow_the_underlying() -> None:
    prices = market_prices(3)
    expires = Catalogue(Sizes(), KeyedRandom(3), START).equity_options.definitions[-1].expires
    for spot in ("180", "200", "6.5"):
        prices.set_price("AAPL", Decimal(spot), START)
        for strike in range(5, 300, 15):
            for right in OptionType:
                symbol = occ_symbol("AAPL", expires, right, Decimal(strike))
                option = prices._catalogue.instrument(InstrumentType.EQUITY_OPTION, symbol)
                quote, theory = prices.market(option, START), prices.theory(option, START)
                worth = Decimal(theory.price).quantize(Decimal("0.00000001"))
                assert not quote.bid % option.tick_at(quote.bid)
                assert not quote.ask % option.tick_at(quote.ask)
                assert quote.bid <= worth < quote.ask == quote.bid + option.tick_at(worth)
                assert quote.bid <= quote.last <= quote.ask
                at_expiration = option.expires_at or 0.0
                assert prices.theory(option, at_expiration).price == float(prices.intrinsic(option, at_expiration))


def test_no_option_has_a_strike_of_zero_and_all_others_have_a_price() -> None:
    prices = market_prices(3)

    def find(*symbols: str) -> list[Instrument | None]:
        return [prices._catalogue.instrument(kind_of(symbol), symbol) for symbol in symbols]

    assert find("AAPL  260717C00000000", "./ESZ6 EW3U6 260918P0.0") == [None, None]
    odd = find("AAPL  260717P00000001", "AAPL  991231C99999999", "AAPL  200101C00100000", "SPX   260717P06000000")
    odd += find("./ESZ6 EW3U6 260918C99999999", "./6JU6 6JU6 260918P0.00000001")
    failed = []
    for spot, option in itertools.product(("0.0000001", "0.5", "999999999"), filter(None, odd)):
        prices.set_price(option.underlying, Decimal(spot), START)
        for at in (START - 4e7, START, (option.expires_at or 0) - 1, option.expires_at or 0):
            quote, theory = prices.market(option, at), prices.theory(option, at)
            if not (quote.bid <= quote.last <= quote.ask and all(map(isfinite, attrs.astuple(theory)))):
                failed.append((spot, option.symbol, at))
    assert failed == []
    assert None not in odd


def test_put_out_of_the_money_gains_when_the_share_falls() -> None:
    prices = market_prices(3)
    option = prices._catalogue.instrument(InstrumentType.EQUITY_OPTION, "AAPL  260717P00180000")
    assert option is not None
    prices.set_price("AAPL", Decimal(200), START)
    before, expected = prices.price(option, START), prices.theory(option, START)
    prices.set_price("AAPL", Decimal(194), START + 1)  # by 3 %
    gained = float(prices.price(option, START + 1) - before)
    assert abs(gained - (-6 * expected.delta + 18 * expected.gamma)) < 0.25 * gained
    prices.set_price("AAPL", Decimal(180), START + 2)
    assert prices.price(option, START + 2) > 2 * before
