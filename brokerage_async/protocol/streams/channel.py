"""One channel of the market-data stream: its opening, columns and subscriptions, and the assembly of its snapshots.

Rows of one symbol that belong together, in a snapshot or a transaction, are delivered together.
"""

from __future__ import annotations

import enum
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import inf
from typing import Any, NamedTuple

import attrs
import msgspec

from ..._generated.stream_caps import CHANGES_PER_MINUTE, SUBSCRIPTIONS, SUBSCRIPTIONS_BY_TYPE
from .events import INDEXED, MARKET_EVENTS, EventFlag, Snapshot
from .feed_data import MAX_COLUMNS, default_columns

MAX_MESSAGE = 8_000  # bytes of subscriptions in one message: the service closes a connection that sends far longer ones
MAX_TYPES, MAX_NAME = 64, 100  # event types whose columns are kept for one channel, and characters of a column's name
AUTO, HISTORY = "AUTO", "HISTORY"


class Feed(NamedTuple):
    """Type, contract and aggregation period of the events of one channel, and whether they stay rows of values."""

    type: str
    contract: str = AUTO
    aggregation: float | None = None
    as_rows: bool = False

    @property
    def is_indexed(self) -> bool:
        """Whether its events are rows with an index, which may come as snapshots."""
        return MARKET_EVENTS[self.type] in INDEXED

    @property
    def of_series(self) -> Feed:
        """The same for a series, which has its past under ``HISTORY`` and goes on under ``AUTO``."""
        return self._replace(contract=AUTO) if self.contract == HISTORY else self


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
    contract: str = attrs.field(default=AUTO, eq=False)
    aggregation: float | None = None
    as_rows: bool = False

    @property
    def feed(self) -> Feed:
        """Feed that has its events."""
        return Feed(self.type, self.contract, self.aggregation, self.as_rows)


@attrs.frozen
class Interruption:
    """The service refused a part of a channel, or closed it."""

    feed: Feed
    reason: str  # words of the service
    code: str = ""  # of its error, empty for a closed channel, which is opened again
    symbols: frozenset[str] = frozenset()  # sent shortly before, and perhaps refused; all if the channel is


_MINUTE = 60.0


class Quota:
    """Counts of one session: subscriptions, their changes within the last minute, and rows that are held back."""

    def __init__(self) -> None:
        self.rows: int = 0
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


# Rows that one connection holds back: the minute bars of a year. The snapshot that exceeds it is delivered in part.
MAX_ROWS = 500_000
MAX_UNSORTED = 50_000  # the same for a snapshot whose rows do not come newest first, and have to be sorted in one go
MAX_SECONDS = 120.0  # seconds that rows are held back: a snapshot that has not ended until then is delivered in part

_PENDING, _REMOVE = EventFlag.TX_PENDING.value, EventFlag.REMOVE_EVENT.value
_BEGIN, _LAST = EventFlag.SNAPSHOT_BEGIN.value, EventFlag.SNAPSHOT_END.value | EventFlag.SNAPSHOT_SNIP.value
_SNIP = EventFlag.SNAPSHOT_SNIP.value
_GROUPED = _PENDING | _BEGIN | _LAST


@attrs.define
class _Group:
    """Rows held back for one symbol: a snapshot by index, or a transaction in order."""

    is_snapshot: bool
    began: float
    sees_end: bool = False
    is_partial: bool = False
    is_sorted: bool = True
    last: float = float("inf")
    rows: dict[int, Any] = attrs.field(factory=dict)


