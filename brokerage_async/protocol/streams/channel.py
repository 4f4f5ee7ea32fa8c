"""One channel of the market-data stream: its opening, columns and subscriptions."""

from __future__ import annotations

import enum
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs
import msgspec

from ..._generated.stream_caps import CHANGES_PER_MINUTE, SUBSCRIPTIONS, SUBSCRIPTIONS_BY_TYPE
from .events import INDEXED, MARKET_EVENTS
from .feed_data import MAX_COLUMNS, default_columns
from .snapshots import HeldRows, SnapshotAssembler

MAX_MESSAGE = 8_000
"""Bytes of subscriptions in one message; the service closes a connection that sends far longer ones."""

MAX_TYPES, MAX_NAME = 64, 100
"""Event types whose columns are kept for one channel, and characters of the name of a column."""

Feed = tuple[str, str, float | None, bool]
"""Type, contract and aggregation period of the events of one channel, and whether they stay rows of values."""


@attrs.frozen
class Subscription:
    """Subscription to the events of one type of one streamer symbol, time series from ``from_time`` (epoch ms) on.

    ``contract`` is ``AUTO``, ``TICKER``, ``STREAM`` or ``HISTORY``. A series has its past under ``HISTORY`` alone.
    ``aggregation`` is the period in seconds over which the service may merge events, 0 for none, None for the
    connection's. ``as_rows`` leaves its events the rows of values that arrive, as `Rows`.
    """

    type: str
    symbol: str
    from_time: int | None = attrs.field(default=None, eq=False)
    contract: str = attrs.field(default="AUTO", eq=False)
    aggregation: float | None = None
    as_rows: bool = False

    @property
    def feed(self) -> Feed:
        """Feed that has its events."""
        return self.type, self.contract, self.aggregation, self.as_rows


@attrs.frozen
class Interruption:
    """The service refused a part of a channel, or closed it.

    Attributes:
        feed: type, contract and aggregation period of the channel.
        reason: words of the service.
        code: code of its error, empty for a closed channel, which is opened again.
        symbols: subscriptions that went out shortly before and may be refused. All if the channel is.
    """

    feed: Feed
    reason: str
    code: str = ""
    symbols: frozenset[str] = frozenset()


_MINUTE = 60.0


class Quota:
    """Count of the subscriptions of one session, and of their changes within the last minute."""

    def __init__(self) -> None:
        self._active: Counter[str] = Counter()
        self._changes: deque[tuple[float, int]] = deque()

    def room(self, kind: str) -> int:
        """Return how many further subscriptions to events of a type the service takes."""
        of_type = SUBSCRIPTIONS_BY_TYPE.get(kind, SUBSCRIPTIONS) - self._active[kind]
        return max(0, min(of_type, SUBSCRIPTIONS - self._active.total()))

    def changes(self, now: float) -> int:
        """Return how many changes the service takes now."""
        while self._changes and now >= self._changes[0][0] + _MINUTE:
            self._changes.popleft()
        return CHANGES_PER_MINUTE - sum(count for _, count in self._changes)

    def next_change(self) -> float:
        """Return when the service takes further changes, after it has taken all of a minute."""
        return self._changes[0][0] + _MINUTE

    def use(self, kind: str, *, subscriptions: int, changes: int, now: float) -> None:
        """Count changes that go out, and by how much they change the number of subscriptions."""
        self._active[kind] += subscriptions
        if changes:
            self._changes.append((now, changes))


class _State(enum.Enum):
    NEW = enum.auto()
    REQUESTED = enum.auto()
    OPENED = enum.auto()
    SET_UP = enum.auto()
    REFUSED = enum.auto()


