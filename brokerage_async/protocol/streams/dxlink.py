"""Protocol of the market-data stream (DXLink): the client's side of one connection.

Each feed (event type, contract, aggregation period) has another channel, so that an error of one, such as too many
subscriptions, leaves the others alone. Channels have odd numbers, because the service refuses even ones.
"""

from __future__ import annotations

import logging
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from decimal import Decimal
from itertools import chain
from math import inf
from typing import Any

import attrs
import msgspec

from ..._secrets import Secret
from ...errors import StreamRefusedError, TransportError
from ..decoding.issues import Issues
from ..decoding.lenient import parse
from .channel import AUTO, HISTORY, MAX_MESSAGE, Channel, ChannelState, Feed, Interruption, Quota, Subscription, message
from .events import INDEXED, MARKET_EVENTS, EventFlag, Rows, Snapshot
from .feed_data import LARGE, ROWS_PER_STEP, events_of, events_of_large
from .timing import Timing

logger: logging.Logger = logging.getLogger("brokerage_async.stream")

VERSION = "0.1-brokerage-async/1.0"  # of the protocol, and name of the client
DX_TIMING = Timing(heartbeat=30.0)
MIN_HEARTBEAT = 0.5  # minimum seconds between two keepalive messages, whatever the service asks for
MAX_CLOSURES = 3  # times that the service may close one channel before the connection counts as lost, to bring pauses
MAX_HELD = 100_000  # values of rows after which frames that are held are decoded: 1 to 2 ms of work


class _Frame(msgspec.Struct, gc=False):
    """Keys of all messages of the server. Those with another type of value are read as untyped JSON."""

    type: str = ""
    channel: int = 0
    data: Any = None
    state: Any = None
    error: Any = None
    message: Any = None
    eventFields: Any = None  # noqa: N815 - the key of the protocol
    keepaliveTimeout: Any = None  # noqa: N815


@attrs.define
class _Held:
    """Contents of the lists of values of some frames of one channel, and how many values they have by their commas."""

    bodies: list[bytes] = attrs.field(factory=list)
    count: int = 0


_DECODER = msgspec.json.Decoder(_Frame, float_hook=Decimal)
_FLOAT_DECODER = msgspec.json.Decoder(_Frame)
_VALUES = msgspec.json.Decoder(list[Any])
_NUMBER = re.compile(rb'"channel"\s*:\s*(\d{1,9})')
_EMPTY = EventFlag.SNAPSHOT_BEGIN | EventFlag.SNAPSHOT_END | EventFlag.REMOVE_EVENT

_ROWS = re.compile(
    rb'\s*+\{\s*+"type"\s*+:\s*+"FEED_DATA"\s*+,\s*+"channel"\s*+:\s*+(\d{1,9})\s*+,'
    rb'\s*+"data"\s*+:\s*+\[\s*+"(\w{1,100})"\s*+,\s*+\['
)
_HEAD = re.compile(r'\s*\{(?:\s*"(?:type|channel)"\s*:\s*(?:"FEED_DATA"|\d{1,9})\s*,)*\s*"data"\s*:\s*\[')
_CHANNEL = re.compile(r'"channel"\s*:\s*(\d{1,9})')


