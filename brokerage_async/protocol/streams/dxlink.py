"""Protocol of the market-data stream (DXLink): the client's side of one connection.

Each event type has a channel of its own, so that an error of one, such as too many subscriptions, leaves the others
alone. Channels have odd numbers, because the service refuses even ones.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

import msgspec

from ..._secrets import Secret
from ...errors import StreamRefusedError, TransportError
from ..decoding.issues import Issues
from ..decoding.lenient import parse
from .channel import Channel, Subscription
from .events import INDEXED, MARKET_EVENTS
from .feed_data import events_of
from .snapshots import SnapshotAssembler
from .timing import Timing

__all__ = ["DxLinkConnection", "Subscription"]

logger: logging.Logger = logging.getLogger("brokerage_async.stream")

VERSION = "0.1-brokerage-async/1.0"
"""Version of the protocol, and name of the client."""

DX_TIMING = Timing(heartbeat=30.0)

MAX_CLOSURES = 3
"""Times that the service may close one channel before the connection counts as lost, which brings pauses."""


class _Frame(msgspec.Struct, gc=False):
    """Keys of all messages of the server; those with another type of value are read as untyped JSON."""

    type: str = ""
    channel: int = 0
    data: Any = None
    state: Any = None
    error: Any = None
    message: Any = None
    eventFields: Any = None  # noqa: N815 - the key of the protocol


_DECODER = msgspec.json.Decoder(_Frame, float_hook=Decimal)


class DxLinkConnection:
    """One connection to the market-data stream: messages and time in, messages and events out.

    `send` returns the messages that are due, and must be called at `due` at the latest, and after every `receive` that
    sets `must_send`.

    Args:
        token: quote token, as the service returned it.
        now: time of the loop, in seconds.
        timing: times of the connection.
        aggregation: seconds over which the service may merge events of one symbol; 0 asks for none.
        strict: raise for a value that does not fit.
    """

    def __init__(
        self, token: Secret, *, now: float, timing: Timing = DX_TIMING, aggregation: float = 0.1, strict: bool = False
    ) -> None:
        self._token = token
        self._timing = timing
        self._aggregation = aggregation
        self._issues = Issues("stream.quotes", strict)
        self._channels: dict[str, Channel] = {}
        self._by_number: dict[int, Channel] = {}
        self._assemblers: dict[str, SnapshotAssembler] = {}
        self._next_number = 1
        self._sends_setup, self._sends_token, self._sent_token = True, False, False
        self._asked = False
        self._answer_due: float | None = None
        self._last_sent = self._last_received = now
        self._must_send = True
        self.is_authorized: bool = False

    @property
    def is_ready(self) -> bool:
        """Whether it is authorized and everything that was subscribed has gone out."""
        return self.is_authorized and all(each.is_settled for each in self._channels.values())

    @property
    def must_send(self) -> bool:
        """Whether `send` may have messages now, keep-alives aside."""
        return self._must_send

    @property
    def due(self) -> float:
        """Time at which `send` must be called at the latest."""
        times = [self._last_received + self._timing.silence, self._last_sent + self._timing.heartbeat]
        waits = (self._answer_due, *(each.answer_due for each in self._channels.values()))
        return min(*times, *(each for each in waits if each is not None))

    def add(self, subscriptions: Iterable[Subscription]) -> None:
        """Subscribe; one of the same type and symbol replaces that before and brings a new snapshot."""
        self._must_send = True
        for each in subscriptions:
            self._channel(each.type).add(each)

    def remove(self, subscriptions: Iterable[Subscription]) -> None:
        """End subscriptions; unknown ones are ignored."""
        self._must_send = True
        for each in subscriptions:
            if (channel := self._channels.get(each.type)) is not None:
                channel.remove(each)
            if (assembler := self._assemblers.get(each.type)) is not None:
                assembler.drop(each.symbol)

    def send(self, now: float) -> list[Secret]:
        """Return the messages that are due.

        Raises:
            TransportError: the service is silent, or has not answered in time.
        """
        self._check_alive(now)
        self._must_send = False
        messages: list[dict[str, Any]] = []
        if self._sends_setup:
            self._sends_setup = False
            self._answer_due = now + self._timing.answer
            silence = round(self._timing.silence)
            messages.append(
                _message("SETUP", version=VERSION, keepaliveTimeout=silence, acceptKeepaliveTimeout=silence)
            )
        if self._sends_token:
            self._sends_token, self._sent_token = False, True
            messages.append(_message("AUTH", token=self._token.reveal()))
        if self.is_authorized:
            for channel in self._channels.values():
                messages += channel.send(now + self._timing.answer, self._aggregation)
        if not messages and now >= self._last_sent + self._timing.heartbeat:
            messages.append(_message("KEEPALIVE"))
        if messages:
            self._last_sent = now
        return [Secret(msgspec.json.encode(message).decode()) for message in messages]

    def receive(self, data: str | bytes, now: float) -> list[Any]:
        """Return the events of one message.

        Raises:
            StreamRefusedError: the service refused the token.
            TransportError: the service reported an error of the connection.
        """
        self._last_received = now
        try:
            frame: _Frame | None = _DECODER.decode(data)
        except (msgspec.MsgspecError, ArithmeticError, RecursionError, ValueError):
            frame = _untyped(data)
        if frame is None:
            return []
        if frame.type == "FEED_DATA":
            return self._events(frame)
        self._control(frame)
        return []

    def _events(self, frame: _Frame) -> list[Any]:
        channel = self._by_number.get(frame.channel)
        columns: Mapping[str, Any] = {} if channel is None else channel.columns
        found: list[Any] = []
        for kind, events in events_of(frame.data, columns, self._issues):
            if kind in self._channels and MARKET_EVENTS[kind] in INDEXED:
                found += self._assembler(kind).add(events)
            else:
                found += events
        return found

    def _control(self, frame: _Frame) -> None:
        channel = self._by_number.get(frame.channel)
        match frame.type:
            case "SETUP":
                self._ask_for_token()
            case "AUTH_STATE":
                self._authorize(frame.state)
            case "ERROR":
                self._fail(frame, channel)
            case "CHANNEL_OPENED" if channel is not None:
                channel.opened()
                self._must_send = True
            case "CHANNEL_CLOSED" if channel is not None:
                self._reopen(channel)
            case "FEED_CONFIG" if channel is not None:
                channel.configure(frame.eventFields)

    def _authorize(self, state: object) -> None:
        """Take the state of the authorization; the first UNAUTHORIZED only asks for the token."""
        if state == "AUTHORIZED":
            self.is_authorized, self._answer_due, self._must_send = True, None, True
        elif self.is_authorized or self._asked:
            raise StreamRefusedError("the market-data stream refused the quote token", code="UNAUTHORIZED")
        else:
            self._asked = True
            self._ask_for_token()

    def _ask_for_token(self) -> None:
        if not self._sent_token:
            self._sends_token = self._must_send = True

    def _fail(self, frame: _Frame, channel: Channel | None) -> None:
        """Report an error: that of a channel leaves the connection open."""
        if frame.error == "UNAUTHORIZED":
            raise StreamRefusedError("the market-data stream refused the quote token", code="UNAUTHORIZED")
        report = self._token.conceal_in(f"{frame.error}: {frame.message}")
        if channel is not None:
            logger.warning("market-data stream: %s: %s", channel.type, report)
            channel.fail()
            self._must_send = True
        elif frame.channel:  # of a channel that was closed in the meantime
            logger.warning("market-data stream: channel %d: %s", frame.channel, report)
        else:
            raise TransportError(f"the market-data stream reported {report}")

    def _channel(self, kind: str) -> Channel:
        channel = self._channels.get(kind)
        if channel is None:
            channel = self._channels[kind] = Channel(kind)
            self._number(channel)
        return channel

    def _reopen(self, channel: Channel) -> None:
        """Open a channel that the service has closed once more, under a new number.

        Raises:
            TransportError: it has closed the channel too often.
        """
        channel.closures += 1
        if channel.closures > MAX_CLOSURES:
            raise TransportError(
                f"the market-data stream closed the channel of {channel.type} {channel.closures} times"
            )
        del self._by_number[channel.number]
        channel.reset()
        self._number(channel)
        self._must_send = True

    def _number(self, channel: Channel) -> None:
        channel.number = self._next_number
        self._next_number += 2
        self._by_number[channel.number] = channel

    def _assembler(self, kind: str) -> SnapshotAssembler:
        found = self._assemblers.get(kind)
        if found is None:
            found = self._assemblers[kind] = SnapshotAssembler(MARKET_EVENTS[kind], self._channels[kind].wants)
        return found

    def _check_alive(self, now: float) -> None:
        if now >= self._last_received + self._timing.silence:
            raise TransportError(f"the market-data stream was silent for {self._timing.silence:g} s")
        waits = (self._answer_due, *(each.answer_due for each in self._channels.values()))
        if any(each is not None and now >= each for each in waits):
            raise TransportError(f"the market-data stream did not answer in {self._timing.answer:g} s")


def _message(kind: str, **values: Any) -> dict[str, Any]:
    return {"type": kind, "channel": 0, **values}


def _untyped(data: str | bytes) -> _Frame | None:
    try:
        raw = parse(data.encode() if isinstance(data, str) else data)
        keys = {key: raw[key] for key in _Frame.__struct_fields__ if key in raw}
        channel = keys.get("channel")
        return _Frame(**{**keys, "type": str(keys.get("type", "")), "channel": channel if type(channel) is int else 0})
    except (ValueError, TypeError):
        logger.warning("market-data stream: message is not a JSON object of the protocol; ignored")
        return None
