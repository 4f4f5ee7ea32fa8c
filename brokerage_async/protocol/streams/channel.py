"""One channel of the market-data stream: its opening, columns and subscriptions."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs
import msgspec

from .feed_data import default_columns

__all__ = ["MAX_MESSAGE", "Channel", "Interruption", "Subscription"]

MAX_MESSAGE = 8_000
"""Bytes of subscriptions in one message; the service closes a connection that sends far longer ones."""


@attrs.frozen
class Subscription:
    """Subscription to the events of one type of one streamer symbol, time series from ``from_time`` (epoch ms) on.

    ``contract`` is the one of its channel. A series has its past under ``HISTORY`` alone.
    """

    type: str
    symbol: str
    from_time: int | None = attrs.field(default=None, eq=False)
    contract: str = attrs.field(default="AUTO", eq=False)


@attrs.frozen
class Interruption:
    """The service refused a part of a channel, or closed it.

    Attributes:
        type: event type of the channel.
        reason: words of the service.
        code: code of its error, empty for a closed channel, which is opened again.
        symbols: subscriptions that went out shortly before and may be refused; all if the channel is.
    """

    type: str
    reason: str
    code: str = ""
    symbols: frozenset[str] = frozenset()


class _State(enum.Enum):
    NEW = enum.auto()
    REQUESTED = enum.auto()
    OPENED = enum.auto()
    SET_UP = enum.auto()
    REFUSED = enum.auto()


class Channel:
    """Channel for the events of one type under one contract.

    Attributes:
        type: the event type.
        contract: the contract.
        number: odd number of the channel.
        columns: names of the columns that the service announced, by event type; those asked for until then.
        answer_due: when the service must have answered, None while it owes nothing.
        errors: how many errors the service reported.
        closures: how many times the service has closed it.
    """

    def __init__(self, kind: str, contract: str = "AUTO") -> None:
        self.type: str = kind
        self.contract: str = contract
        self.number: int = 0
        self.columns: Mapping[str, Sequence[str]] = {kind: default_columns(kind)}
        self.answer_due: float | None = None
        self.errors: int = 0
        self.closures: int = 0
        self._wanted: dict[str, Subscription] = {}
        self._add: dict[str, Subscription] = {}
        self._remove: set[str] = set()
        self._sent: dict[str, float] = {}
        self._state = _State.NEW

    @property
    def is_refused(self) -> bool:
        """Whether the service refused to open it."""
        return self._state is _State.REFUSED

    @property
    def is_requested(self) -> bool:
        """Whether the service has not yet opened it."""
        return self._state is _State.REQUESTED

    @property
    def is_settled(self) -> bool:
        """Whether it is open and all subscriptions have gone out, or it has none, or the service refused it."""
        if self._state is _State.NEW:
            return not self._wanted
        return self._state is _State.REFUSED or (self._state is _State.SET_UP and not self._add and not self._remove)

    def wants(self, symbol: str) -> bool:
        """Return whether a symbol is subscribed."""
        return symbol in self._wanted

    def add(self, subscription: Subscription) -> None:
        """Subscribe to a symbol, or replace its subscription."""
        self._wanted[subscription.symbol] = self._add[subscription.symbol] = subscription
        self._remove.discard(subscription.symbol)

    def remove(self, subscription: Subscription) -> None:
        """End the subscription to a symbol."""
        self._add.pop(subscription.symbol, None)
        self._sent.pop(subscription.symbol, None)
        if self._wanted.pop(subscription.symbol, None) is not None and self._state is _State.SET_UP:
            self._remove.add(subscription.symbol)

    def opened(self) -> None:
        """Take the confirmation that the channel is open."""
        if self._state is _State.REQUESTED:
            self._state, self.answer_due = _State.OPENED, None

    def fail(self, now: float) -> frozenset[str]:
        """Take an error of the service, and return the symbols that it may concern.

        One that answers the request refuses the channel, later ones leave it open.
        """
        self.errors += 1
        if self._state is _State.REQUESTED:
            self._state, self.answer_due = _State.REFUSED, None
            return frozenset(self._wanted)
        return frozenset(symbol for symbol, due in self._sent.items() if now < due and symbol in self._wanted)

    def configure(self, fields: object) -> None:
        """Take the columns that the service announced; those of other types stay."""
        if not isinstance(fields, dict):
            return
        told = {
            kind: tuple(names)
            for kind, names in fields.items()
            if isinstance(names, list) and names and all(isinstance(name, str) for name in names)
        }
        self.columns = {**self.columns, **told}

    def reset(self) -> None:
        """Start over with a new channel, all subscriptions included."""
        self._state, self.answer_due = _State.NEW, None
        self._add, self._remove = dict(self._wanted), set()

    def send(self, answer_due: float, aggregation: float) -> list[dict[str, Any]]:
        """Return the messages that the channel has to send now."""
        if self._state is _State.NEW and self._wanted:
            self._state, self.answer_due = _State.REQUESTED, answer_due
            return [self._message("CHANNEL_REQUEST", service="FEED", parameters={"contract": self.contract})]
        messages: list[dict[str, Any]] = []
        is_first = self._state is _State.OPENED
        if is_first:
            self._state = _State.SET_UP
            messages.append(
                self._message(
                    "FEED_SETUP",
                    acceptAggregationPeriod=aggregation,
                    acceptDataFormat="COMPACT",
                    acceptEventFields={self.type: default_columns(self.type)},
                )
            )
        if self._state is _State.SET_UP:
            self._sent |= dict.fromkeys(self._add, answer_due)
            messages += self._subscriptions(reset=is_first)
        return messages

    def _subscriptions(self, *, reset: bool) -> Iterator[dict[str, Any]]:
        removed = [{"type": self.type, "symbol": symbol} for symbol in self._remove]
        added = [_entry(each) for each in self._add.values()]
        self._add, self._remove = {}, set()
        for key, entries in (("remove", removed), ("add", added)):
            for some in _batches(entries):
                first = {"reset": True} if reset else {}
                reset = False
                yield self._message("FEED_SUBSCRIPTION", **first, **{key: some})

    def _message(self, kind: str, **values: Any) -> dict[str, Any]:
        return {"type": kind, "channel": self.number, **values}


def _entry(subscription: Subscription) -> dict[str, Any]:
    entry: dict[str, Any] = {"type": subscription.type, "symbol": subscription.symbol}
    if subscription.from_time is not None:
        entry["fromTime"] = subscription.from_time
    return entry


def _batches(entries: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Yield the entries in parts of at most `MAX_MESSAGE` bytes."""
    batch: list[dict[str, Any]] = []
    size = 0
    for entry in entries:
        length = len(msgspec.json.encode(entry)) + 1
        if batch and size + length > MAX_MESSAGE:
            yield batch
            batch, size = [], 0
        batch.append(entry)
        size += length
    if batch:
        yield batch
