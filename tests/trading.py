"""A client, a brokerage and a journal on virtual time, for the tests of order entry."""

import asyncio
import functools
import inspect
import random
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import Any, Literal, TypeVar
from unittest.mock import AsyncMock

import attrs
import pytest

from brokerage_async import Client, RetryPolicy, models, tickets
from brokerage_async.errors import OrderOutcomeUnknownError
from brokerage_async.http.transport import Transport
from brokerage_async.http.websocket import SocketTransport, WebSocket
from brokerage_async.journal import EntryKey, EntryState, JournalEntry, JournalError, MemoryJournal
from brokerage_async.order_entry import OrderEntry, Outcome, Placement, ReconcilePolicy
from brokerage_async.protocol.request import Request
from brokerage_async.protocol.response import Response
from brokerage_async.protocol.streams.timing import Doorbell
from brokerage_async.simulator import Simulator, faults
from brokerage_async.simulator.ledger import OrderRecord
from tests.loops import on_virtual_time

T = TypeVar("T")

SMALL = {"equities": 60, "equity_options": 10, "chain_rows": 10, "warrants": 5}
SUBMIT = r"/orders$"
DRY_RUN = r"/orders/dry-run$"
LISTS = r"/orders(/live)?($|\?)"
NOTHING_LISTED = (
    b'{"data":{"items":[]},"context":"/","pagination":{"per-page":200,"page-offset":0,"item-offset":0,'
    b'"total-items":0,"total-pages":0,"current-item-count":0}}'
)
FAILED = b'{"data":{"errors":[{"code":"margin_check_failed","message":"Not enough buying power"}]},"context":"/"}'
UNLISTED = faults.body(NOTHING_LISTED)
SPREAD = "AAPL  260717C00200000", "AAPL  260717C00210000"
POLICY = ReconcilePolicy()
TIMEOUT = 5.0


class Recorder:
    """A transport that keeps the bodies of all requests that were really sent."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.bodies: dict[str, list[bytes | None]] = defaultdict(list)

    async def send(self, request: Request) -> Response:
        name = request.operation.name if request.operation is not None else "other"
        self.bodies[name].append(request.body)
        return await self._inner.send(request)

    async def open_socket(self, url: str, *, user_agent: str, timeout: float) -> WebSocket:
        assert isinstance(self._inner, SocketTransport)
        return await self._inner.open_socket(url, user_agent=user_agent, timeout=timeout)

    async def close(self) -> None:
        await self._inner.close()


@attrs.frozen(kw_only=True)
class Floor:
    """Where orders are placed."""

    sim: Simulator
    wire: Recorder
    client: Client
    journal: MemoryJournal
    entry: OrderEntry
    account: str

    def orders(self, external_identifier: str) -> list[OrderRecord]:
        """Return the orders under this identifier in the brokerage's own books."""
        self.sim.settle()
        return self.sim.ledger.orders(external_identifier=external_identifier)

    def status(self, order_id: str) -> str:
        """Return the status of an order in the brokerage's own books."""
        self.sim.settle()
        return next(each.status for each in self.sim.ledger.orders() if each.order_id == order_id)

    def complex_ids(self, external_identifier: str) -> list[str]:
        """Ids of the complex orders with a component of this identifier, by the brokerage's own books."""
        self.sim.settle()
        state = self.sim.brokerage.state
        found = state.exchange.complex_orders(state.accounts.of(state.owner)[0])
        names = {str(one.number): {each.terms.external_identifier for each in one.members} for one in found}
        return [number for number, carried in names.items() if external_identifier in carried]

    async def journaled(self) -> list[JournalEntry]:
        return await self.journal.entries("sandbox")

    def on_submit(self, fault: Any, *, times: int | None = 1) -> None:
        """Let the next submits meet a fault."""
        self.sim.faults.add("POST", SUBMIT, fault, times=times)

    def on_lists(self, fault: Any, *, times: int | None = None) -> None:
        """Let the next reads of the lists meet a fault."""
        self.sim.faults.add("GET", LISTS, fault, times=times)

    def key(self, external_identifier: str) -> EntryKey:
        return EntryKey(self.client.environment.origin, "sandbox", self.account, external_identifier)

    def another_entry(self) -> OrderEntry:
        """Order entry of a process that starts later, over the same journal."""
        return OrderEntry(self.client, self.journal)


