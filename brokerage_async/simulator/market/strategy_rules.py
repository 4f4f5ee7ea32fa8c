"""Rules that the strategy of a backtest must obey, beyond those of its fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal

from ..._generated.models import (
    BacktestLeg,
    EntryConditions,
    EntryFrequency,
    InstrumentCollection,
    NewBacktest,
    StrikeSelection,
)
from .calendar import CALENDARS
from .strategies import BY_OTHER_LEG, is_option_leg

__all__ = ["problems_of"]

_MAX_CONTRACTS = 10
_MAX_DOLLARS = 50_000
_MAX_DAYS = 1_100
"""Days of the longest listed options, about three years."""

_OFFSET = "current_price_offset", "currentPriceOffset", Decimal(-_MAX_DOLLARS), Decimal(_MAX_DOLLARS)
_DISTANCE = "percentage_otm", "percentageOTM", Decimal(-1), Decimal(1)
_NEEDED: Mapping[StrikeSelection, tuple[str, str, Decimal, Decimal]] = {
    StrikeSelection.DELTA: ("delta", "delta", Decimal(1), Decimal(100)),
    StrikeSelection.PERCENTAGE_OTM: _DISTANCE,
    StrikeSelection.PERCENTAGE_OTM_RELATIVE: _DISTANCE,
    StrikeSelection.CURRENT_PRICE_OFFSET: _OFFSET,
    StrikeSelection.CURRENT_PRICE_OFFSET_RELATIVE: _OFFSET,
    StrikeSelection.CURRENT_PRICE_EXACT_OFFSET_RELATIVE: _OFFSET,
    StrikeSelection.PREMIUM: ("premium", "premium", Decimal(0), Decimal(_MAX_DOLLARS)),
}
"""Field that each way of choosing a strike needs: attribute, key, and bounds."""


def problems_of(requested: NewBacktest, first: date, last: date) -> Iterator[tuple[str, str]]:
    """Yield field and problem of each broken rule; ``first`` and ``last`` bound the days that can be tested."""
    start, end = requested.start_date, requested.end_date
    if start < first or last < end:
        yield "startDate" if start < first else "endDate", f"must be from {first} to {last}"
    elif end < start:
        yield "endDate", "must not be before startDate"
    elif not CALENDARS[InstrumentCollection.EQUITY].between(start, end):
        yield "endDate", "must leave at least one trading day"
    for number, leg in enumerate(requested.legs):
        if is_option_leg(leg):
            yield from ((f"legs[{number}].{name}", problem) for name, problem in _option_problems(requested, leg))
    yield from _entry_problems(requested.entry_conditions)


def _option_problems(requested: NewBacktest, leg: BacktestLeg) -> Iterator[tuple[str, str]]:
    if leg.quantity is not None and leg.quantity > _MAX_CONTRACTS:
        yield "quantity", f"must be at most {_MAX_CONTRACTS} for options"
    if leg.days_until_expiration is None or not 0 <= leg.days_until_expiration <= _MAX_DAYS:
        yield "daysUntilExpiration", f"must be from 0 to {_MAX_DAYS}"
    if leg.strike_selection is None:
        return
    attribute, name, least, most = _NEEDED[leg.strike_selection]
    value: Decimal | None = getattr(leg, attribute)
    if value is None or not least <= value <= most:
        yield name, f"must be from {least} to {most} for the strikeSelection {leg.strike_selection}"
    if leg.strike_selection in BY_OTHER_LEG and not _has_base(requested, leg):
        yield "strikeRelativeLeg", "must be the index of an option leg with a strikeSelection that is not relative"


def _has_base(requested: NewBacktest, leg: BacktestLeg) -> bool:
    number = leg.strike_relative_leg
    if number is None or not 0 <= number < len(requested.legs):
        return False
    base = requested.legs[number]
    return is_option_leg(base) and base.strike_selection not in BY_OTHER_LEG


def _entry_problems(entry: EntryConditions) -> Iterator[tuple[str, str]]:
    if entry.frequency == EntryFrequency.ON_SPECIFIC_DAYS_OF_THE_WEEK and not entry.specific_days:
        yield "entryConditions.specificDays", "must name at least one day for this frequency"
    if entry.maximum_active_trials is not None and entry.maximum_active_trials < 1:
        yield "entryConditions.maximumActiveTrials", "must be at least 1"
