"""A small brokerage in memory with a client, for tests of streams on virtual time."""

import asyncio
import functools
import inspect
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import Any, TypeVar

from brokerage_async import Client, models, tickets
from brokerage_async.simulator import Simulator
from brokerage_async.stream import Gap
from tests.loops import on_virtual_time

T = TypeVar("T")

SMALL: dict[str, Any] = {"equities": 50, "equity_options": 50, "chain_rows": 50, "warrants": 3}


@asynccontextmanager
async def world(seed: int = 1, equities: int = 50, **options: Any) -> AsyncIterator[tuple[Simulator, Client]]:
    """Yield a simulator and a client of it; ``options`` are the client's."""
    sim = Simulator(seed=seed, **{**SMALL, "equities": equities})
    async with sim.client(**options) as client:
        await client.market_time.equity_holidays()  # the first answer shows the time of the service
        yield sim, client


def in_world(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run a test on virtual time with those of a simulator, a client of it and an account that its arguments name."""
    signature = inspect.signature(test)

    @functools.wraps(test)
    @on_virtual_time
    async def run(**fixtures: Any) -> None:
        async with world() as (sim, client):
            made = {"sim": sim, "client": client, "account": sim.account_numbers[0]}
            await test(**{name: made[name] for name in made.keys() & signature.parameters}, **fixtures)

    left = [each for name, each in signature.parameters.items() if name not in ("sim", "client", "account")]
    run.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
    return run


@asynccontextmanager
async def ready(stream: T) -> AsyncIterator[T]:
    """Yield a stream once its subscriptions are confirmed, and close it afterwards."""
    opened: Any = stream
    async with opened:
        await opened.ready()
        yield stream


async def within(seconds: float, stream: Any) -> Any:
    return await asyncio.wait_for(anext(stream), seconds)


async def gap_within(seconds: float, stream: Any) -> Gap:
    """Return the next event, which must be a gap."""
    event = await within(seconds, stream)
    assert isinstance(event, Gap), event
    return event


async def drain(stream: Any, seconds: float = 1.0) -> list[Any]:
    """Return all events that come until nothing comes for a while."""
    found = []
    while True:
        try:
            found.append(await within(seconds, stream))
        except TimeoutError:
            return found


def alert(symbol: str, threshold: int) -> models.NewQuoteAlert:
    above = models.AlertOperator.GREATER_THAN
    price = Decimal(threshold)
    return models.NewQuoteAlert(symbol=symbol, field=models.AlertField.LAST, operator=above, threshold=price)


def buy(symbol: str = "AAPL", quantity: int = 3, price: str | None = None) -> models.NewOrder:
    leg = tickets.buy_to_open(symbol, quantity)
    if price is None:
        return tickets.market(leg)
    return tickets.limit(leg, price=price, time_in_force=models.TimeInForce.GTC)
