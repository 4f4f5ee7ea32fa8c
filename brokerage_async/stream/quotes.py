"""The market-data stream: one connection for all symbols that the consumers of a client ask for."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .._secrets import Secret
from ..http.websocket import WebSocket
from ..protocol.streams.channel import Subscription
from ..protocol.streams.dxlink import DxLinkConnection
from ..protocol.streams.events import INDEXED, MARKET_EVENTS, Snapshot, UnknownEvent
from ..protocol.streams.timing import Backoff, Timing
from .access import StreamAccess
from .consumer import Sink
from .link import CONNECT_TIMEOUT, Link, RenewalDue
from .policies import Policy

__all__ = ["QuoteLink", "QuoteSink"]

TOKEN_LIFETIME = 24 * 3600.0
"""Seconds for which a quote token serves, unless it says when it expires."""

RENEWAL_MARGIN = 600.0
"""Seconds before its end at which a quote token is renewed."""

MIN_LIFETIME = 60.0
"""Minimum seconds for which a connection serves, whatever its token says."""

Key = tuple[type[Any], str]


def key_of(subscription: Subscription) -> Key:
    """Return model and symbol of the events of a subscription."""
    return MARKET_EVENTS[subscription.type], subscription.symbol


class QuoteSink(Sink):
    """Sink for the events of some subscriptions."""

    __slots__ = ("subscriptions",)

    def __init__(self, policies: Mapping[type[Any], Policy]) -> None:
        super().__init__(policies)
        self.subscriptions: dict[Key, Subscription] = {}


class QuoteLink(Link[DxLinkConnection]):
    """Connection to the market-data stream."""

    def __init__(self, access: StreamAccess, *, timing: Timing, backoff: Backoff, aggregation: float) -> None:
        super().__init__("market-data stream", backoff)
        self._access = access
        self._timing = timing
        self._aggregation = aggregation
        self._routes: dict[Key, list[QuoteSink]] = {}
        self._last: dict[Key, Any] = {}
        self._renew_at = 0.0

    # Subscriptions of consumers

    def add(self, sink: QuoteSink, subscriptions: Iterable[Subscription]) -> None:
        """Subscribe a consumer, attached or not; a subscription that it has already is replaced."""
        for each in subscriptions:
            sink.subscriptions[key_of(each)] = each
            if sink in self._sinks:
                self._route(sink, each)
        self._must_send()

    def remove(self, sink: QuoteSink, subscriptions: Iterable[Subscription]) -> None:
        """End subscriptions of a consumer; unknown ones are ignored."""
        for each in subscriptions:
            if sink.subscriptions.pop(key_of(each), None) is not None and sink in self._sinks:
                self._unroute(sink, each)
        self._must_send()

    def _subscribe(self, sink: Sink) -> None:
        if isinstance(sink, QuoteSink):
            for each in sink.subscriptions.values():
                self._route(sink, each)

    def _unsubscribe(self, sink: Sink) -> None:
        if isinstance(sink, QuoteSink):
            for each in sink.subscriptions.values():
                self._unroute(sink, each)

    def _route(self, sink: QuoteSink, subscription: Subscription) -> None:
        """Hand the events of a subscription to a consumer, too.

        The first consumer subscribes. A later one gets the last event at once, and a snapshot by a new subscription.
        """
        key = key_of(subscription)
        sinks = self._routes.setdefault(key, [])
        is_first = not sinks
        if sink not in sinks:
            sinks.append(sink)
        if is_first or key[0] in INDEXED:
            if self._connection is not None:
                self._connection.add([self._merged(key)])
        elif (last := self._last.get(key)) is not None:
            sink.put(last)

    def _unroute(self, sink: QuoteSink, subscription: Subscription) -> None:
        key = key_of(subscription)
        sinks = self._routes.get(key, [])
        if sink in sinks:
            sinks.remove(sink)
        if not sinks and self._routes.pop(key, None) is not None:
            self._last.pop(key, None)
            if self._connection is not None:
                self._connection.remove([subscription])

    def _merged(self, key: Key) -> Subscription:
        """Return the subscription that serves all consumers of a key: from the earliest start."""
        wanted = [sink.subscriptions[key] for sink in self._routes[key]]
        starts = [each.from_time for each in wanted if each.from_time is not None]
        return Subscription(wanted[0].type, wanted[0].symbol, min(starts, default=None))

    def _must_send(self) -> None:
        self._is_ready = False
        self._wake.set()

    # Life of the connection

    def _enter(self) -> asyncio.AbstractEventLoop:
        return self._access.enter()

    async def _open(self) -> tuple[WebSocket, DxLinkConnection]:
        token = await self._access.endpoints.market_data.quote_token()
        url = self._access.checked(token.dxlink_url or "")
        lifetime = TOKEN_LIFETIME
        if token.expires_at is not None:
            lifetime = (token.expires_at - self._access.now()).total_seconds()
        socket = await self._access.open_socket(url, CONNECT_TIMEOUT)
        now = asyncio.get_running_loop().time()
        self._renew_at = now + max(min(lifetime, TOKEN_LIFETIME) - RENEWAL_MARGIN, MIN_LIFETIME)
        connection = DxLinkConnection(
            Secret(token.token or ""),
            now=now,
            timing=self._timing,
            aggregation=self._aggregation,
            strict=self._access.strict,
        )
        connection.add(self._merged(key) for key in self._routes)
        return socket, connection

    async def _messages(self, connection: DxLinkConnection) -> Sequence[Secret]:
        now = asyncio.get_running_loop().time()
        if now >= self._renew_at:
            raise RenewalDue
        return connection.send(now)

    def _next_due(self, connection: DxLinkConnection) -> float:
        return min(connection.due, self._renew_at)

    def _dispatch(self, events: list[Any]) -> None:
        routes, last = self._routes, self._last
        for event in events:
            kind = event.__class__
            if kind is Snapshot:
                sinks = routes.get((event.type, event.symbol), ())
            elif kind is UnknownEvent:
                sinks = [sink for sink in self._sinks if isinstance(sink, QuoteSink)]
            else:
                key = (kind, event.event_symbol)
                sinks = routes.get(key, ())
                if sinks and kind not in INDEXED:
                    last[key] = event
            for sink in sinks:
                sink.put(event)

    def _lose(self, reason: str) -> None:
        self._last.clear()  # a later consumer must not take these for the present state
        super()._lose(reason)

    def _now(self) -> Any:
        return self._access.now()
