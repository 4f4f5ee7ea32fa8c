"""Market-data stream (DXLink): the server's side of one connection."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs

from ..quote_tokens import QuoteTokens
from .faults import StreamFaults
from .market_rows import MarketRows
from .session import SILENCE, Session

__all__ = ["DxLinkSession"]

_VERSION = "1.0-1.2.1-simulator"
_NAN = "NaN"


@attrs.define
class _Channel:
    number: int
    contract: str = "AUTO"
    is_compact: bool = True
    fields: dict[str, list[str]] = attrs.field(factory=dict)
    announced: set[str] = attrs.field(factory=set)
    subscriptions: dict[tuple[str, str], int | None] = attrs.field(factory=dict)


class DxLinkSession(Session):
    """Session that pushes market events on the channels that the client opens."""

    def __init__(
        self, tokens: QuoteTokens, rows: MarketRows, faults: StreamFaults, now: float, *, strict_contracts: bool = True
    ) -> None:
        super().__init__(faults, now)
        self._strict_contracts = strict_contracts
        self._tokens = tokens
        self._rows = rows
        self._channels: dict[int, _Channel] = {}
        self._is_set_up = self._is_authorized = False

    def price_changed(self, underlying: str | None, now: float) -> None:
        """Push the events of an underlying whose price was set; those of all for None."""
        for channel in list(self._channels.values()):
            rows: dict[str, list[dict[str, Any]]] = {}
            for kind, symbol in channel.subscriptions:
                if underlying is None or self._rows.underlying(symbol) == underlying:
                    row = self._rows.row(kind, symbol, now)
                    if row is not None:
                        rows.setdefault(kind, []).append(row)
            self._feed(channel, rows)

    def _process(self, message: dict[str, Any] | None, now: float) -> None:
        kind = None if message is None else message.get("type")
        channel = 0 if message is None else message.get("channel")
        if message is None or not isinstance(kind, str) or not isinstance(channel, int):
            self._error(0, "INVALID_MESSAGE", "not a message of the protocol")
        elif kind == "SETUP":
            self._set_up(message)
        elif kind == "AUTH":
            self._authorize(str(message.get("token", "")), now)
        elif kind == "KEEPALIVE":
            self.push({"type": "KEEPALIVE", "channel": 0})
        elif not self._is_authorized:
            self._error(0, "UNAUTHORIZED", "authorize first")
        elif kind == "CHANNEL_REQUEST":
            self._open(channel, message)
        elif (found := self._channels.get(channel)) is None:
            self._error(channel, "BAD_ACTION", "unknown channel")
        elif kind == "CHANNEL_CANCEL":
            del self._channels[channel]
            self.push({"type": "CHANNEL_CLOSED", "channel": channel})
        elif kind == "FEED_SETUP":
            self._configure(found, message)
        elif kind == "FEED_SUBSCRIPTION":
            self._subscribe(found, message, now)

    def _set_up(self, message: dict[str, Any]) -> None:
        if not str(message.get("version", "")).startswith(("0.1", "1.0")):
            self._error(0, "UNSUPPORTED_PROTOCOL", "version must be 0.1 or 1.0")
            return
        self._is_set_up = True
        silence = round(SILENCE)
        setup = {"version": _VERSION, "keepaliveTimeout": silence, "acceptKeepaliveTimeout": silence}
        self.push({"type": "SETUP", "channel": 0, **setup})
        self.push({"type": "AUTH_STATE", "channel": 0, "state": "UNAUTHORIZED"})

    def _authorize(self, token: str, now: float) -> None:
        customer = None if self._faults.refuses() else self._tokens.identify(token, now)
        if customer is None:
            self.push({"type": "AUTH_STATE", "channel": 0, "state": "UNAUTHORIZED"})
            return
        self._is_authorized = True
        self.push({"type": "AUTH_STATE", "channel": 0, "state": "AUTHORIZED", "userId": str(customer.number)})

    def _open(self, number: int, message: dict[str, Any]) -> None:
        if number % 2 == 0 or number in self._channels:
            self._error(0, "BAD_ACTION", "channel must be odd and new")
            return
        parameters = {"contract": "AUTO", **(message.get("parameters") or {}), "subFormat": "LIST"}
        self._channels[number] = _Channel(number, str(parameters["contract"]))
        self.push({"type": "CHANNEL_OPENED", "channel": number, "service": "FEED", "parameters": parameters})

    def _configure(self, channel: _Channel, message: dict[str, Any]) -> None:
        channel.is_compact = message.get("acceptDataFormat", "FULL") == "COMPACT"
        channel.fields |= message.get("acceptEventFields") or {}
        self._announce(channel)

    def _announce(self, channel: _Channel, kinds: Iterable[str] = ()) -> None:
        config: dict[str, Any] = {
            "type": "FEED_CONFIG", "channel": channel.number, "aggregationPeriod": 0.1,
            "dataFormat": "COMPACT" if channel.is_compact else "FULL",
        }  # fmt: skip
        fields = {kind: channel.fields[kind] for kind in kinds if kind in channel.fields}
        self.push({**config, "eventFields": fields} if fields else config)

    def _subscribe(self, channel: _Channel, message: dict[str, Any], now: float) -> None:
        if message.get("reset"):
            channel.subscriptions.clear()
        for each in _entries(message, "remove"):
            channel.subscriptions.pop((each["type"], each["symbol"]), None)
        rows: dict[str, list[dict[str, Any]]] = {}
        for each in _entries(message, "add"):
            kind, symbol, from_time = each["type"], each["symbol"], each.get("fromTime")
            channel.subscriptions[kind, symbol] = from_time
            has_history = channel.contract == "HISTORY" or not self._strict_contracts
            rows.setdefault(kind, []).extend(self._rows.rows(kind, symbol, from_time, now, has_history=has_history))
        for kind, some in rows.items():
            if some:  # a client without wishes gets all columns
                channel.fields.setdefault(kind, list(some[0]))
        if new := [kind for kind in rows if kind not in channel.announced]:
            channel.announced.update(new)
            self._announce(channel, new)
        self._feed(channel, rows)

    def _feed(self, channel: _Channel, rows: dict[str, list[dict[str, Any]]]) -> None:
        """Push rows, one type per message."""
        for kind, some in rows.items():
            if not some:
                continue
            data: list[Any] = some
            if channel.is_compact:
                names = channel.fields.setdefault(kind, list(some[0]))
                data = [kind, [_value(row, name) for row in some for name in names]]
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


def _value(row: dict[str, Any], name: str) -> Any:
    return row.get("VWAP" if name == "vwap" else name, _NAN)
