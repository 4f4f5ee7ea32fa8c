"""Rare events in the life of an order, which happen by the seed: one table of rates."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import attrs

from ..keyed_random import KeyedRandom, key_of
from ..market.calendar import local_date, local_epoch
from .orders import Order

_OUTAGE_BEGINS = (11.0, 15.5)
"""Hours of the day in New York, the first one late enough not to meet a test that has just begun."""
_OUTAGE = 25 * 60.0


@attrs.frozen
class Rate:
    """One order, or day, in ``one_in`` has the event, after a number of seconds within ``seconds``."""

    one_in: int
    seconds: tuple[float, float]


RATES: Mapping[str, Rate] = {
    "filled_with_fills_to_come": Rate(20, (2.0, 20.0)),
    "cancels_confirmed_late": Rate(50, (2.0, 20.0)),
    "fills_after_cancel_requests": Rate(100, (0.01, 0.1)),
    "live_orders_can_be_rejected": Rate(500, (0.1, 60.0)),
    "administrators_remove_orders": Rate(500, (0.1, 600.0)),
    "orders_can_be_dead": Rate(1000, (0.0, 0.0)),
    "sandbox_sessions_go_offline": Rate(50, (_OUTAGE, _OUTAGE)),
}
"""Rates by entry of the list of recorded behaviour. They are guesses: often enough to be met in a thousand days."""


class Chances:
    """Decides from the seed which events each order meets."""

    def __init__(self, random: KeyedRandom, environment: str, has: Callable[[str], bool]) -> None:
        self._random = random
        self._is_sandbox = environment == "sandbox"
        self._has = has

    def delay(self, behaviour: str, order: Order) -> float | None:
        """Return after how many seconds an event happens to an order, None if it does not."""
        rate, key = RATES[behaviour], key_of(behaviour)
        if not self._has(behaviour) or self._random.below(rate.one_in, order.number, key):
            return None
        return self._random.between(*rate.seconds, order.number, key, 1)

    def is_offline(self, now: float) -> bool:
        """Return whether the session of the sandbox is offline, which it is for 25 minutes of a rare day."""
        behaviour = "sandbox_sessions_go_offline"
        day, key = local_date(now), key_of(behaviour)
        rare = self._random.below(RATES[behaviour].one_in, day.toordinal(), key) == 0
        if not (rare and self._is_sandbox and self._has(behaviour)):
            return False
        begins = local_epoch(day, self._random.between(*_OUTAGE_BEGINS, day.toordinal(), key, 1))
        return begins <= now < begins + _OUTAGE
