"""Quotes and greeks of a chain at one moment, from the stream."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, date, datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Any, Self

import attrs

from brokerage_async import models
from brokerage_async.chains import ChainGreeks, Expiration, OptionChain, OptionGreeks
from brokerage_async.errors import InvalidRequestError
from brokerage_async.protocol.streams.events import Gap, Snapshot
from tests.chains.test_chain import SPX
from tests.http.calls import raised_by
from tests.loops import on_virtual_time
from tests.protocol.values import raised
from tests.stream.world import world
from tests.tables import for_each

WEEKLY = SPX.expiration(on=date(2026, 6, 26))


def symbols(*expirations: Expiration) -> set[str]:
    return {symbol for each in expirations for strike in each.strikes for symbol in (strike.call, strike.put)}


@on_virtual_time
async def test_every_option_has_quote_and_greeks() -> None:
    async with world() as (_, client):
        chain = OptionChain.of(await client.option_chains.nested("MSFT"))
        near, far = chain.expirations[:2]
        found = await chain.greeks(client.stream, expirations=near)
        assert found.missing == ()
        assert [option.symbol for option in found] == [
            symbol for strike in near.strikes for symbol in (strike.call, strike.put)
        ]
        for option in found:
            assert (option.quote.bid_price or 0) < (option.quote.ask_price or 0), option
            assert ((option.greeks.delta or 0) > 0) == (option.option_type == "C"), option
            assert option.strike in option.expiration.strikes
        for wanted, kind, sign in ((0.3, None, 1), (Decimal("-0.3"), None, -1), ("0.3", "P", -1), (-0.3, "C", 1)):
            picked = found.by_delta(wanted, kind)
            deltas = [abs((option.greeks.delta or 0) - sign * Decimal("0.3")) for option in found]
            assert abs((picked.greeks.delta or 0) - sign * Decimal("0.3")) == min(deltas), (wanted, kind)
        both = await chain.greeks(client.stream, (near, far))
        assert {option.symbol for option in both} == symbols(near, far)


@on_virtual_time
async def test_options_without_both_in_time_are_missing() -> None:
    async with world() as (sim, client):
        chain = OptionChain.of(await client.option_chains.nested("MSFT"))
        near = chain.expirations[0]
        unknown = attrs.evolve(
            near.strikes[0].row, call="NOSUCH260619C00100000", call_streamer_symbol=".NOSUCH260619C100"
        )
        odd = attrs.evolve(near, strikes=(attrs.evolve(near.strikes[0], row=unknown),))
        began = sim.clock.time
        found = await chain.greeks(client.stream, [odd], timeout=7)
        assert 7 <= (sim.clock.time - began).total_seconds() < 8
        assert ([option.symbol for option in found], found.missing) == ([near.strikes[0].put], (unknown.call,))
        assert await chain.greeks(client.stream, []) == ChainGreeks(())


class Events:
    """A stream of the events that it was made with."""

    def __init__(self, *events: Any) -> None:
        self.symbols = MappingProxyType({symbol: symbol for symbol in symbols(WEEKLY)})
        self._events = iter(events)

    @asynccontextmanager
    async def quotes(self, *_: Any) -> AsyncIterator[Self]:
        yield self

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        for event in self._events:
            return event
        raise StopAsyncIteration


def events(price: int) -> Iterator[Any]:
    for symbol in symbols(WEEKLY):
        yield models.Quote(event_symbol=symbol, bid_price=Decimal(price))
        yield Snapshot(type=models.Greeks, symbol=symbol, events=(models.Greeks(event_symbol=symbol),))


async def test_events_from_before_a_gap_do_not_count() -> None:
    old, new, gap = list(events(1))[:-1], list(events(2)), Gap(since=datetime.now(UTC), reason="lost")
    found = await SPX.greeks(Events(*old, gap, *new), WEEKLY)
    assert {option.quote.bid_price for option in found} == {2}
    assert {option.symbol for option in found} == symbols(WEEKLY)
    found = await SPX.greeks(Events(*old, gap, *new[:2]), WEEKLY)
    assert [option.symbol for option in found] == [new[0].event_symbol]
    assert {*found.missing} == symbols(WEEKLY) - {new[0].event_symbol}


@for_each(
    "delta, option_type, message",
    [
        (16, None, "delta must be between -1 and 1, got 16: 16 delta are 0.16"),
        (float("nan"), None, "delta must be a plain number"),
        (0.16, "put", "option_type must be C or P, got 'put'"),
        (0.16, "P", "got no put with a delta"),
    ],
)
def test_invalid_deltas_are_refused(delta: Any, option_type: Any, message: str) -> None:
    strike = WEEKLY.strikes[0]
    option = OptionGreeks(strike.call, "C", strike, WEEKLY, models.Quote(), models.Greeks(delta=Decimal("0.2")))
    assert ChainGreeks((option,)).by_delta(0.9) is option
    raised(InvalidRequestError, ChainGreeks((option,)).by_delta, delta, option_type, match=message)


async def test_invalid_expirations_are_refused() -> None:
    for expirations in ([date(2026, 6, 26)], ["SPXW"]):
        await raised_by(SPX.greeks(Events(), expirations), InvalidRequestError, "expirations must be those of a chain")