@attrs.define
class SnapshotAssembler:
    """Assembler of the indexed events of one type. Rows are held back only for symbols that are wanted."""

    _model: type[Any]
    _is_wanted: Callable[[str], bool] = lambda _: True
    _quota: Quota = attrs.field(factory=Quota)
    _groups: dict[str, _Group] = attrs.field(factory=dict, init=False)

    def add(self, events: list[Any], now: float = 0.0) -> list[Any]:
        """Return the events that may be delivered, with a `Snapshot` in place of the rows of one."""
        groups, ready = self._groups, list[Any]()
        for event in events:
            flags = event.event_flags or 0
            symbol = event.event_symbol
            if not (flags & _GROUPED or symbol in groups) or not self._is_wanted(symbol):
                ready.append(event)
                continue
            group = groups.get(symbol)
            if group is None or flags & _BEGIN:
                self.drop(symbol)
                group = groups[symbol] = _Group(is_snapshot=bool(flags & _BEGIN), began=now)
            rows, before = group.rows, len(group.rows)
            index = event.index or 0
            if not group.is_snapshot:
                rows[before] = event
            elif flags & _REMOVE:
                rows.pop(index, None)  # the last row is often a mere marker
            else:
                group.is_sorted = group.is_sorted and (index < group.last or index in rows)
                group.last = min(index, group.last)
                rows[index] = event
            self._quota.rows += len(rows) - before
            is_full = self._quota.rows >= MAX_ROWS or (not group.is_sorted and len(rows) >= MAX_UNSORTED)
            if flags & _LAST or is_full:
                group.sees_end = True
                group.is_partial = bool(flags & _SNIP) or not flags & _LAST
            if (is_full or not flags & _PENDING) and (group.sees_end or not group.is_snapshot):
                self._release(symbol, group, ready)
        return ready

    def drop(self, symbol: str) -> None:
        """Forget rows that are held back for a symbol."""
        if (group := self._groups.pop(symbol, None)) is not None:
            self._quota.rows -= len(group.rows)

    def overdue(self, now: float) -> list[Any]:
        """Return the events held back for too long. Their snapshots are partial."""
        ready = list[Any]()
        for symbol, group in list(self._groups.items()):
            if now < group.began + MAX_SECONDS:
                break
            group.is_partial = True
            self._release(symbol, group, ready)
        return ready

    def _release(self, symbol: str, group: _Group, ready: list[Any]) -> None:
        self.drop(symbol)
        rows = group.rows
        if not group.is_snapshot:
            ready.extend(rows.values())
            return
        events = tuple(reversed(rows.values())) if group.is_sorted else tuple(rows[index] for index in sorted(rows))
        ready.append(Snapshot(type=self._model, symbol=symbol, events=events, is_partial=group.is_partial))


class ChannelState(enum.Enum):
    """What the service knows of a channel."""

    NEW = enum.auto()
    REQUESTED = enum.auto()
    OPENED = enum.auto()
    SET_UP = enum.auto()
    REFUSED = enum.auto()