@asynccontextmanager
async def floor(
    *,
    seed: int = 0,
    latency: float = 0.1,
    without: Collection[str] = (),
    over: Callable[[Any], Any] | None = None,
    environment: Literal["sandbox", "production"] = "sandbox",
    **options: Any,
) -> AsyncIterator[Floor]:
    sim = Simulator(seed=seed, latency=latency, without=without, environment=environment, **SMALL)
    journal = MemoryJournal(clock=sim.clock.now)
    wire = Recorder(sim.transport() if over is None else over(sim.transport()))
    retry = RetryPolicy(jitter=random.Random(seed).random)
    async with sim.client(timeout=TIMEOUT, transport=wire, **{"retry": retry, **options}) as client:
        yield Floor(
            sim=sim,
            wire=wire,
            client=client,
            journal=journal,
            entry=OrderEntry(client, journal),
            account=sim.account_numbers[0],
        )


@pytest.fixture
async def here() -> AsyncIterator[Floor]:
    async with floor() as made:
        yield made


def on_floor(**options: Any) -> Callable[[Callable[..., Coroutine[Any, Any, None]]], Callable[..., None]]:
    """Run a test in a new `VirtualLoop` with a new floor, its first argument: one for each row of a table."""

    def decorate(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
        @on_virtual_time
        @functools.wraps(test)
        async def run(**values: Any) -> None:
            async with floor(**options) as here:
                await test(here, **values)

        signature = inspect.signature(test)
        run.__signature__ = signature.replace(parameters=list(signature.parameters.values())[1:])  # type: ignore[attr-defined]
        return run

    return decorate


def order(external_identifier: str | None = None, quantity: int = 10) -> models.NewOrder:
    """A buy far below the market: it is taken and stays working."""
    ticket = tickets.limit(tickets.buy_to_open("AAPL", quantity), price="10")
    return attrs.evolve(ticket, external_identifier=external_identifier)


def bracket_order(external_identifier: str | None = None, quantity: int = 10) -> models.NewComplexOrder:
    """A bracket whose entry stays working."""
    exits = tickets.sell_to_close("AAPL", quantity)
    return tickets.bracket(
        order(external_identifier, quantity),
        profit=tickets.limit(exits, price="900"),
        loss=tickets.stop(exits, trigger="5"),
    )


def edit(price: str = "11", **terms: Any) -> models.OrderEdit:
    """Return the terms of `order` at another price."""
    return models.OrderEdit(
        order_type=models.OrderType.LIMIT,
        time_in_force=models.TimeInForce.DAY,
        price=Decimal(price),
        price_effect=models.PriceEffect.DEBIT,
        **terms,
    )


def hold(
    here: Floor,
    symbol: str = "AAPL",
    quantity: float | str = 10,
    *,
    kind: models.InstrumentType = models.InstrumentType.EQUITY,
    action: models.LegAction = models.LegAction.BUY_TO_OPEN,
) -> None:
    """Give the account a position, by default a long one in shares."""
    state, now = here.sim.brokerage.state, here.sim.clock.now()
    instrument = state.catalogue.instrument(kind, symbol)
    account, price = state.accounts.of(state.owner)[0], state.prices.price(instrument, now)
    state.bookkeeping.open_position(account, instrument, action, Decimal(quantity), price, now)


def random_ticket(
    chance: random.Random, symbol: str, price: Decimal, *, held: Decimal = Decimal(0)
) -> models.NewOrder | models.NewComplexOrder:
    """Return an order that rests, fills at once or later: of one leg, a spread, or a bracket."""
    quantity = chance.randint(1, 9)
    near = (price * Decimal(chance.choice(["0.5", "0.999", "1", "1.01"]))).quantize(Decimal("0.01"))
    resting = tickets.limit(tickets.buy_to_open(symbol, quantity), price=near)
    match chance.randrange(6):
        case 0:
            lower, higher = SPREAD
            legs = tickets.buy_to_open(lower, quantity), tickets.sell_to_open(higher, quantity)
            return tickets.limit(*legs, debit="9")
        case 1:
            exits = tickets.sell_to_close(symbol, quantity)
            profit = tickets.limit(exits, price=(price * 2).quantize(Decimal(1)))
            loss = tickets.stop(exits, trigger=(price / 4).quantize(Decimal(1)))
            return tickets.bracket(resting, profit=profit, loss=loss)
        case 2 if held > 0:
            return tickets.market(tickets.sell_to_close(symbol, min(held, quantity)))
        case 3:
            return tickets.market(tickets.buy_to_open(symbol, quantity))
    return resting


def exclusive_orders(external_identifier: str | None = None, symbol: str = "AAPL") -> models.NewComplexOrder:
    """Two exits, where a fill of one cancels the other. Neither price is close to a fill."""
    profit = tickets.limit(tickets.sell_to_close(symbol, 10), price="900")
    loss = tickets.stop(tickets.sell_to_close(symbol, 10), trigger="5")
    return tickets.one_cancels_other(attrs.evolve(profit, external_identifier=external_identifier), loss)


@attrs.frozen(kw_only=True)
class Kind:
    """A kind of orders: how one is placed, and which requests of it meet trouble."""

    name: str
    make: Callable[[str | None], Any]
    submit: str
    dry_run: str
    lists: str
    namespace: str
    others: tuple[str, ...] = ()

    async def place(self, entry: OrderEntry, account: str, name: str | None, **options: Any) -> Placement:
        place: Any = entry.place_complex if self.others else entry.place
        placement: Placement = await place(account, self.make(name), **options)
        return placement

    def check(self, here: Floor, placement: Placement) -> None:
        """Check that the report matches the brokerage's books, component by component."""
        name = placement.external_identifier
        check_agreement(placement, here.orders(name))
        counts = {len(originals(here.orders(name + other))) for other in ("", *self.others)}
        assert len(counts) == 1, f"{name} has components without the others"
        if self.others and placement.complex_order is not None:
            shown = [placement.complex_order.trigger_order, *(placement.complex_order.orders or ())]
            ids = {each.id for each in shown if each is not None}
            assert ids <= {each.order_id for other in ("", *self.others) for each in here.orders(name + other)}
        if self.others and placement.outcome is Outcome.PLACED:
            assert self.ids(here, name) == [placement.order_id]

    def ids(self, here: Floor, name: str) -> list[str]:
        """Ids that the brokerage has given to the orders of this name."""
        return here.complex_ids(name) if self.others else [record.order_id for record in originals(here.orders(name))]


SINGLE = Kind(name="order", make=order, submit=SUBMIT, dry_run=DRY_RUN, lists=LISTS, namespace="orders")
COMPLEX = Kind(
    name="complex order",
    make=bracket_order,
    submit=r"/complex-orders$",
    dry_run=r"/complex-orders/dry-run$",
    lists=rf"{LISTS}|/complex-orders(/\d+)?($|\?)",
    namespace="complex_orders",
    others=(".1", ".2"),
)


async def place_unknown(
    here: Floor, name: str = "mine", *, kind: Kind = SINGLE, fault: Any = None, entry: Any = None, **options: Any
) -> OrderOutcomeUnknownError:
    """Place an order whose outcome stays unknown, after its submit has met a fault."""
    if fault is not None:
        here.sim.faults.add("POST", kind.submit, fault, times=1)
    with pytest.raises(OrderOutcomeUnknownError) as caught:
        await kind.place(entry or here.entry, here.account, name, **options)
    return caught.value


async def leave_open(here: Floor, name: str = "mine", fault: str = "drop_after", *, entry: Any = None) -> None:
    """Place an order whose submit meets ``fault`` and that nothing is known of: the lists are refused."""
    here.on_lists(faults.status(403), times=2)
    await place_unknown(here, name, fault=fault, entry=entry)


async def leave_listed(here: Floor, *names: str, journal: MemoryJournal | None = None) -> None:
    """Leave open entries of a dead worker, whose orders are listed."""
    for name in names:
        await here.client.orders.submit(here.account, order(name))
        await (here.journal if journal is None else journal).open(here.key(name), b"{}", owner="dead", lease=0)


async def cancelled(work: Awaitable[Any], after: float) -> Any:
    """Cancel ``work`` after some seconds. Return the error that it ends with."""
    task = asyncio.ensure_future(work)
    await asyncio.sleep(after)
    task.cancel()
    with pytest.raises(asyncio.CancelledError) as caught:
        await task
    return caught.value


class Bells:
    """Streams whose doorbell rings at the given seconds after each search begins."""

    def __init__(self, *times: float) -> None:
        self._times = times
        self.accounts: list[tuple[str, ...]] = []

    def check_account(self) -> None:
        pass

    def doorbell(self, account_numbers: Collection[str] | None, events: frozenset[str]) -> Doorbell:
        self.accounts.append(tuple(account_numbers or ()))
        return self.rings

    @asynccontextmanager
    async def rings(self, ring: Callable[[], None]) -> AsyncIterator[None]:
        timers = [asyncio.get_running_loop().call_later(seconds, ring) for seconds in self._times]
        try:
            yield
        finally:
            for timer in timers:
                timer.cancel()


class HookedJournal(MemoryJournal):
    """A journal that calls a hook in place of the method of its name, with the method and the arguments of the call."""

    def __init__(self, *, clock: Callable[[], float] | None = None, **hooks: Callable[..., Awaitable[Any]]) -> None:
        super().__init__(**({} if clock is None else {"clock": clock}))  # type: ignore[arg-type]
        for name, hook in hooks.items():
            setattr(self, name, functools.partial(hook, getattr(self, name)))


def failing_journal(*methods: str) -> HookedJournal:
    full = JournalError("the journal cannot be used: database or disk is full")
    return HookedJournal(**dict.fromkeys(methods, AsyncMock(side_effect=full)))


def slow_journal(method: str, seconds: float) -> HookedJournal:
    """Return a journal that takes its time before one method."""

    async def slowly(call: Any, *names: Any, **values: Any) -> Any:
        await asyncio.sleep(seconds)
        return await call(*names, **values)

    return HookedJournal(**{method: slowly})


def originals(records: list[OrderRecord]) -> list[OrderRecord]:
    return [record for record in records if record.replaces_order_id is None]


def check_agreement(placement: Placement, records: list[OrderRecord]) -> None:
    found = originals(records)
    assert len(found) <= 1, f"placed {len(found)} times: {found}"
    if placement.outcome is Outcome.PLACED:
        assert len(found) == 1, "reported as placed, but the brokerage has no such order"
        assert placement.order is None or placement.order.id in {record.order_id for record in records}
    elif placement.outcome in (Outcome.REFUSED, Outcome.NOT_SENT):
        assert not found, f"reported as {placement.outcome}, but the brokerage has it"


STATE_OF = {
    Outcome.PLACED: EntryState.PLACED,
    Outcome.REFUSED: EntryState.REFUSED,
    Outcome.NOT_SENT: EntryState.NOT_SENT,
    Outcome.UNKNOWN: EntryState.OPEN,
}
