"""Prices and instruments of a real service, for paper trading: they are read there, and orders stay here."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import date, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import parse_qs

import attrs
import msgspec

from .._generated.models import Equity, InstrumentCollection, InstrumentType, Lendability, MarketState, TickSize
from .._generated.operations import OPERATIONS
from ..errors import APIError, BrokerageError, NotFoundError
from ..models import Quote as QuoteEvent
from ..models import Trade as TradeEvent
from ..operation import Effect
from ..protocol.request import Request
from ..protocol.response import Response
from ..protocol.streams.events import Gap
from .api.request_parser import ParsedRequest, Router, request_target, split_target
from .api.wire import RefusedError
from .market.calendar import CALENDARS, local_date, local_epoch
from .market.catalogue import EquityDefinition, future_instrument, future_option_instrument
from .market.instrument import Instrument, Ticks
from .market.quotes import PRICE_LIMIT

if TYPE_CHECKING:
    from .api.brokerage import Brokerage
    from .clock import Clock

__all__ = ["LiveQuotes", "PriceClient"]

logger: logging.Logger = logging.getLogger("brokerage_async.simulator")

_READ = ("instruments", "option_chains", "search", "market_metrics", "market_time", "market_data")
"""Namespaces whose operations are answered by the source."""
_LISTS = ("watchlists.list_public", "watchlists.get_public", "watchlists.list_pairs", "watchlists.get_pairs")
_TRADE = ("orders", "complex_orders", "margin", "quote_alerts")
"""Namespaces whose requests name instruments that have to be listed here."""
_KEPT = ("instruments.", "option_chains.", "search.", "market_metrics.", "watchlists.", "market_time.sessions")
"""Operations whose answers are kept for the day. Those of the others are kept for a second, of a token not at all."""
_MAX_KEPT = 256
_MAX_MISSING = 10_000
_MAX_BYTES = 64 * 2**20
_TICK = 0.5
"""Seconds between two looks at the stream. Between them prices are conflated."""
_SESSION_LOOK = 60.0
_RETRY = 5.0


class PriceClient(Protocol):
    """The part of a client that reads the source. `brokerage_async.Client` has it."""

    @property
    def read_only(self) -> bool:
        """Whether it refuses every call that changes something, before anything is sent."""
        ...

    @property
    def stream(self) -> Any:
        """Its streams: ``quotes(symbols, events)``."""
        ...

    @property
    def instruments(self) -> Any:
        """Its instruments: ``equity(symbol)`` and the like."""
        ...

    @property
    def market_time(self) -> Any:
        """Its trading hours: ``current_sessions(collections)``."""
        ...

    async def request(self, method: str, path: str, *, query: Mapping[str, object]) -> Any:
        """Call an endpoint and return its answer, with status, headers, body and ``parse()``."""
        ...


@attrs.define
class _Market:
    """Latest prices of a symbol. None for a side that has none."""

    is_option: bool
    bid: Decimal | None = None
    ask: Decimal | None = None
    bid_size: Decimal = Decimal(0)
    ask_size: Decimal = Decimal(0)
    last: Decimal | None = None
    volume: Decimal | None = None

    def quote(self) -> dict[str, str | None] | None:
        """Return the fields of the quote that orders see, None without any price. An option's is its middle.

        Nothing trades at a side that is missing, or at sides that cross: its size is 0.
        """
        sides = [side for side in (self.bid, self.ask) if side]
        middle = sum(sides, Decimal(0)) / len(sides) if sides else None
        last = (middle if self.is_option else None) or self.last or middle
        if last is None:
            return None
        trades = not (self.bid and self.ask and self.bid > self.ask)
        return {
            "last": str(last),
            "bid": str(self.bid or (0 if self.is_option else last)),
            "ask": str(self.ask or last),
            "bid_size": str(self.bid_size if trades and self.bid else 0),
            "ask_size": str(self.ask_size if trades and self.ask else 0),
            "volume": None if self.volume is None else str(self.volume),
        }


class LiveQuotes:
    """Prices of a real service, for ``Simulator(prices=LiveQuotes(client))``: paper trading.

    Instruments, chains, market time, metrics and market data are read at the source when a program asks for them, and
    the quotes of what it trades are subscribed there. A program gets the quote token of the source, so that
    ``client.stream.quotes`` shows its stream. Accounts, orders, positions, balances, alerts and watchlists are the
    simulator's own.

    Nothing else is sent to the source, whatever a program does here: orders and their dry-runs are the simulator's own.
    ``client`` must be made with ``read_only=True``, so that it would refuse a call that changes something. It has to be
    entered, and is closed by its owner.

    While the source is silent, or says that the market is closed on what is a trading day by the calendar, nothing
    trades: orders wait, the answer to a new one warns, and ``simulator.ledger.price_gaps`` has the times. A connection
    that is lost is noticed within a second, one that dies without a word within a minute or two.

    Args:
        client: a client of the source.
        wait: seconds within which the first price of a symbol must come, else an order for it is refused.

    Raises:
        ValueError: the client is not read-only, or ``wait`` is not positive.
    """

    def __init__(self, client: PriceClient, *, wait: float = 10.0) -> None:
        if getattr(client, "read_only", False) is not True:
            raise ValueError("the client of LiveQuotes must be made with read_only=True")
        if not wait > 0:
            raise ValueError(f"wait must be a positive number of seconds, got {wait!r}")
        self._client = client
        self._wait = wait
        reads = [one for one in OPERATIONS.values() if one.effect is Effect.READ and one.host is None]
        names = {one.name for one in reads if one.name.startswith(_READ) or one.name in _LISTS}
        self._router = Router(one for one in OPERATIONS.values() if one.host is None)
        self.handlers: Mapping[str, Callable[[ParsedRequest], Response]] = {
            **dict.fromkeys(names, self._answer),
            **dict.fromkeys((name for name in OPERATIONS if name.startswith("backtests.")), _refuse_backtest),
        }
        self._forget()

    def _forget(self) -> None:
        self._kept: dict[str, tuple[float, Response]] = {}
        self._markets: dict[str, _Market] = {}
        self._changed: set[str] = set()
        self._learned: dict[tuple[str, str], date] = {}
        self._came = asyncio.Condition()
        self._learning = asyncio.Lock()
        self._stream: Any = None
        self._error = self._broken = ""
        self._closed_at_source = False
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self, brokerage: Brokerage, clock: Clock) -> None:
        """Subscribe to everything held or ordered already, and follow the source."""
        self._forget()
        self._brokerage, self._clock = brokerage, clock
        for instrument in brokerage.state.catalogue.listed.values():
            if (instrument.expires_at or clock.now()) >= clock.now():
                self._markets |= _markets_of(instrument)
        self._take()
        jobs = {"reads": self._read, "ticks": self._tick, "sessions": self._look_at_session}
        self._tasks = [asyncio.create_task(job(), name=f"live quotes: {name}") for name, job in jobs.items()]
        for task in self._tasks:
            task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Let nothing trade any more at prices that nobody follows."""
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("%s ended: orders wait until the simulator is started again", task.get_name(), exc_info=error)
            self._broken = f"{task.get_name()} ended: {error!r}"
            self._take()

    async def aclose(self) -> None:
        """End the subscriptions."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []

    async def prepare(self, request: Request) -> None:
        """Read at the source what the answer to a request needs."""
        path, query = split_target(request.url)
        found = self._router.find(request.method, path)
        if found is None:
            return
        operation, _ = found
        if operation.name in self.handlers:
            await self._keep(request_target(request.url), operation.name, path, query)
        elif request.method != "GET" and operation.name.partition(".")[0] in _TRADE:
            with suppress(RefusedError):  # the simulator refuses it, too
                body = self._brokerage.request_parser.body(operation, request.body)
                wanted = dict.fromkeys(_named(body))
                async with self._learning:
                    await asyncio.gather(*(self._learn(kind, symbol) for kind, symbol in wanted))
        if request.method != "GET":
            self._take()

    async def _keep(self, target: str, name: str, path: str, query: str) -> None:
        now = self._clock.now()
        if target in self._kept and now < self._kept[target][0]:
            return
        try:
            answer = await self._client.request("GET", path, query=parse_qs(query, keep_blank_values=True))
            media = {"content-type": answer.headers.get("content-type", "application/json")}
            outcome = Response(status=answer.status, headers=media, body=answer.body)
            until = now if name == "market_data.quote_token" else now + 1.0
            if name.startswith(_KEPT):
                until = local_epoch(local_date(now) + timedelta(days=1), 0)
        except BrokerageError as error:
            outcome, until = _refusal(error).response(path), now
        self._kept[target] = until, outcome
        size = sum(len(each.body) for _, each in self._kept.values())
        while len(self._kept) > 1 and (len(self._kept) > _MAX_KEPT or size > _MAX_BYTES):
            _, oldest = self._kept.pop(next(iter(self._kept)))
            size -= len(oldest.body)

    def _answer(self, request: ParsedRequest) -> Response:
        if request.record.target not in self._kept:
            raise RefusedError(502, "source_unavailable", "the answer of the source of live prices was dropped: repeat")
        return self._kept[request.record.target][1]

    async def _learn(self, kind: str, symbol: str) -> None:
        """List an instrument that the source has, once its price is known. Its terms are read again each day."""
        catalogue, today = self._brokerage.state.catalogue, local_date(self._clock.now())
        if kind not in InstrumentType.__members__.values() or self._learned.get((kind, symbol)) == today:
            return
        wanted = dict[str, _Market]()
        try:
            found, equity = await self._look_up(InstrumentType(kind), symbol)
            if found.is_option and not (equity and equity.is_index):  # which may be delivered
                await self._learn(found.underlying_type, found.underlying)
            wanted = {name: market for name, market in _markets_of(found).items() if name not in self._markets}
            self._markets |= wanted
            names = (found.symbol, found.underlying)
            async with asyncio.timeout(self._wait):
                if self._stream is not None and wanted:
                    await self._stream.add(list(wanted))
                async with self._came:
                    self._came.notify_all()
                    await self._came.wait_for(lambda: all(self._markets[name].quote() for name in names))
        except (BrokerageError, LookupError, TimeoutError, TypeError, ValueError) as error:
            for name in wanted:
                del self._markets[name]
            if self._stream is not None and wanted:
                await self._stream.remove(wanted)
            reason: object = error  # one that is listed stays so, such as while the source cannot be reached
            if isinstance(error, NotFoundError | TimeoutError):
                reason = "is not listed at the source" if isinstance(error, NotFoundError) else "got no price there"
            if len(catalogue.missing) >= _MAX_MISSING:
                catalogue.missing.clear()
            catalogue.missing[symbol] = f"{symbol}: {reason}"
            return
        self._learned[kind, symbol] = today
        self._take()
        terms = {"instrument": msgspec.to_builtins(found), "equity": equity and msgspec.to_builtins(equity)}
        self._brokerage.act("list_instrument", self._clock.now(), **terms)

    async def _look_up(self, kind: InstrumentType, symbol: str) -> tuple[Instrument, EquityDefinition | None]:
        """Return an instrument of the source, with the share or index that it is or belongs to."""
        today = local_date(self._clock.now())
        instruments = self._client.instruments
        match kind:
            case InstrumentType.EQUITY:
                row = await instruments.equity(symbol)
                equity = _equity(row)
                if equity.is_index:
                    raise LookupError("an index is not traded")
                fractional, ticks = bool(row.is_fractional_quantity_eligible), _ticks(row.tick_sizes)
                return attrs.evolve(equity.instrument(), fractional=fractional, ticks=ticks), equity
            case InstrumentType.EQUITY_OPTION:
                option = await instruments.equity_option(symbol)
                under = await instruments.equity(option.underlying_symbol)
                if option.strike_price is None or option.option_type is None or option.expiration_date is None:
                    raise LookupError("its terms are not shown")
                return Instrument(
                    symbol=symbol,
                    instrument_type=kind,
                    underlying=under.symbol,
                    multiplier=Decimal(option.shares_per_contract or 100),
                    strike=option.strike_price,
                    option_type=option.option_type,
                    expires=option.expiration_date,
                    closing_only=bool(option.is_closing_only),
                    ticks=_ticks(under.option_tick_sizes),
                ), _equity(under)
            case InstrumentType.FUTURE:
                await instruments.future(symbol)
                found = future_instrument(symbol, today)
            case InstrumentType.FUTURE_OPTION:
                await instruments.future_option(symbol)
                found = future_option_instrument(symbol)
            case _:
                await instruments.cryptocurrency(symbol)
                found = Instrument(symbol=symbol, instrument_type=kind, underlying=symbol)
        if found is None:
            raise LookupError("the simulator does not know the terms of its product")
        return found, None

    @property
    def _silence(self) -> str:
        """Why nothing trades, or empty."""
        if self._broken:
            return self._broken
        if self._closed_at_source:
            return "the source says that the market is closed"
        if self._stream is None:
            return (self._error or "the source is not connected") if self._markets else ""
        gap = self._stream.interruption
        return "" if gap is None else f"the stream of the source is interrupted: {gap.reason}"

    async def _read(self) -> None:
        """Follow the stream of the source, whatever becomes of it."""
        while True:
            async with self._came:
                await self._came.wait_for(lambda: bool(self._markets))
            try:
                async with self._client.stream.quotes(sorted(self._markets), [QuoteEvent, TradeEvent]) as stream:
                    await stream.ready()
                    self._stream = stream
                    await stream.add(sorted(self._markets.keys() - stream.symbols.keys()))
                    async for event in stream:
                        self._hear(stream.symbol_of(event), event)
                        async with self._came:
                            self._came.notify_all()
            except BrokerageError as error:
                self._error = f"the source is not connected: {error}"
            finally:
                self._stream = None
            self._grow_old()
            await asyncio.sleep(_RETRY)

    def _hear(self, symbol: str | None, event: object) -> None:
        if isinstance(event, Gap):
            self._grow_old()
        if symbol not in self._markets:
            return
        market = self._markets[symbol]
        match event:
            case QuoteEvent():
                market.bid, market.ask = _price(event.bid_price), _price(event.ask_price)
                market.bid_size, market.ask_size = event.bid_size or Decimal(0), event.ask_size or Decimal(0)
            case TradeEvent():
                market.last, market.volume = _price(event.price) or market.last, event.day_volume
        self._changed.add(symbol)

    def _grow_old(self) -> None:
        """Let nothing trade at the prices so far: each symbol trades again after its next quote."""
        for market in self._markets.values():
            market.bid_size = market.ask_size = Decimal(0)

    async def _tick(self) -> None:
        """Give the books new prices while something depends on them."""
        while True:
            await asyncio.sleep(_TICK)
            state = self._brokerage.state
            is_exposed = state.order_store.has_working or any(account.positions for account in state.own_accounts)
            if is_exposed or state.alert_monitor.alerts or self._silence != state.prices.silence:
                self._take()

    def _take(self) -> None:
        """Let the books see the prices that have come."""
        silence = self._silence
        if silence and not self._brokerage.state.prices.silence:
            self._grow_old()
        if self._changed or silence != self._brokerage.state.prices.silence:
            changed, self._changed = self._changed, set()
            quotes = {symbol: self._markets[symbol].quote() for symbol in sorted(changed)}
            known = {symbol: quote for symbol, quote in quotes.items() if quote is not None}
            self._brokerage.act("take_prices", self._clock.now(), quotes=known, silence=silence)

    async def _look_at_session(self) -> None:
        """Compare the calendar with what the source says: it may be closed on a day of mourning."""
        calendar = CALENDARS[InstrumentCollection.EQUITY]
        while True:
            with suppress(BrokerageError):
                states = [each.state for each in await self._client.market_time.current_sessions(["Equity"])]
                now = self._clock.now()
                session = calendar.current(now)
                is_open = session is not None and session.open + 60 < now < session.close - 60
                self._closed_at_source = is_open and MarketState.CLOSED in states
            await asyncio.sleep(_SESSION_LOOK)


def _markets_of(instrument: Instrument) -> dict[str, _Market]:
    symbol, underlying = instrument.symbol, instrument.underlying
    return {name: _Market(is_option=instrument.is_option and name == symbol) for name in (symbol, underlying)}


def _named(body: object) -> Iterator[tuple[str, str]]:
    """Yield instrument type and symbol of everything that a request names."""
    if isinstance(body, list | tuple):
        for each in body:
            yield from _named(each)
    elif attrs.has(type(body)):
        fields = attrs.asdict(body, recurse=False)  # type: ignore[arg-type]
        if symbol := fields.get("symbol"):
            kind = InstrumentType.CRYPTOCURRENCY if symbol.endswith("/USD") else InstrumentType.EQUITY
            kind = InstrumentType.FUTURE if symbol.startswith("/") else kind
            yield str(fields.get("instrument_type") or kind), symbol
        yield from _named(list(fields.values()))


def _price(price: Decimal | None) -> Decimal | None:
    return price if price is not None and 0 < price < PRICE_LIMIT else None


def _ticks(rows: Iterable[TickSize] | None) -> Ticks:
    return tuple((row.threshold, row.value) for row in rows or () if row.value and not row.symbol)


def _equity(row: Equity) -> EquityDefinition:
    return EquityDefinition(
        symbol=row.symbol or "",
        description=row.description or "",
        is_etf=bool(row.is_etf),
        is_index=bool(row.is_index),
        lendability=row.lendability or Lendability.LOCATE_REQUIRED,
        halted=row.halted_at is not None,
        closing_only=bool(row.is_closing_only),
    )


def _refusal(error: BrokerageError) -> RefusedError:
    """Return what a program gets in place of an answer of the source."""
    if isinstance(error, APIError) and error.status is not None and 400 <= error.status < 500 and error.status != 401:
        return RefusedError(error.status, error.code or "source_refused", error.message)
    return RefusedError(502, "source_unavailable", f"the source of live prices: {error}")


def _refuse_backtest(request: ParsedRequest) -> Response:
    raise RefusedError(501, "not_simulated", "Backtests are not simulated on live prices (text of the simulator)")
