"""Market-data stream (DXLink): the server's side of one connection."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import attrs

from ..._generated.stream_caps import CHANGES_PER_MINUTE, SESSIONS, SUBSCRIPTIONS, SUBSCRIPTIONS_BY_TYPE
from ...protocol.streams.events import MARKET_EVENTS
from ..faults import StreamFaults
from ..state import State
from ..trading.accounts import Customer
from .market_rows import MarketRows
from .session import SILENCE, Session

_VERSION = "1.0-1.2.1-simulator"
_NAN = "NaN"
_MINUTE = 60.0
_AGGREGATION = 0.1

CONTRACTS = ("AUTO", "TICKER", "STREAM", "HISTORY")

EVENT_TYPES = frozenset(
    {*MARKET_EVENTS, "Order", "SpreadOrder", "AnalyticOrder", "OptionSale", "Configuration", "Message"}
)
"""Event types of the protocol: those of the schema, and others that it lacks. The simulator has no rows of some."""


@attrs.define
class _Channel:
    number: int
    contract: str = "AUTO"
    aggregation: float = _AGGREGATION
    is_compact: bool = True
    fields: dict[str, list[str]] = attrs.field(factory=dict)
    announced: set[str] = attrs.field(factory=set)
    subscriptions: dict[tuple[str, str], str | None] = attrs.field(factory=dict)
    underlyings: dict[str | None, dict[tuple[str, str], bool]] = attrs.field(factory=dict)
    next_push: float = 0.0
    merged: dict[tuple[str, str], None] | None = None


class DxLinkSession(Session):
    """Session that pushes market events on the channels that the client opens.

    Attributes:
        customer: customer whose token was accepted.

    Args:
        sessions_of: returns how many sessions of the market-data stream a customer has.
        follow: lets the events of an underlying be pushed from a time on, whenever its price changes.
    """

    def __init__(
        self,
        state: State,
        rows: MarketRows,
        faults: StreamFaults,
        now: float,
        *,
        sessions_of: Callable[[Customer], int],
        follow: Callable[[str, float], None],
    ) -> None:
        super().__init__(faults, now)
        self._has, self._later = state.settings.has, state.event_queue.at
        self._sessions_of, self._follow = sessions_of, follow
        self._tokens = state.quote_tokens
        self._rows = rows
        self._channels: dict[int, _Channel] = {}
        self._is_set_up = False
        self._changes: deque[tuple[float, int]] = deque()
        self._keepalive = SILENCE
        self.customer: Customer | None = None

    def follows(self, underlying: str) -> bool:
        """Return whether there are subscriptions to events of an underlying or its options."""
        return any(channel.underlyings.get(underlying) for channel in self._channels.values())

    def prices_changed(self, changed: Mapping[str, bool], now: float) -> None:
        """Push the events of underlyings whose prices changed, those of their options where it is True.

        Events of one aggregation period are merged, except under contract ``STREAM``.
        """
        for channel in list(self._channels.values()):
            keys = {
                key: None
                for underlying, with_options in changed.items()
                for key, is_option in channel.underlyings.get(underlying, {}).items()
                if with_options or not is_option
            }
            if not keys:
                continue
            if channel.merged is not None:
                channel.merged |= keys
            elif now < channel.next_push and channel.contract != "STREAM" and self._has("dxlink_aggregation"):
                channel.merged = keys
                self._later(channel.next_push, partial(self._push_merged, channel))
            else:
                self._push(channel, keys, now)

    def _push_merged(self, channel: _Channel, now: float) -> None:
        keys, channel.merged = channel.merged or {}, None
        if channel.number in self._channels:
            self._push(channel, [key for key in keys if key in channel.subscriptions], now)

    def _push(self, channel: _Channel, keys: Iterable[tuple[str, str]], now: float) -> None:
        rows: dict[str, list[dict[str, Any]]] = {}
        for kind, symbol in keys:
            row = self._rows.row(kind, symbol, now)
            if row is not None and row.get("size") != 0:  # an option that did not trade with its underlying
                rows.setdefault(kind, []).append(row)
        channel.next_push = now + channel.aggregation
        self._feed(channel, rows)

    def _process(self, message: dict[str, Any] | None, now: float) -> None:
        kind = None if message is None else message.get("type")
        channel = 0 if message is None else message.get("channel")
        if message is None or not isinstance(kind, str) or not isinstance(channel, int):
            self._error(0, "INVALID_MESSAGE", "not a message of the protocol")
        elif kind == "SETUP" and not str(message.get("version", "")).startswith(("0.1", "1.0")):
            self._error(0, "UNSUPPORTED_PROTOCOL", "version must be 0.1 or 1.0")
        elif kind == "SETUP":
            timeout = message.get("keepaliveTimeout")
            if isinstance(timeout, int | float) and 1 <= timeout < self._keepalive:
                self._keepalive = float(timeout)
            if not self._is_set_up and self._has("dxlink_keepalive"):
                self._later(now + self._keepalive / 2, self._keep_alive)
            self._is_set_up = True
            silence = round(SILENCE)
            setup = {"version": _VERSION, "keepaliveTimeout": silence, "acceptKeepaliveTimeout": silence}
            self.push({"type": "SETUP", "channel": 0, **setup})
            self.push({"type": "AUTH_STATE", "channel": 0, "state": "UNAUTHORIZED"})
        elif kind in ("KEEPALIVE", "ERROR"):
            self.push({"type": "KEEPALIVE", "channel": 0})
        elif not self._is_set_up and self._has("dxlink_order_of_setup"):
            self._error(0, "BAD_ACTION", "SETUP must come first")
        elif kind == "AUTH":
            token = str(message.get("token", ""))
            customer = None if self._faults.refuses() else self._tokens.identify(token, now)
            is_new = self.customer is None and self._has("dxlink_sessions_cap")
            if customer is None:
                self.push({"type": "AUTH_STATE", "channel": 0, "state": "UNAUTHORIZED"})
                if self._has("dxlink_refused_token_closes"):
                    self.close()
            elif is_new and self._sessions_of(customer) >= SESSIONS:
                self._error(0, "BAD_ACTION", f"simulated: a login has at most {SESSIONS} sessions at a time")
                self.close()
            else:
                self.customer, state = customer, {"state": "AUTHORIZED", "userId": str(customer.number)}
                self.push({"type": "AUTH_STATE", "channel": 0, **state})
        elif self.customer is None:
            self._error(0, "UNAUTHORIZED", "authorize first")
        elif kind == "CHANNEL_REQUEST":
            given = message.get("parameters")
            parameters = {"contract": "AUTO", **(given if isinstance(given, dict) else {}), "subFormat": "LIST"}
            is_strict = self._has("dxlink_unknown_is_an_error")
            if channel % 2 == 0 or channel in self._channels:
                self._error(0, "BAD_ACTION", "channel must be odd and new")
            elif is_strict and (service := message.get("service", "FEED")) != "FEED":
                self._error(channel, "BAD_ACTION", f"unsupported service {service}")
            elif is_strict and parameters["contract"] not in CONTRACTS:
                self._error(channel, "INVALID_MESSAGE", f"contract must be one of {', '.join(CONTRACTS)}")
            else:
                self._channels[channel] = _Channel(channel, str(parameters["contract"]))
                opened = {"type": "CHANNEL_OPENED", "channel": channel, "service": "FEED", "parameters": parameters}
                self.push(opened)
        elif (found := self._channels.get(channel)) is None:
            self._error(channel, "BAD_ACTION", "unknown channel")
        elif kind == "CHANNEL_CANCEL":
            del self._channels[channel]
            self.push({"type": "CHANNEL_CLOSED", "channel": channel})
        elif kind == "FEED_SETUP":
            found.is_compact = message.get("acceptDataFormat", "FULL") == "COMPACT"
            period = message.get("acceptAggregationPeriod")
            if isinstance(period, int | float) and period >= 0 and self._has("dxlink_aggregation"):
                found.aggregation = period
            fields = message.get("acceptEventFields")
            found.fields |= fields if isinstance(fields, dict) else {}
            self._announce(found)
        elif kind == "FEED_SUBSCRIPTION":
            if message.get("reset"):
                found.subscriptions.clear()
                found.underlyings.clear()
            for each in _entries(message, "remove"):
                key = each["type"], each["symbol"]
                found.underlyings.get(found.subscriptions.pop(key, None), {}).pop(key, None)
            rows: dict[str, list[dict[str, Any]]] = {}
            has_history = found.contract == "HISTORY" or not self._has("candle_history_contract")
            for each in self._accepted(found, message, now):
                event, symbol, from_time = each["type"], each["symbol"], each.get("fromTime")
                instrument = self._rows.instrument(symbol)
                found.subscriptions[event, symbol] = underlying = None if instrument is None else instrument.underlying
                if instrument is not None and underlying is not None:
                    found.underlyings.setdefault(underlying, {})[event, symbol] = instrument.is_option
                    self._follow(underlying, now)
                rows.setdefault(event, []).extend(
                    self._rows.rows(event, symbol, from_time, now, has_history=has_history)
                )
            for event, some in rows.items():
                if some:  # a client without wishes gets all columns
                    found.fields.setdefault(event, list(some[0]))
            if new := [event for event in rows if event not in found.announced]:
                found.announced.update(new)
                self._announce(found, new)
            self._feed(found, rows)
        else:
            self._error(channel, "INVALID_MESSAGE", f"unknown message {kind}")

    def _keep_alive(self, now: float) -> None:
        """Send something before the client's timeout."""
        if not self.is_closed:
            self.push({"type": "KEEPALIVE", "channel": 0})
            self._later(now + self._keepalive / 2, self._keep_alive)

    def _announce(self, channel: _Channel, kinds: Iterable[str] = ()) -> None:
        config: dict[str, Any] = {
            "type": "FEED_CONFIG", "channel": channel.number, "aggregationPeriod": channel.aggregation,
            "dataFormat": "COMPACT" if channel.is_compact else "FULL",
        }  # fmt: skip
        fields = {kind: channel.fields[kind] for kind in kinds if kind in channel.fields}
        self.push({**config, "eventFields": fields} if fields else config)

    def _accepted(self, channel: _Channel, message: dict[str, Any], now: float) -> Iterable[dict[str, Any]]:
        """Yield the entries of ``add`` within the caps. The others are refused with one error each reason."""
        refused: dict[str, None] = {}
        added = _entries(message, "add")
        counts = Counter(kind for each in self._channels.values() for kind, _ in each.subscriptions)
        while self._changes and now >= self._changes[0][0] + _MINUTE:
            self._changes.popleft()
        left = CHANGES_PER_MINUTE - sum(count for _, count in self._changes)
        self._changes.append((now, min(left, len(added) + len(_entries(message, "remove")))))
        for each in added:
            kind = each["type"]
            is_new = (kind, each["symbol"]) not in channel.subscriptions
            limit = SUBSCRIPTIONS_BY_TYPE.get(kind, SUBSCRIPTIONS)
            if kind not in EVENT_TYPES and self._has("dxlink_unknown_is_an_error"):
                refused[f"unknown event type {kind}"] = None
            elif not self._has("dxlink_subscriptions_cap"):
                yield each
            elif is_new and (counts.total() >= SUBSCRIPTIONS or counts[kind] >= limit):
                refused[f"subscription size of {kind} is too big: at most {limit}"] = None
            elif left <= 0:
                refused[f"too many changes: at most {CHANGES_PER_MINUTE} a minute"] = None
            else:
                left -= 1
                counts[kind] += is_new
                yield each
        for reason in refused:
            self._error(channel.number, "BAD_ACTION", reason)

    def _feed(self, channel: _Channel, rows: dict[str, list[dict[str, Any]]]) -> None:
        """Push rows, one type per message."""
        for kind, some in rows.items():
            if not some:
                continue
            data: list[Any] = some
            if channel.is_compact:
                fields = channel.fields.setdefault(kind, list(some[0]))
                names = ["VWAP" if name == "vwap" else name for name in fields]
                if not some[0].keys() >= set(names):
                    some = [dict.fromkeys(names, _NAN) | row for row in some]
                data = [kind, [row[name] for row in some for name in names]]
            elif kind in channel.fields and self._has("dxlink_full_fields"):
                named = {"eventType", "eventSymbol", *channel.fields[kind]}
                data = [{name: value for name, value in row.items() if name in named} for row in some]
            self.push({"type": "FEED_DATA", "channel": channel.number, "data": data}, kind=kind)

    def _timed_out(self) -> None:
        self._error(0, "TIMEOUT", "no message in time")

    def _error(self, channel: int, error: str, reason: str) -> None:
        self.push({"type": "ERROR", "channel": channel, "error": error, "message": reason})


def _entries(message: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """Return the entries of a subscription message that name an event type and a symbol."""
    found = message.get(key)
    return [
        each
        for each in (found if isinstance(found, list) else ())
        if isinstance(each, dict) and isinstance(each.get("type"), str) and isinstance(each.get("symbol"), str)
    ]
