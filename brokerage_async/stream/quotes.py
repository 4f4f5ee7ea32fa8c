"""The market-data stream: one connection for all symbols that the consumers of a client ask for."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from itertools import chain
from typing import Any

import attrs

from .._arguments import running_loop
from .._generated.models import MarketSession
from .._secrets import Secret
from ..errors import StreamRefusedError
from ..http.websocket import WebSocket
from ..protocol.streams.channel import AUTO, HISTORY, MAX_MESSAGE, Feed, Interruption, Subscription
from ..protocol.streams.dxlink import DX_TIMING, DxLinkConnection
from ..protocol.streams.events import MARKET_EVENTS, Rows, Snapshot, UnknownEvent
from ..protocol.streams.timing import Pulse
from ..protocol.timetable import is_open, timetable_range
from .consumer import Policy, Sink, Tape
from .link import CONNECT_TIMEOUT, STALE, Link, RenewalDue, StreamAccess, logger

REFRESH_INTERVAL = 3600.0  # seconds after which a timetable is read again
RETRY_DELAY = 60.0  # seconds to wait after a failure to read it
READ_TIMEOUT = 5.0  # maximum seconds to read it


def collection_of(symbol: str) -> str | None:
    """Return the collection whose hours a streamer symbol has. None for cryptocurrencies, which have none.

    The sessions of futures are the exchange's. A product may have shorter ones.
    """
    symbol = symbol.partition("{")[0]
    if symbol.startswith(("/", "./")):
        return "CFE" if symbol.endswith(":XCBF") else "CME"
    return None if ":" in symbol else "Equity"


@attrs.define
class TradingHours:
    """Timetables of the markets, kept for an hour, and for the same day: this machine may sleep for weeks."""

    _access: StreamAccess
    _sessions: dict[str, list[MarketSession] | None] = attrs.field(factory=dict, init=False)
    _kept: dict[str, tuple[date, float]] = attrs.field(factory=dict, init=False)

    async def was_open(self, symbol: str, seconds: float) -> bool | None:
        """Return whether the market of a symbol has been open for some seconds, None if it cannot be known."""
        collection = collection_of(symbol)
        if collection is None:
            return True
        clock, today = running_loop().time, self._access.now().date()
        kept_on, until = self._kept.get(collection, (None, 0.0))
        if kept_on != today or clock() >= until:
            first, last = timetable_range(self._access.now())
            try:
                async with asyncio.timeout(READ_TIMEOUT):
                    self._sessions[collection] = await self._access.endpoints.market_time.sessions(
                        last, from_date=first, instrument_collection=collection
                    )
            except Exception as error:  # nothing of it may end the stream
                logger.warning("reading the market timetable failed: %s", type(error).__name__)
                self._kept[collection] = today, clock() + RETRY_DELAY
            else:
                self._kept[collection] = today, clock() + REFRESH_INTERVAL
        if (sessions := self._sessions.get(collection)) is None:
            return None
        now = self._access.now()
        then = now - timedelta(seconds=seconds)
        return any(is_open([session], then) and is_open([session], now) for session in sessions)


TOKEN_LIFETIME = 24 * 3600.0  # seconds for which a quote token serves, unless it says when it expires
RENEWAL_MARGIN = 600.0  # seconds before its end at which a quote token is renewed
MIN_LIFETIME = 60.0  # minimum seconds for which a connection serves, whatever its token says
SAMPLE = 5.0  # seconds between two looks at which subscriptions had events
AGGREGATION = 0.1  # seconds over which the service may merge events, unless a stream says otherwise
MAX_WAIT = 10.0  # seconds after which symbols without any event are named in a warning

CAREFUL_MESSAGE = 400
"""Bytes of subscriptions in one message after the service has sent one that was too large: about ten."""


class QuoteSink(Sink):
    """Sink for the events of some subscriptions, or for their rows if it has a tape."""

    __slots__ = ("subscriptions", "tape")

    def __init__(self, policies: Mapping[type[Any], Policy]) -> None:
        super().__init__(policies)
        self.subscriptions: dict[tuple[Feed, str], Subscription] = {}
        self.tape: Tape | None = None


@attrs.define(eq=False)
class Route:
    """Way of the events of one streamer symbol from one feed to its consumers.

    A series is the same under ``AUTO`` and ``HISTORY``, so that a feed with ``AUTO`` stands for both. ``last`` is the
    last event, True for rows, and None for series, which a later consumer gets by a new subscription.
    """

    feed: Feed
    symbol: str
    sinks: list[QuoteSink] = attrs.field(factory=list)
    last: Any = None
    was_heard: bool = False  # since the last sample
    contract: str | None = None  # under which a series was subscribed again, after it was empty under the other one


class QuoteLink(Link[DxLinkConnection, QuoteSink]):
    """Connection to the market-data stream.

    ``history_turn`` is held while a history has subscriptions to candles, of which the service takes few at a time.
    """

    def __init__(self, access: StreamAccess) -> None:
        super().__init__("market-data stream", access)
        self._routes: defaultdict[Feed, dict[str, Route]] = defaultdict(dict)
        self._renew_at = 0.0
        self._unheard: dict[str, float | None] = {}  # symbols without any event, and since when they could have one
        self._pulse = Pulse[Route]()
        self._sample_at = 0.0
        self._stale: list[Route] = []
        self._hours = TradingHours(access)
        self.history_turn: asyncio.Lock = asyncio.Lock()

    # Subscriptions of consumers

    def add(self, sink: QuoteSink, subscriptions: Iterable[Subscription]) -> None:
        """Subscribe a consumer, attached or not. A subscription that it has already is replaced."""
        for each in subscriptions:
            sink.subscriptions[each.feed, each.symbol] = each
            if sink in self._sinks:
                self._route(sink, each)
        self._must_send()

    def remove(self, sink: QuoteSink, subscriptions: Iterable[Subscription]) -> None:
        """End subscriptions of a consumer. Unknown ones are ignored."""
        for each in subscriptions:
            if sink.subscriptions.pop((each.feed, each.symbol), None) is not None and sink in self._sinks:
                self._unroute(sink, each)
        self._must_send()

    def _subscribe(self, sink: QuoteSink) -> None:
        for each in sink.subscriptions.values():
            self._route(sink, each)

    def _unsubscribe(self, sink: QuoteSink) -> None:
        for each in sink.subscriptions.values():
            self._unroute(sink, each)

    def _route(self, sink: QuoteSink, subscription: Subscription) -> None:
        """Hand the events of a subscription to a consumer, too.

        The first consumer subscribes. A later one gets the last event at once, and a snapshot by a new subscription.
        """
        feed, symbol = subscription.feed, subscription.symbol
        routes = self._routes[feed]
        is_first = symbol not in routes
        if is_first:
            routes[symbol] = Route(feed, symbol)
            self._unheard.setdefault(symbol, None)
        route = routes[symbol]
        if sink not in route.sinks:
            route.sinks.append(sink)
            if route.last is not None and sink.tape is None:
                sink.put(route.last)
        if sink.tape is not None:
            sink.tape.want(feed.type, symbol)
        if self._connection is not None and (is_first or feed.is_indexed or sink.tape is not None):
            self._connection.add([self._merged(route)])

    def _unroute(self, sink: QuoteSink, subscription: Subscription) -> None:
        feed, symbol = subscription.feed, subscription.symbol
        route = self._routes[feed][symbol]
        route.sinks.remove(sink)
        if sink.tape is not None:
            sink.tape.leave(feed.type, symbol)
        if not route.sinks:
            del self._routes[feed][symbol]
            self._pulse.forget([route])
            self._unheard.pop(symbol, None)
            if self._connection is not None:
                self._connection.remove([subscription])

    def _all_routes(self) -> Iterator[Route]:
        return chain.from_iterable(routes.values() for routes in self._routes.values())

    def _merged(self, route: Route) -> Subscription:
        """Return the subscription that serves all consumers of a route: from the earliest start."""
        wanted = [sink.subscriptions[route.feed, route.symbol] for sink in route.sinks]
        starts = [each.from_time for each in wanted if each.from_time is not None]
        contract = route.feed.contract
        if contract == AUTO:
            contract = route.contract or (HISTORY if starts else AUTO)
        return attrs.evolve(wanted[0], from_time=min(starts, default=None), contract=contract)

    def _must_send(self) -> None:
        self.is_ready = False
        self._wake.set()

    # Life of the connection

    async def _open(self) -> tuple[WebSocket, DxLinkConnection]:
        token = await self.access.endpoints.market_data.quote_token()
        url = self.access.checked(token.dxlink_url or "")
        lifetime = TOKEN_LIFETIME
        if token.expires_at is not None:
            lifetime = (token.expires_at - self.access.now()).total_seconds()
        socket = await self.access.open_socket(url, CONNECT_TIMEOUT)
        now = asyncio.get_running_loop().time()
        self._renew_at = now + max(min(lifetime, TOKEN_LIFETIME) - RENEWAL_MARGIN, MIN_LIFETIME)
        connection = DxLinkConnection(
            Secret(token.token or ""),
            now=now,
            timing=DX_TIMING,
            aggregation=AGGREGATION,
            strict=self.access.strict,
            max_message=CAREFUL_MESSAGE if self._is_careful else MAX_MESSAGE,
        )
        connection.add(self._merged(route) for route in self._all_routes())
        return socket, connection

    async def _messages(self, connection: DxLinkConnection) -> Sequence[Secret]:
        now = asyncio.get_running_loop().time()
        if now >= self._renew_at:
            raise RenewalDue
        if now >= self._sample_at:
            await self._check_pulse(now)
        return connection.send(now)

    def _next_due(self, connection: DxLinkConnection) -> float:
        return min(connection.due, self._renew_at, self._sample_at)

    def _dispatch(self, source: Feed, events: list[Any]) -> None:
        feed = source.of_series
        routes, model, is_indexed = self._routes[feed], MARKET_EVENTS[feed.type], feed.is_indexed
        for event in events:
            kind = event.__class__
            if kind is Rows:
                for sink in self._sinks:
                    if sink.tape is not None and sink.tape.feed == (feed.contract, feed.aggregation):
                        sink.tape.put(event)
                        if sink.tape.is_ready:
                            sink.wake()
                continue
            if kind is UnknownEvent:
                sinks = [sink for sink in self._sinks if sink.tape is None]
            else:
                route = routes.get(event.symbol if kind is Snapshot else event.event_symbol)
                if route is None or kind not in (model, Snapshot):
                    continue
                route.was_heard = True
                if kind is not Snapshot:
                    route.last = None if is_indexed else event
                elif (not event.events and self._tries_other_contract(route)) or feed.as_rows:
                    continue
                sinks = route.sinks
            for sink in sinks:
                sink.put(event)

    def _listen(self) -> None:
        """Note the subscriptions that have brought rows."""
        for tape in [sink.tape for sink in self._sinks if sink.tape is not None]:
            for kind, symbol in tape.heard():
                feed = Feed(kind, *tape.feed, as_rows=True)
                if (route := self._routes[feed].get(symbol)) is not None:
                    route.was_heard = True
                    route.last = None if feed.is_indexed else True  # no event, but it is no longer in doubt

    def _check_ready(self, connection: DxLinkConnection) -> None:
        while connection.interruptions:
            self._settle(connection.interruptions.pop(0))
            self.is_ready: bool = False  # the gap is delivered once everything is subscribed again
        super()._check_ready(connection)

    def _tries_other_contract(self, route: Route) -> bool:
        """Subscribe to a series under the other contract, once, after an empty snapshot under the first one.

        Under the wrong contract the service answers with an empty snapshot, and one report alone says which is right.
        """
        merged = self._merged(route)
        if self._connection is None or merged.from_time is None or route.contract is not None:
            return False
        route.contract = AUTO if merged.contract == HISTORY else HISTORY
        self._connection.add([self._merged(route)])
        self._must_send()
        return True

    def _settle(self, it: Interruption) -> None:
        """End the streams whose subscriptions are refused. The others of the feed get a gap.

        An error does not name its subscription: those in doubt went out shortly before and have brought no event.
        """
        self._listen()
        routes = self._routes[it.feed.of_series]
        refused: dict[QuoteSink, list[str]] = {}
        for symbol in sorted(it.symbols & routes.keys()):
            if routes[symbol].last is None:
                for sink in routes[symbol].sinks:
                    refused.setdefault(sink, []).append(symbol)
        for sink, symbols in refused.items():
            names = ", ".join(symbols[:10]) + ", ..." * (len(symbols) > 10)
            reason = f"the market-data stream refused {it.feed.type} of {names}: {it.reason}"
            sink.fail(StreamRefusedError(reason, code=it.code))
            self.detach(sink)
        self._interrupt({sink: None for route in routes.values() for sink in route.sinks}, it.reason)
        for route in routes.values():
            route.last = None

    def _lose(self, reason: str, since: float | None) -> None:
        for route in self._all_routes():
            route.last, route.was_heard = None, False  # a later consumer must not take it for the present state
        self._unheard = dict.fromkeys(self._unheard)
        mute = [route for route in self._stale if reason == STALE and route.sinks and not route.feed.is_indexed]
        self._pulse.renew(mute, asyncio.get_running_loop().time())
        super()._lose(reason, since)

    async def _check_pulse(self, now: float) -> None:
        """Raise `RenewalDue` when a lively subscription fell silent while its market is open."""
        self._listen()
        heard = [route for route in self._all_routes() if route.was_heard]
        for route in heard:
            route.was_heard = False
            self._unheard.pop(route.symbol, None)
        unheard = [symbol for symbol, since in self._unheard.items() if since is not None and now >= since + MAX_WAIT]
        for symbol in unheard:  # they are named once: the service may not know them
            del self._unheard[symbol]
        if unheard:
            names = ", ".join(unheard[:10]) + f" and {len(unheard) - 10} more" * (len(unheard) > 10)
            logger.warning("market-data stream: no event within %g s: %s (unknown, or not traded?)", MAX_WAIT, names)
        if self.is_ready:
            self._unheard = {symbol: now if since is None else since for symbol, since in self._unheard.items()}
        self._pulse.note(heard, now)
        self._sample_at = now + SAMPLE
        mute = self._pulse.mute(now)
        for route, since in list(mute.items()):
            was_open = await self._hours.was_open(route.symbol, now - since)
            if was_open is False:
                self._pulse.forget([route])
            if not was_open or route.was_heard:
                del mute[route]
        if mute:
            names = ", ".join(sorted({f"{route.feed.type} of {route.symbol}" for route in mute})[:10])
            logger.warning("market-data stream: no event for %.0f s: %s", now - min(mute.values()), names)
            self._stale = list(mute)
            raise RenewalDue(STALE, min(mute.values()) - SAMPLE)
