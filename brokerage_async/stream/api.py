"""The streams of one client: `Streams`, with one method for each kind."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, overload

import attrs

from .._arguments import check_count, check_flag, check_number, check_seconds
from .._decimals import Decimals
from .._generated import models
from .._generated.endpoints import Endpoints
from ..arrow import require, to_arrow
from ..errors import ConfigurationError, InvalidRequestError, StreamError
from ..http.session import Connected
from ..protocol.decoding.issues import Issues
from ..protocol.streams.channel import Subscription
from ..protocol.streams.events import MARKET_EVENTS, AccountEvent, Gap, MarketEvent, Snapshot, UnknownEvent
from ..protocol.streams.timing import Doorbell
from ..symbols import instrument_type_of, parse_occ
from .account import AccountLink, AccountSink, ringing
from .consumer import MARKET_POLICIES, MAX_ROWS, Batches, Conflate, DropOldest, Fail, Policy, Tape
from .link import EventStream, StreamAccess, logger
from .quotes import QuoteLink, QuoteSink

if TYPE_CHECKING:
    import pyarrow


PERIOD = re.compile(r"(?P<count>[1-9][0-9]*)?(?P<unit>mo|[tsmhdwoyvp])")
SURROGATE = re.compile("[\ud800-\udfff]")
MAX_TEXT = 1_000  # characters of a symbol: the service closes a connection that sends far longer messages
BATCH = 50  # symbols that are looked up with one request


def candle_symbol(symbol: str, period: str, *, regular_hours: bool = False) -> str:
    """Return the symbol of candles, in the form that the service returns."""
    match = PERIOD.fullmatch(period) if isinstance(period, str) else None
    if match is None:
        raise ConfigurationError(f"period must be a number and a unit such as '5m', '1h' or '1d', got {period!r}")
    count = "" if match["count"] in (None, "1") else match["count"]
    return f"{symbol}{{={count}{match['unit']}{',tho=true' if regular_hours else ''}}}"


async def streamer_symbols(endpoints: Endpoints, symbols: Iterable[str], known: Mapping[str, str]) -> dict[str, str]:
    """Return the streamer symbol of each symbol. One that is a streamer symbol already, or is ``known``, stays."""
    found: dict[str, str] = {}
    pending: dict[str, list[str]] = {}
    for symbol in _check_symbols(symbols):
        kind = instrument_type_of(symbol)
        if symbol in known:
            found[symbol] = known[symbol]
        elif kind == "Equity Option":
            found[symbol] = parse_occ(symbol).streamer_symbol
        elif kind == "Equity" or ":" in symbol:
            found[symbol] = symbol
        else:
            pending.setdefault(kind, []).append(symbol)
    look_ups: dict[str, Callable[[list[str]], Awaitable[Iterable[Any]]]] = {
        "Future": lambda names: endpoints.instruments.futures(symbols=names).collect(),
        "Future Option": lambda names: endpoints.instruments.future_options(symbols=names).collect(),
        "Cryptocurrency": lambda names: endpoints.instruments.cryptocurrencies(symbols=names),
    }
    for kind, some in pending.items():
        for start in range(0, len(some), BATCH):
            for item in await look_ups.get(kind, look_ups["Cryptocurrency"])(some[start : start + BATCH]):
                if item.streamer_symbol:
                    found[item.symbol] = item.streamer_symbol
        if unknown := [symbol for symbol in some if symbol not in found]:
            raise InvalidRequestError(f"unknown symbols, or without a streamer symbol: {', '.join(unknown)}")
    return found


CANDLES_AT_A_TIME = 100  # subscriptions to candles that the service takes in one session
FLUSH_INTERVAL = 1.0  # seconds between two writes of a recording


class AccountStream(EventStream[AccountEvent | Gap]):
    """Async iterator over the events of accounts, from ``client.stream.account``."""


class QuoteStream(EventStream[MarketEvent | Snapshot | UnknownEvent | Gap]):
    """Async iterator over market events, from ``client.stream.quotes``."""

    _link: QuoteLink
    _sink: QuoteSink

    def __init__(self, link: QuoteLink, sink: QuoteSink, plan: SubscriptionPlan, symbols: Sequence[str]) -> None:
        super().__init__(link, sink)
        self._access = link.access
        self._plan = plan
        self._pending: tuple[str, ...] | None = tuple(symbols)
        self._symbols: dict[str, str] = {}
        self._given: dict[str, str] = {}
        self._changing = asyncio.Lock()  # a symbol that is removed while it is looked up must not be subscribed after

    @property
    def symbols(self) -> Mapping[str, str]:
        """Streamer symbol of each symbol that is subscribed."""
        return dict(self._symbols)

    @overload
    def symbol_of(self, event: MarketEvent | Snapshot) -> str: ...
    @overload
    def symbol_of(self, event: MarketEvent | Snapshot | UnknownEvent | Gap) -> str | None: ...
    def symbol_of(self, event: MarketEvent | Snapshot | UnknownEvent | Gap) -> str | None:
        """Return the symbol that an event is about, as it was given to the stream. None for a `Gap`.

        The first one if several were given for the same instrument. It holds after `remove`, too.
        """
        if isinstance(event, UnknownEvent):
            found = event.fields.get("eventSymbol")
        else:
            found = event.symbol if isinstance(event, Snapshot) else getattr(event, "event_symbol", None)
        if not isinstance(found, str):
            return None
        plain = found.partition("{")[0]
        return self._given.get(plain, plain)

    async def add(self, symbols: Iterable[str]) -> Self:
        """Subscribe to further symbols.

        Raises:
            InvalidRequestError: the service does not know a symbol.
        """
        self._link.check_loop()
        names = _check_symbols(symbols)
        async with self._changing:
            await self._add(names)
        return self

    async def remove(self, symbols: Iterable[str]) -> Self:
        """End the subscriptions to symbols. Events that wait for the consumer are still delivered.

        A look-up of symbols that is under way is awaited first.
        """
        self._link.check_loop()
        names = _check_symbols(symbols)
        async with self._changing:
            if self._pending is not None:
                self._pending = tuple(symbol for symbol in self._pending if symbol not in names)
            found = [self._symbols.pop(name, name) for name in names]
            kept = set(self._symbols.values())  # another of their names may be subscribed
            self._link.remove(self._sink, self._plan.of(set(found) - kept, self._access.now()))
        return self

    def batches(self, *, seconds: float | None = None, rows: int | None = None, limit: int = 500_000) -> Batches:
        """Iterate over Arrow record batches of the events, without a Python object for each.

        ::

            async with client.stream.quotes(["AAPL", "SPY"], [models.Quote, models.Trade]) as quotes:
                async for batch in quotes.batches(seconds=1):
                    print(batch.schema.metadata[b"event_type"], batch.num_rows)

        Each batch has the rows of one event type, named in its metadata, in the order of their arrival: the columns of
        ``to_arrow(events, decimals="float")`` without ``extra``. Prices and sizes are 64-bit floats, as the service has
        them: ``Decimal(str(value))`` has the digits of the model up to 15 of them. A value that is missing or NaN is
        null. The rows of snapshots and removed rows are among the others, see ``event_flags`` and `EventFlag`.

        A gap is in the metadata of the first batch after it, of every event type, see `gaps_of`. That batch may be
        empty.

        Call it before the stream is iterated. One that has already received events starts with a gap.

        Args:
            seconds: time that a batch covers. None for 1 second, or for no bound if ``rows`` are given.
            rows: rows of a batch at most, by default 65,536, and never more than ``limit``.
            limit: rows that may wait for the consumer. Beyond it the oldest batches are dropped: ``dropped`` counts
                rows, and the next batch has a gap.

        Raises:
            InvalidRequestError: an argument is invalid.
            ConfigurationError: pyarrow is missing.

        Raises (while iterating):
            The same as the stream.
        """
        if seconds is not None:
            check_seconds("seconds", seconds)
        sink, plan, tape = self._sink, self._plan, self._sink.tape
        if tape is None:  # subscribe to rows instead of events
            tape = Tape(plan.types, plan.feed, Issues("stream.quotes", self._access.strict), self._access.now)
            if sink.buffer or (self._is_attached and self._link.is_ready):
                tape.put_gap(Gap(since=None, reason="the events before the first batch were delivered one by one"))
            subscribed = list(sink.subscriptions.values())
            self._link.remove(sink, subscribed)
            sink.tape = sink.buffer = tape
            plan.as_rows = True
            self._link.add(sink, [attrs.evolve(each, as_rows=True) for each in subscribed])
        tape.limit = check_count("limit", limit)
        tape.max_rows = min(limit, MAX_ROWS if rows is None else check_count("rows", rows))  # larger ones would not fit
        return Batches(self._begin, sink, tape, 1.0 if seconds is None and rows is None else seconds)

    async def _begin(self) -> None:
        if self._pending is not None and not self._sink.is_closed:
            self._access.session.engine.enter()
            async with self._changing:
                await self._add(self._pending or ())  # those that were not removed while this waited
                self._pending = None
        await super()._begin()

    async def _add(self, symbols: Iterable[str]) -> None:
        found = await streamer_symbols(self._access.endpoints, symbols, self._symbols)
        self._symbols |= found
        for given, streamer in found.items():
            self._given.setdefault(streamer, given)
        self._link.add(self._sink, self._plan.of(found.values(), self._access.now()))


@attrs.frozen(kw_only=True)
class Recording:
    """Result of a recording.

    Attributes:
        directory: where the files are.
        rows: number of rows that were written.
        gaps: gaps among them, once for each event type.
    """

    directory: Path
    rows: int
    gaps: list[Gap]


@attrs.define
class SubscriptionPlan:
    """Event types that a stream subscribes to for each symbol. As rows they stay rows, for batches.

    ``feed`` is the contract and the aggregation period.
    """

    _events: Iterable[str | type[Any]]
    _period: str
    _start: datetime | None
    _regular_hours: bool
    feed: tuple[str, float | None]
    types: tuple[str, ...] = ()
    as_rows: bool = False

    def __attrs_post_init__(self) -> None:
        if isinstance(self._events, str | type) or not isinstance(self._events, Iterable):
            raise InvalidRequestError(f"events must be a list of event types, got {self._events!r}")
        for event in self._events:
            name = event.__name__ if isinstance(event, type) else event
            if not isinstance(name, str) or name not in MARKET_EVENTS:
                raise InvalidRequestError(f"event type must be one of {', '.join(MARKET_EVENTS)}, got {event!r}")
            if name not in self.types:
                self.types += (str.__str__(name),)
        if not self.types:
            raise InvalidRequestError("events must name at least one event type, got an empty list")
        candle_symbol("X", self._period)
        start, (contract, aggregation_period) = self._start, self.feed
        if start is not None and (not isinstance(start, datetime) or start.tzinfo is None):
            raise InvalidRequestError(f"start must be a datetime with a time zone, got {start!r}")
        if contract not in ("AUTO", "TICKER", "STREAM"):
            raise InvalidRequestError(f"contract must be AUTO, TICKER or STREAM, got {contract!r}")
        if aggregation_period is not None:
            aggregation_period = float(check_number("aggregation_period", aggregation_period))
        self.feed = str.__str__(contract), aggregation_period  # a subclass of str or float has no JSON
        check_flag("regular_hours", self._regular_hours)

    def of(self, symbols: Iterable[str], now: datetime) -> list[Subscription]:
        """Return the subscriptions for streamer symbols. Candles without a start begin with the present one."""
        start = round((self._start or now).timestamp() * 1000) if self.feed[0] == "AUTO" else None
        found = []
        for symbol in symbols:
            for kind in self.types:
                name, since = symbol, start if self._start is not None and kind == "TimeAndSale" else None
                if kind == "Candle":
                    name, since = candle_symbol(symbol, self._period, regular_hours=self._regular_hours), start
                found.append(Subscription(kind, name, since, *self.feed, self.as_rows))
        return found


class Streams:
    """The streams of one client. All streams of one kind share one connection, which opens at the first use.

    Quotes come from ``market`` where there is one, the streams of another client.
    """

    def __init__(self, client: Connected, market: Streams | None = None) -> None:
        self._access = StreamAccess(client.session)
        self._market = market

    def account(
        self, account_numbers: Sequence[str], *, alerts: bool = False, watchlists: bool = False, limit: int = 10_000
    ) -> AccountStream:
        """Iterate over the events of accounts: orders, fills, balances, positions.

        ::

            async with client.stream.account([account]) as events:
                async for event in events:
                    match event:
                        case Gap():
                            ...  # read the lists: events may be missing
                        case AccountEvent(data=models.Order() as order):
                            print(order.id, order.status)

        The service sends no initial state, repeats nothing after a lost connection, and may stay silent without a word.
        For decisions use ``client.watch``, which reads the lists, with ``push=True`` at once after each event.

        Args:
            account_numbers: the accounts.
            alerts: whether to receive the user's quote alerts as well.
            watchlists: whether to receive changes of public watchlists as well.
            limit: events that may wait for the consumer. None is ever dropped: beyond it the stream ends.

        Raises:
            InvalidRequestError, ConfigurationError: an argument is invalid.

        Raises (while iterating):
            StreamRefusedError: the service refused the token or an account.
            SlowConsumerError: more than ``limit`` events wait.
            TokenError: the grant was revoked.
            ConfigurationError: the client was closed, or its environment has no ``streamer_url``.
        """
        check_flag("alerts", alerts)
        check_flag("watchlists", watchlists)
        sink = AccountSink(
            _check_accounts(account_numbers), alerts=alerts, watchlists=watchlists, limit=check_count("limit", limit)
        )
        return AccountStream(self._account_link, sink)

    def quotes(
        self,
        symbols: Iterable[str],
        events: Iterable[str | type[Any]] = (models.Quote,),
        *,
        period: str = "1d",
        start: datetime | None = None,
        regular_hours: bool = False,
        contract: str = "AUTO",
        aggregation_period: float | None = None,
        policies: Mapping[type[Any], Policy] | None = None,
    ) -> QuoteStream:
        """Iterate over market events: quotes, trades, greeks, candles.

        ::

            async with client.stream.quotes(["AAPL", "SPY"], [models.Quote, models.Trade]) as events:
                async for event in events:
                    match event:
                        case models.Quote():
                            print(event.event_symbol, event.bid_price, event.ask_price)

        Events bear streamer symbols; ``stream.symbols`` has them by the symbols that were given. The rows of a candle
        history come as one `Snapshot`, later ones singly: a candle with the same ``index`` replaces the one before.

        Args:
            symbols: symbols as the REST API has them, or streamer symbols. ``add`` and ``remove`` change them later.
            events: models, such as ``models.Quote``, or their names.
            period: number and unit of candles, such as ``5m``, ``1h`` or ``1d``.
            start: start of the candles under contract ``AUTO``. None for the present one only.
            regular_hours: leave trades outside of regular hours out of the candles.
            contract: ``TICKER`` for the last event of each symbol, ``STREAM`` for every event, ``AUTO`` for what suits
                the type.
            aggregation_period: seconds over which the service may merge events, 0 for none. None for 0.1.
            policies: `Conflate`, `DropOldest` or `Fail` for each model, instead of those in ``MARKET_POLICIES``.

        Raises:
            InvalidRequestError, ConfigurationError: an argument is invalid.

        Raises (while iterating):
            InvalidRequestError: the service does not know a symbol.
            StreamRefusedError: the service refused the quote token.
            APIError: the service granted no quote token.
            ConfigurationError: the client was closed.
        """
        names = _check_symbols(symbols)
        plan = SubscriptionPlan(events, period, start, regular_hours, (contract, aggregation_period))
        if policies is not None and not isinstance(policies, Mapping):
            raise InvalidRequestError(f"policies must map event types to policies, got {policies!r}")
        for kind, policy in (policies or {}).items():
            if kind not in MARKET_POLICIES:
                reason = f"policies must have market events as keys, such as models.Quote, got {kind!r}"
                raise InvalidRequestError(reason)
            allowed = (DropOldest, Fail) if kind in (Snapshot, UnknownEvent) else (Conflate, DropOldest, Fail)
            if not isinstance(policy, allowed):
                expected = " or ".join(each.__name__ for each in allowed)
                raise InvalidRequestError(f"policy of {kind.__name__} must be {expected}, got {policy!r}")
        sink = QuoteSink({**MARKET_POLICIES, **(policies or {})})
        return QuoteStream(self.quote_link, sink, plan, names)

    async def history(
        self,
        symbols: Iterable[str],
        period: str,
        start: datetime,
        end: datetime | None = None,
        *,
        regular_hours: bool = False,
        timeout: float = 30.0,
    ) -> list[models.Candle]:
        """Return all candles that begin at ``start`` or later, and before ``end``.

        They come in the order of the symbols, oldest first for each symbol; ``to_arrow`` and ``to_pandas`` of
        ``brokerage_async.arrow`` make a table of them. The candle of the present period, if among them, is not final.
        The service honours a start alone, so that all candles since then travel. Symbols that it has no candles of, and
        those whose oldest it cut off, are named in a warning of the log.

        Args:
            symbols: symbols as the REST API has them, or streamer symbols. Any number, subscribed 100 at a time.
            period: number and unit of candles, such as ``5m``, ``1h`` or ``1d``.
            start: beginning of the first candle.
            end: None for all candles until now.
            regular_hours: leave trades outside of regular hours out of the candles.
            timeout: seconds without any answer before it gives up.

        Raises:
            InvalidRequestError, ConfigurationError: an argument is invalid, or the service does not know a symbol.
            StreamError: some symbols had no answer in time (code ``no_answer``), or the service refused them.
            APIError: the service granted no quote token.
        """
        return [
            row
            async for candles in self._histories(symbols, period, start, end, regular_hours, timeout)
            for rows in candles.values()
            for row in rows
        ]

    async def history_table(
        self,
        symbols: Iterable[str],
        period: str,
        start: datetime,
        end: datetime | None = None,
        *,
        regular_hours: bool = False,
        timeout: float = 30.0,
        decimals: Decimals = "float",
    ) -> pyarrow.Table:
        """Return the candles of `history` as one Arrow table, which has objects for 100 symbols at a time only.

        Its columns are ``symbol``, as it was given, and the fields of `Candle` but for ``extra``, in the order of the
        symbols, oldest first for each. It takes the arguments of `history`, and ``decimals``: ``float`` for 64-bit
        floats, ``exact`` for decimals, ``string`` for text. See ``to_arrow``.

        Raises:
            ConfigurationError: pyarrow is missing.
            And what `history` raises.
        """
        require("arrow")
        import pyarrow

        tables = [to_arrow([], models.Candle, decimals=decimals)]
        names = list[str]()
        async for candles in self._histories(symbols, period, start, end, regular_hours, timeout):
            names += [name for name, rows in candles.items() for _ in rows]
            tables.append(
                to_arrow([row for rows in candles.values() for row in rows], models.Candle, decimals=decimals)
            )
        table = pyarrow.concat_tables(tables, promote_options="permissive").drop_columns("extra")
        return table.add_column(0, "symbol", pyarrow.array(names, pyarrow.string()))

    async def _histories(
        self,
        symbols: Iterable[str],
        period: str,
        start: datetime,
        end: datetime | None,
        regular_hours: bool,
        timeout: float,
    ) -> AsyncIterator[dict[str, list[models.Candle]]]:
        """Yield the candles of 100 symbols at a time."""
        for name, value in (("start", start), ("end", end or start)):
            if not isinstance(value, datetime) or value.tzinfo is None:
                raise InvalidRequestError(f"{name} must be a datetime with a time zone, got {value!r}")
        check_seconds("timeout", timeout)
        names = tuple(dict.fromkeys(_check_symbols(symbols)))
        for first in range(0, len(names), CANDLES_AT_A_TIME):
            some = names[first : first + CANDLES_AT_A_TIME]
            stream = self.quotes(some, [models.Candle], period=period, start=start, regular_hours=regular_hours)
            # Others at the same time would wait for a place, and seem to have no answer.
            async with self.quote_link.history_turn, stream:
                named = {
                    candle_symbol(stream.symbols[name], period, regular_hours=regular_hours): name for name in some
                }
                found = await _candles_of(stream, named, timeout)
            yield {
                name: [
                    row
                    for row in found[candle]
                    if row.close is not None and row.time and start <= row.time and (end is None or row.time < end)
                ]  # one without a price is a mere marker
                for candle, name in named.items()
            }

    async def record(
        self,
        directory: str | os.PathLike[str],
        symbols: Iterable[str],
        events: Iterable[str | type[Any]] = (models.Quote, models.Trade),
        *,
        period: str = "1d",
        contract: str = "AUTO",
        seconds: float | None = None,
    ) -> Recording:
        """Record market events into files, until it is cancelled.

        ::

            await client.stream.record("tape", ["AAPL", "SPY"], [models.Quote, models.Trade])

        The batches of `QuoteStream.batches` go to segments, ``day=2026-06-10/Quote-000001.arrows`` (Arrow IPC stream),
        every second. One that ends, with the day (UTC), after a million rows or with the recording, becomes a Parquet
        file of the same name. A recorder that was killed loses the last second at most: the next one in the directory
        rewrites what it left behind. Gaps are in the metadata ``gaps`` of a batch or Parquet file, with the time at
        which they were written, and so is the time in between.

        ``directory`` belongs to one recorder at a time. The recording ends after ``seconds``, without them when it is
        cancelled. The other arguments are as for `quotes`.

        Raises:
            InvalidRequestError, ConfigurationError: an argument is invalid, or another recorder writes there.
            OSError: a file cannot be written.
            The same as iterating over `quotes`.
        """
        if seconds is not None:
            check_seconds("seconds", seconds)
        stream = self.quotes(symbols, events, period=period, contract=contract)
        now = self.quote_link.access.now
        batches = stream.batches(seconds=FLUSH_INTERVAL)
        from .record import Recorder  # needs pyarrow

        recorder = Recorder(directory)
        try:
            await recorder.recover()
            async with stream:
                limit = asyncio.timeout(seconds)
                try:
                    async with limit:
                        async for batch in batches:
                            recorder.write(batch, stream.symbols, now())
                except TimeoutError:
                    if not limit.expired():
                        raise
                finally:
                    for batch in batches.rest():
                        recorder.write(batch, stream.symbols, now())
        finally:
            await recorder.aclose()
        return Recording(directory=Path(directory), rows=recorder.rows, gaps=recorder.gaps)

    def doorbell(self, account_numbers: Iterable[str] | None, events: frozenset[str]) -> Doorbell:
        """Return a doorbell that rings after events of these types. None for the accounts of the user."""
        self.check_account()
        accounts = None if account_numbers is None else _check_accounts(account_numbers)
        return partial(ringing, self.account, self._account_link.renew, self._access, accounts, events)

    def check_account(self) -> None:
        """Raise ConfigurationError if the environment has no usable ``streamer_url``."""
        self._access.account_url()

    @cached_property
    def _account_link(self) -> AccountLink:
        return AccountLink(self._access)

    @cached_property
    def quote_link(self) -> QuoteLink:
        """The connection to the market-data stream, of the client that serves it."""
        return QuoteLink(self._access) if self._market is None else self._market.quote_link


async def _candles_of(
    stream: QuoteStream, named: Mapping[str, str], timeout: float
) -> dict[str, tuple[models.Candle, ...]]:
    """Return the candles of the snapshots of all symbols, by their names. Each series ends with its snapshot."""
    found: dict[str, tuple[models.Candle, ...]] = {}
    pending = set(named)
    limit = asyncio.timeout(timeout)
    try:
        async with limit:
            while pending:
                event = await anext(stream)
                if isinstance(event, Snapshot) and event.symbol in pending:
                    limit.reschedule(asyncio.get_running_loop().time() + timeout)
                    pending.discard(event.symbol)
                    found[event.symbol] = event.events
                    await stream.remove([named[event.symbol]])  # another may wait for its place
                    if not event.events or event.is_partial:
                        reason = "older candles were cut off" if event.events else "there are no candles"
                        logger.warning("history of %s: %s", event.symbol, reason)
    except TimeoutError:
        if not limit.expired():
            raise
        names = ", ".join(sorted(pending)[:10])
        more = f" and {len(pending) - 10} more" if len(pending) > 10 else ""
        raise StreamError(f"no candles within {timeout:g} s: {names}{more}", code="no_answer") from None
    return found


def _check_symbols(symbols: object) -> tuple[str, ...]:
    if isinstance(symbols, str):
        raise InvalidRequestError(f"symbols must be a list of symbols, got the str {symbols!r}")
    if not isinstance(symbols, Iterable):
        raise InvalidRequestError(f"symbols must be a list of symbols, got {symbols!r}")
    return tuple(_text("symbols", each) for each in symbols)


def _check_accounts(account_numbers: object) -> frozenset[str]:
    if isinstance(account_numbers, str) or not isinstance(account_numbers, Iterable):
        raise InvalidRequestError(f"account_numbers must be a list of account numbers, got {account_numbers!r}")
    found = frozenset(_text("account_numbers", each) for each in account_numbers)
    if not found or "" in found:
        raise InvalidRequestError(f"account_numbers must hold at least one account number, got {account_numbers!r}")
    return found


def _text(name: str, value: object) -> str:
    """Return a plain str. Refuse what cannot be sent: it would end the connection, and with it all other streams."""
    if not isinstance(value, str):
        raise InvalidRequestError(f"{name} must hold strings, got {value!r}")
    if len(value) > MAX_TEXT:
        raise InvalidRequestError(f"{name} must have at most {MAX_TEXT} characters each, got {value[:40]!r}...")
    if not value.isascii() and SURROGATE.search(value):
        raise InvalidRequestError(f"{name} must be valid Unicode, got a lone surrogate in {value!r}")
    return str.__str__(value)  # a subclass has no JSON, and str() of an enumeration's member is its name