class Channel:
    """Channel for the events of one type, under one contract and with one aggregation period.

    Attributes:
        feed: type, contract and aggregation period, and whether its events stay rows.
        type: the event type.
        number: odd number of the channel.
        columns: names of the columns that the service announced, by event type. Those asked for until then.
        plain_rows: name of the event type in frames whose rows need no look at each, None if they do.
        assembler: assembler of its snapshots, None for events that have no index.
        answer_due: when the service must have answered, None while it owes nothing.
        next_send: when further subscriptions may go out, None if none waits for that.
        capped: how many subscriptions wait until others end, because the service takes no more at a time.
        errors: how many errors the service reported.
        closures: how many times the service has closed it.
    """

    def __init__(self, feed: Feed, quota: Quota, held: HeldRows) -> None:
        self.feed: Feed = feed
        self.type: str = feed[0]
        self.number: int = 0
        self.columns: Mapping[str, Sequence[str]] = {self.type: default_columns(self.type)}
        model = MARKET_EVENTS[self.type]
        self.plain_rows: bytes | None = self.type.encode() if feed[3] and model not in INDEXED else None
        self.assembler: SnapshotAssembler | None = (
            SnapshotAssembler(model, self.wants, held) if model in INDEXED and not feed[3] else None
        )
        self.answer_due: float | None = None
        self.next_send: float | None = None
        self.capped: int = 0
        self.errors: int = 0
        self.closures: int = 0
        self._quota = quota
        self._wanted: dict[str, Subscription] = {}
        self._active: dict[str, Subscription] = {}
        self._add: dict[str, Subscription] = {}
        self._remove: dict[str, Subscription] = {}
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
        """Whether it is open and no subscription waits but for the end of others, or it has none or was refused."""
        if self._state is _State.NEW:
            return not self._wanted
        return self._state is _State.REFUSED or (
            self._state is _State.SET_UP and len(self._add) == self.capped and not self._remove
        )

    def wants(self, symbol: str) -> bool:
        """Return whether a symbol is subscribed."""
        return symbol in self._wanted

    def add(self, subscription: Subscription) -> None:
        """Subscribe to a symbol, or replace its subscription."""
        self._wanted[subscription.symbol] = self._add[subscription.symbol] = subscription
        self._remove.pop(subscription.symbol, None)
        self.capped = 0

    def remove(self, subscription: Subscription) -> None:
        """End the subscription to a symbol."""
        symbol = subscription.symbol
        self._add.pop(symbol, None)
        self._sent.pop(symbol, None)
        self.capped = 0
        if self._wanted.pop(symbol, None) is not None and symbol in self._active:
            self._remove[symbol] = self._active[symbol]
        if self.assembler is not None:
            self.assembler.drop(symbol)

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
        """Take the columns that the service announced. Other types keep theirs."""
        if not isinstance(fields, dict):
            return
        columns = dict(self.columns)
        for kind, names in fields.items():
            is_known = kind in columns or len(columns) < MAX_TYPES
            if not is_known or not isinstance(names, list) or not 0 < len(names) <= MAX_COLUMNS:
                continue
            if all(isinstance(name, str) and len(name) <= MAX_NAME for name in names):
                columns[kind] = tuple(names)
        self.columns = columns

    def reset(self, now: float) -> None:
        """Start over with a new channel, all subscriptions included."""
        self._quota.use(self.type, subscriptions=-len(self._active), changes=0, now=now)
        self._state, self.answer_due = _State.NEW, None
        self._active, self._add, self._remove, self.capped = {}, dict(self._wanted), {}, 0

    def send(self, now: float, answer_due: float, aggregation: float, max_message: int) -> list[dict[str, Any]]:
        """Return the messages that the channel has to send now, with ``max_message`` bytes of subscriptions in one."""
        if self._state is _State.NEW and self._wanted:
            self._state, self.answer_due = _State.REQUESTED, answer_due
            return [self._message("CHANNEL_REQUEST", service="FEED", parameters={"contract": self.feed[1]})]
        messages: list[dict[str, Any]] = []
        is_first = self._state is _State.OPENED
        if is_first:
            self._state = _State.SET_UP
            period = self.feed[2]
            messages.append(
                self._message(
                    "FEED_SETUP",
                    acceptAggregationPeriod=aggregation if period is None else period,
                    acceptDataFormat="COMPACT",
                    acceptEventFields={self.type: default_columns(self.type)},
                )
            )
        if self._state is _State.SET_UP and (self._add or self._remove):
            messages += self._subscriptions(now, answer_due, max_message, reset=is_first)
        return messages

    def _subscriptions(
        self, now: float, answer_due: float, max_message: int, *, reset: bool
    ) -> Iterator[dict[str, Any]]:
        """Yield as many changes as the service takes now. The others stay."""
        left = self._quota.changes(now)
        removed = [self._remove.pop(symbol) for symbol in list(self._remove)[:left]]
        for each in removed:
            del self._active[each.symbol]
        self._quota.use(self.type, subscriptions=-len(removed), changes=len(removed), now=now)
        left -= len(removed)
        room, added = self._quota.room(self.type), list[Subscription]()
        for each in self._add.values():
            is_new = each.symbol not in self._active
            if len(added) < left and (room or not is_new):
                room -= is_new
                added.append(each)
        fresh = len(added) - sum(each.symbol in self._active for each in added)
        self._quota.use(self.type, subscriptions=fresh, changes=len(added), now=now)
        for each in added:
            self._active[each.symbol] = self._add.pop(each.symbol)
            self._sent[each.symbol] = answer_due
        is_paced = self._remove or (self._add and len(added) == left)
        self.next_send = self._quota.next_change() if is_paced else None
        self.capped = 0 if is_paced else len(self._add)
        for key, entries in (("remove", removed), ("add", added)):
            for some in _batches(entries, max_message):
                first = {"reset": True} if reset else {}
                reset = False
                yield self._message("FEED_SUBSCRIPTION", **first, **{key: some})

    def _message(self, kind: str, **values: Any) -> dict[str, Any]:
        return {"type": kind, "channel": self.number, **values}


def _batches(subscriptions: list[Subscription], max_message: int) -> Iterator[list[dict[str, Any]]]:
    """Yield the entries of subscriptions in parts of at most ``max_message`` bytes."""
    batch: list[dict[str, Any]] = []
    size = 0
    for each in subscriptions:
        entry: dict[str, Any] = {"type": each.type, "symbol": each.symbol}
        if each.from_time is not None:
            entry["fromTime"] = each.from_time
        length = len(msgspec.json.encode(entry)) + 1
        if batch and size + length > max_message:
            yield batch
            batch, size = [], 0
        batch.append(entry)
        size += length
    if batch:
        yield batch