class DxLinkConnection:
    """One connection to the market-data stream: messages and time in, messages and events out.

    `send` returns the messages that are due, and must be called at `due` at the latest, and after every `receive` that
    sets `must_send`. The service may merge events of one symbol over ``aggregation`` seconds; 0 asks for none.
    ``max_message`` is the number of bytes of subscriptions in one message.

    Attributes:
        is_authorized: whether the service has accepted the token.
        must_send: whether `send` may have messages now, keep-alives aside.
        complaint: last error that the service reported of the connection.
        interruptions: refusals and closed channels that the consumers must see. The reader clears them.
    """

    def __init__(
        self,
        token: Secret,
        *,
        now: float,
        timing: Timing = DX_TIMING,
        aggregation: float = 0.1,
        strict: bool = False,
        max_message: int = MAX_MESSAGE,
    ) -> None:
        self._token = token
        self._timing = timing
        self._aggregation = aggregation
        self._issues = Issues("stream.quotes", strict)
        self._max_message = max_message
        self._heartbeat = timing.heartbeat
        self._quota = Quota()
        self._channels: dict[Feed, Channel] = {}
        self._by_number: dict[int, Channel] = {}
        self._frames: defaultdict[Channel, _Held] = defaultdict(_Held)
        self._warned = set[str]()
        self._next_number = 1
        silence = round(timing.silence)
        self._outbox: list[dict[str, Any]] = [
            message("SETUP", version=VERSION, keepaliveTimeout=silence, acceptKeepaliveTimeout=silence)
        ]
        self._sent_token = self._asked = self._has_rows = False
        self._answer_due = now + timing.answer
        self._last_sent = self._last_received = now
        self.is_authorized: bool = False
        self.must_send: bool = True
        self.complaint: str | None = None
        self.interruptions: list[Interruption] = []

    @property
    def is_ready(self) -> bool:
        """Whether it is authorized and everything that was subscribed has gone out."""
        return self.is_authorized and all(each.is_settled for each in self._channels.values())

    @property
    def due(self) -> float:
        """Latest time to call `send`."""
        times = [self._last_received + self._timing.silence, self._last_sent + self._heartbeat, self._answer_due]
        return min(*times, *(min(each.answer_due, each.next_send) for each in self._channels.values()))

    @property
    def is_holding(self) -> bool:
        """Whether `held_steps` has events."""
        return bool(self._frames)

    def add(self, subscriptions: Iterable[Subscription]) -> None:
        """Subscribe. One of the same type and symbol replaces that before and brings a new snapshot."""
        self.must_send = True
        for each in subscriptions:
            self._remove(each, but=each.contract)
            self._has_rows |= each.as_rows
            channel = self._channels.get(each.feed)
            if channel is None or channel.state is ChannelState.REFUSED:
                channel = self._channels[each.feed] = Channel(each.feed, self._quota)
                self._number(channel)
            channel.add(each)

    def remove(self, subscriptions: Iterable[Subscription]) -> None:
        """End subscriptions. Unknown ones are ignored."""
        self.must_send = True
        for each in subscriptions:
            self._remove(each)

    def send(self, now: float) -> list[Secret]:
        """Return the messages that are due.

        Raises:
            TransportError: the service is silent, or has not answered in time.
        """
        if now >= self._last_received + self._timing.silence:
            raise TransportError(f"the market-data stream was silent for {self._timing.silence:g} s")
        if now >= min((self._answer_due, *(each.answer_due for each in self._channels.values()))):
            raise TransportError(f"the market-data stream did not answer in {self._timing.answer:g} s")
        self.must_send = False
        messages, self._outbox = self._outbox, []
        if self.is_authorized:
            for channel in self._channels.values():
                messages += channel.send(now, now + self._timing.answer, self._aggregation, self._max_message)
                if channel.capped and channel.type not in self._warned:
                    self._warned.add(channel.type)
                    logger.warning(
                        "market-data stream: %d subscriptions to %s wait until others end: the service takes no more "
                        "at a time", channel.capped, channel.type,
                    )  # fmt: skip
        if not messages and now >= self._last_sent + self._heartbeat:
            messages.append(message("KEEPALIVE"))
        if messages:
            self._last_sent = now
        return [Secret(msgspec.json.encode(each, enc_hook=Secret.reveal).decode()) for each in messages]

    def receive(self, data: str | bytes, now: float) -> list[Any]:
        """Return the events of one message. See `steps`."""
        return [event for _, events in (*self.steps(data, now), *self.held_steps()) for event in events]

    def steps(self, data: str | bytes, now: float) -> Iterable[tuple[Feed, list[Any]]]:
        """Return feed and events of one message, each after a few ms of work.

        Frames of rows in their usual form are held: together they cost less than one by one. Their events come from
        `held_steps`, before the next message of another form, or once there are `MAX_HELD` values.

        Raises:
            StreamRefusedError: the service refused the token.
            TransportError: the service has closed a channel too often.
        """
        self._last_received = now
        data = data.encode(errors="replace") if isinstance(data, str) else data
        held = self._hold(data)
        if held is None:
            return chain(self.held_steps(), self._decoded(data, now))
        return () if held.count < MAX_HELD else self.held_steps()

    def held_steps(self) -> Iterator[tuple[Feed, list[Any]]]:
        """Yield feed and events of the held frames, one channel at a time, and of overdue snapshots.

        If there are as many values as commas say, no comma is within a value: then none spans two frames, and each
        frame has whole rows. Otherwise, and if there are lists, each frame is decoded on its own.
        """
        for channel in self._channels.values():
            if channel.assembler is not None and (overdue := channel.assembler.overdue(self._last_received)):
                logger.warning("market-data stream: a snapshot of %s did not end: delivered in part", channel.type)
                yield channel.feed, overdue
        frames, self._frames = self._frames, defaultdict(_Held)
        for channel, held in frames.items():
            joined = b",".join(held.bodies)
            try:
                values = [] if b"[" in joined else _VALUES.decode(b"[%b]" % joined)
            except (msgspec.MsgspecError, RecursionError, ValueError):
                values = []
            if len(values) == held.count:
                yield channel.feed, [Rows(channel.type, channel.columns[channel.type], values, as_floats=True)]
                continue
            for body in held.bodies:
                frame = b'{"type":"FEED_DATA","channel":%d,"data":["%b",[%b]]}'
                yield from self._decoded(frame % (channel.number, channel.type.encode(), body), self._last_received)

    def _hold(self, data: bytes) -> _Held | None:
        """Hold a frame of rows in its usual form, and return what its channel holds. Return None in any other form."""
        if not self._has_rows or len(data) > LARGE or not data.endswith(b"]]}") or not (head := _ROWS.match(data)):
            return None
        channel = self._by_number.get(int(head[1]))
        if channel is None or head[2] != channel.plain_rows:
            return None
        body = data[head.end() : -3]
        count = body.count(b",") + 1
        if count % len(channel.columns[channel.type]):
            return None
        held = self._frames[channel]
        held.bodies.append(body)
        held.count += count
        return held

    def _decoded(self, data: bytes, now: float) -> Iterator[tuple[Feed, list[Any]]]:
        """Yield feed and events of one message, none of a channel that is not open."""
        if len(data) > LARGE:
            body = data.decode(errors="replace")
            start = _HEAD.match(body)
            number = start and (_CHANNEL.search(start[0]) or _CHANNEL.search(body, max(start.end(), len(body) - 100)))
            if start is None or number is None:
                logger.warning("market-data stream: a message of %d characters is not FEED_DATA; ignored", len(body))
            elif channel := self._by_number.get(int(number[1])):
                as_rows = channel.feed.as_rows
                blocks = events_of_large(body, start.end(), channel.columns, self._issues, as_rows=as_rows)
                yield from self._events(channel, blocks, now)
            return
        decoder = _DECODER
        if self._has_rows and (head := _NUMBER.search(data, 0, 64)):
            addressed = self._by_number.get(int(head[1]))
            if addressed is not None and addressed.feed.as_rows:
                decoder = _FLOAT_DECODER  # rows need no Decimals, which take three times as long
        try:
            frame: _Frame | None = decoder.decode(data)
        except (msgspec.MsgspecError, ArithmeticError, RecursionError, ValueError):
            frame = _untyped(data)
        if frame is None:
            return
        channel = self._by_number.get(frame.channel)
        if frame.type != "FEED_DATA":
            self._control(frame, channel, now)
        elif channel is not None:
            blocks = events_of(frame.data, channel.columns, self._issues, as_rows=channel.feed.as_rows)
            yield from self._events(channel, blocks, now)

    def _events(
        self, channel: Channel, blocks: Iterator[tuple[str, list[Any]]], now: float
    ) -> Iterator[tuple[Feed, list[Any]]]:
        """Yield the events of some blocks together."""
        if channel.feed.as_rows:
            for kind, rows in blocks:
                empty = [each for some in rows if MARKET_EVENTS[kind] in INDEXED for each in _empty(some)]
                yield channel.feed, rows + empty
            return
        found, size = list[Any](), 0
        for kind, events in blocks:
            size += 1 + len(events)
            if channel.assembler is not None and kind == channel.type:
                events = channel.assembler.add(events, now)
            found += events
            if size >= ROWS_PER_STEP:
                yield channel.feed, found
                found, size = [], 0
        if found:
            yield channel.feed, found

    def _control(self, frame: _Frame, channel: Channel | None, now: float) -> None:
        self.must_send = True
        match frame.type:
            case "SETUP":
                timeout = frame.keepaliveTimeout  # seconds of silence before the service disconnects
                if isinstance(timeout, int | Decimal) and timeout > 0:
                    half = float(min(timeout, 86400)) / 2
                    self._heartbeat = max(MIN_HEARTBEAT, min(self._timing.heartbeat, half))
                self._offer_token()
            case "AUTH_STATE" if frame.state == "AUTHORIZED":
                self.is_authorized, self._answer_due = True, inf
            case "AUTH_STATE" if self.is_authorized or self._asked:
                raise StreamRefusedError("the market-data stream refused the quote token", code="UNAUTHORIZED")
            case "AUTH_STATE":  # the first UNAUTHORIZED only asks for the token
                self._asked = True
                self._offer_token()
            case "ERROR":
                # It informs, and the service ends the channel or the connection itself if it must.
                if frame.error == "UNAUTHORIZED" and channel is None:
                    raise StreamRefusedError("the market-data stream refused the quote token", code="UNAUTHORIZED")
                code = self._token.conceal_in(str(frame.error))
                report = self._token.conceal_in(f"{code}: {frame.message}")
                if channel is not None:
                    logger.warning("market-data stream: %s: %s", channel.type, report)
                    self.interruptions.append(Interruption(channel.feed, report, code, channel.fail(now)))
                elif frame.channel:  # of a channel that was closed in the meantime
                    logger.warning("market-data stream: channel %d: %s", frame.channel, report)
                else:
                    logger.warning("market-data stream: %s", report)
                    self.complaint = report
            case "CHANNEL_OPENED" if channel is not None:
                channel.opened()
            case "CHANNEL_CLOSED" if channel is not None:
                self._reopen(channel, now)
            case "FEED_CONFIG" if channel is not None:
                channel.configure(frame.eventFields)

    def _offer_token(self) -> None:
        if not self._sent_token:
            self._sent_token = True
            self._outbox.append(message("AUTH", token=self._token))

    def _remove(self, subscription: Subscription, but: str | None = None) -> None:
        """End a subscription. Under ``AUTO`` and ``HISTORY``, which replace each other, but not under ``but``."""
        feed = subscription.feed
        for contract in (AUTO, HISTORY) if feed.contract in (AUTO, HISTORY) else (feed.contract,):
            channel = self._channels.get(feed._replace(contract=contract))
            if channel is not None and contract != but:
                channel.remove(subscription)

    def _reopen(self, channel: Channel, now: float) -> None:
        """Reopen a channel that the service has closed, under a new number, unless it was never open.

        Raises:
            TransportError: it has closed the channel too often.
        """
        if channel.state is ChannelState.REFUSED:
            return
        reason = f"the service closed the channel of {channel.type}"
        if channel.state is ChannelState.REQUESTED:
            self.interruptions.append(Interruption(channel.feed, reason, "CLOSED", channel.fail(now)))
            return
        self.interruptions.append(Interruption(channel.feed, reason))
        channel.closures += 1
        if channel.closures > MAX_CLOSURES:
            raise TransportError(
                f"the market-data stream closed the channel of {channel.type} {channel.closures} times"
            )
        del self._by_number[channel.number]
        channel.reset(now)
        self._number(channel)

    def _number(self, channel: Channel) -> None:
        channel.number = self._next_number
        self._next_number += 2
        self._by_number[channel.number] = channel


def _empty(rows: Rows) -> Iterator[Snapshot]:
    """Yield the empty snapshots among rows: under another contract there may be more."""
    if "eventFlags" in rows.columns and "eventSymbol" in rows.columns:
        width = len(rows.columns)
        flags = rows.values[rows.columns.index("eventFlags") :: width]
        if any(flags):
            symbols = rows.values[rows.columns.index("eventSymbol") :: width]
            for symbol, value in zip(symbols, flags, strict=True):
                if isinstance(value, int) and value & _EMPTY == _EMPTY:
                    yield Snapshot(type=MARKET_EVENTS[rows.type], symbol=str(symbol), events=())


def _untyped(data: bytes) -> _Frame | None:
    try:
        raw = parse(data)
        keys = {key: raw[key] for key in _Frame.__struct_fields__ if key in raw}
        channel = keys.get("channel")
        return _Frame(**{**keys, "type": str(keys.get("type", "")), "channel": channel if type(channel) is int else 0})
    except (ValueError, TypeError):
        logger.warning("market-data stream: message is not a JSON object of the protocol; ignored")
        return None
