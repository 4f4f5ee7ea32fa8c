"""Values that consumers of a stream receive, besides the models of market events."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any

import attrs

from ..._generated import models
from ..._values import Model, Portable

MarketEvent = Model
"""A market event: `Quote`, `Trade`, `Candle` and the like."""

ACCOUNT_EVENTS: Mapping[str, type[Model]] = MappingProxyType(
    {
        "Order": models.Order,
        "ComplexOrder": models.ComplexOrder,
        "AccountBalance": models.AccountBalance,
        "CurrentPosition": models.Position,
        "TradingStatus": models.TradingStatus,
        "ExternalTransaction": models.ExternalTransaction,
        "OrderChain": models.OrderChain,
        "UnderlyingYearGainSummary": models.UnderlyingYearGainSummary,
        "QuoteAlert": models.QuoteAlert,
        "PublicWatchlists": models.Watchlist,
    }
)
"""Model of each event type of the account stream; the set is open."""

MARKET_EVENTS: Mapping[str, type[Model]] = MappingProxyType(
    {name: model for name, model in vars(models).items() if "event_symbol" in getattr(model, "__slots__", ())}
)
"""Model of each event type of the market-data stream: the models of the schema that have a streamer symbol."""

INDEXED: frozenset[type[Model]] = frozenset(
    model for model in MARKET_EVENTS.values() if "event_flags" in vars(model)["__slots__"]
)
"""Market events that are rows with an index and flags, and that may come as snapshots."""


class EventFlag(enum.IntFlag):
    """Flags of an indexed market event."""

    TX_PENDING = 0x01
    """More rows of the same transaction follow."""
    REMOVE_EVENT = 0x02
    """The row with this index is removed."""
    SNAPSHOT_BEGIN = 0x04
    """First row of a snapshot."""
    SNAPSHOT_END = 0x08
    """Last row of a snapshot, which is complete."""
    SNAPSHOT_SNIP = 0x10
    """Last row of a snapshot, which was cut at a limit."""
    SNAPSHOT_MODE = 0x40
    """Used by publishers only."""


@attrs.frozen(kw_only=True)
class AccountEvent(Portable):
    """Event of the account stream.

    Attributes:
        type: type of the event, such as ``Order``. An open set.
        data: the whole object after the change, as the REST API has it: an `Order`, `ComplexOrder`, `AccountBalance`,
            `Position`, `TradingStatus`, `ExternalTransaction`, `OrderChain`, `UnderlyingYearGainSummary`, `QuoteAlert`
            or `Watchlist`. Raw JSON for an unknown type.
        timestamp: when the service made the message, which may be later than the change.
        sequence: ``ws-sequence`` of the message. Its meaning is not published.
    """

    type: str
    data: Any = attrs.field(hash=False)
    timestamp: datetime | None = None
    sequence: int | None = None

    @property
    def account_number(self) -> str | None:
        """Account that the event concerns. None for events of the user, such as quote alerts."""
        data = self.data
        number = data.get("account-number") if isinstance(data, Mapping) else getattr(data, "account_number", None)
        return number if isinstance(number, str) else None


@attrs.frozen(kw_only=True)
class UnknownEvent(Portable):
    """Market event of a type that the schema lacks.

    Attributes:
        type: name of the type.
        fields: raw JSON by key.
    """

    type: str
    fields: Mapping[str, Any] = attrs.field(hash=False)


@attrs.frozen(kw_only=True)
class Gap(Portable):
    """A stream was interrupted and goes on: events since ``since`` may be missing, and none of them is repeated.

    ``since`` is when the last message arrived before, None if there was none. ``reason`` is for people.
    """

    since: datetime | None
    reason: str


@attrs.frozen(kw_only=True)
class Snapshot(Portable):
    """All rows of one symbol at one time, such as the candles since a start.

    Attributes:
        type: model of the events, such as `Candle`.
        symbol: streamer symbol.
        events: the rows by ascending index, oldest first.
        is_partial: whether older rows were cut off at a limit of the service.
    """

    type: type[MarketEvent]
    symbol: str
    events: tuple[Any, ...] = attrs.field(hash=False)
    is_partial: bool = False


@attrs.frozen
class Rows:
    """Rows of market events as they arrive: JSON values one after another, without an object for each event.

    Attributes:
        type: name of the event type.
        columns: JSON keys of the values of one row.
        values: those of all rows, a whole number of rows.
        as_floats: whether every number with a fraction is a float. Otherwise there may be Decimals.
    """

    type: str
    columns: Sequence[str]
    values: list[Any]
    as_floats: bool = False