class Channel:
    """Channel for the events of one type, under one contract and with one aggregation period."""

    def __init__(self, feed: Feed, quota: Quota) -> None:
        self.feed: Feed = feed
        self.type: str = feed.type
        self.state: ChannelState = ChannelState.NEW
        self.number: int = 0  # an odd one
        # Columns by event type: those that the service announced, until then those asked for.
        self.columns: Mapping[str, Sequence[str]] = {self.type: default_columns(self.type)}
        # Name of the event type in frames whose rows need no look at each.
        self.plain_rows: bytes | None = self.type.encode() if feed.as_rows and not feed.is_indexed else None
        self.assembler: SnapshotAssembler | None = None  # of its snapshots, none for events that have no index
        self.answer_due: float = inf  # when the service must have answered, infinite while it owes nothing
        self.next_send: float = inf  # when further subscriptions may go out, infinite if none waits for that
        self.capped: int = 0  # subscriptions that wait until others end: the service takes no more at a time
        self.closures: int = 0  # times that the service has closed it
        self._quota = quota
        self._wanted: dict[str, Subscription] = {}
        self._active: dict[str, Subscription] = {}
        self._pending: dict[str, Subscription | None] = {}  # changes that have to go out, None for an end
        self._sent: dict[str, float] = {}
        if feed.is_indexed and not feed.as_rows:
            self.assembler = SnapshotAssembler(MARKET_EVENTS[self.type], self._wanted.__contains__, quota)

    @property
    def is_settled(self) -> bool:
        """Whether it is open and no subscription waits but for the end of others, or it has none or was refused."""
        if self.state is ChannelState.NEW:
            return not self._wanted
        is_sent = self.state is ChannelState.SET_UP and len(self._pending) == self.capped
        return is_sent or self.state is ChannelState.REFUSED

    def add(self, subscription: Subscription) -> None:
        """Subscribe to a symbol, or replace its subscription."""
        self._wanted[subscription.symbol] = self._pending[subscription.symbol] = subscription
        self.capped = 0

    def remove(self, subscription: Subscription) -> None:
        """End the subscription to a symbol."""
        symbol = subscription.symbol
        if self._wanted.pop(symbol, None) is None:
            return
        self._pending.pop(symbol, None)
        if symbol in self._active:
            self._pending[symbol] = None
        self._sent.pop(symbol, None)
        self.capped = 0
        if self.assembler is not None:
            self.assembler.drop(symbol)

    def opened(self) -> None:
        """Take the confirmation that the channel is open."""
        if self.state is ChannelState.REQUESTED:
            self.state, self.answer_due = ChannelState.OPENED, inf

    def fail(self, now: float) -> frozenset[str]:
        """Take an error of the service, and return the symbols that it may concern.

        One that answers the request refuses the channel, later ones leave it open.
        """
        if self.state is ChannelState.REQUESTED:
            self.state, self.answer_due = ChannelState.REFUSED, inf
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
        self.state, self.answer_due = ChannelState.NEW, inf
        self._active, self._pending, self.capped = {}, dict(self._wanted), 0

    def send(self, now: float, answer_due: float, aggregation: float, max_message: int) -> list[dict[str, Any]]:
        """Return the messages that the channel has to send now, with ``max_message`` bytes of subscriptions in one."""
        feed, is_first = self.feed, self.state is ChannelState.OPENED
        if self.state is ChannelState.NEW and self._wanted:
            self.state, self.answer_due = ChannelState.REQUESTED, answer_due
            return [message("CHANNEL_REQUEST", self.number, service="FEED", parameters={"contract": feed.contract})]
        messages: list[dict[str, Any]] = []
        if is_first:
            self.state = ChannelState.SET_UP
            setup = {
                "acceptAggregationPeriod": aggregation if feed.aggregation is None else feed.aggregation,
                "acceptDataFormat": "COMPACT",
                "acceptEventFields": {self.type: default_columns(self.type)},
            }
            messages.append(message("FEED_SETUP", self.number, **setup))
        if self.state is ChannelState.SET_UP and self._pending:
            messages += self._subscriptions(now, answer_due, max_message, reset=is_first)
        return messages

    def _subscriptions(
        self, now: float, answer_due: float, max_message: int, *, reset: bool
    ) -> Iterator[dict[str, Any]]:
        """Yield as many changes as the service takes now. The others stay."""
        left = self._quota.changes(now)
        ended = [symbol for symbol, each in self._pending.items() if each is None][:left]
        removed = [self._active.pop(symbol) for symbol in ended]
        for symbol in ended:
            del self._pending[symbol]
        self._quota.use(self.type, subscriptions=-len(removed), changes=len(removed), now=now)
        left -= len(removed)
        room = left_room = self._quota.room(self.type)
        added = list[Subscription]()
        for each in self._pending.values():
            if each is not None and len(added) < left and (left_room or each.symbol in self._active):
                left_room -= each.symbol not in self._active
                added.append(each)
        self._quota.use(self.type, subscriptions=room - left_room, changes=len(added), now=now)
        for each in added:
            self._active[each.symbol] = each
            del self._pending[each.symbol]
            self._sent[each.symbol] = answer_due
        is_paced = bool(self._pending) and len(added) == left
        self.next_send = self._quota.next_change() if is_paced else inf
        self.capped = 0 if is_paced else len(self._pending)
        for key, entries in (("remove", removed), ("add", added)):
            for some in _batches(entries, max_message):
                first = {"reset": True} if reset else {}
                reset = False
                yield message("FEED_SUBSCRIPTION", self.number, **first, **{key: some})


def message(kind: str, channel: int = 0, **values: Any) -> dict[str, Any]:
    """Return a message of the protocol. The channel of the connection itself is 0."""
    return {"type": kind, "channel": channel, **values}


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
