"""What became of an order that was sent: the decisions, apart from every I/O.

The service does not recognise a repeated order, so nothing may be concluded from a missing answer. Three questions
are answered here, each as a table that tests read line by line:

- `fate_of`: what does the end of one submit prove?
- `next_look`: after these looks through the lists, look again (when?), or conclude what?
- `decide`: from both, is the order placed, refused, not sent or unknown, or may it be sent again?

And for an order that is listed: is it provably another one than ours, in spite of its identifier (`differs_in`)? For
changes of an order that exists already: what does the order, read back, say about the change (`cancel_shown`,
`replace_shown`, `successor_differs_in`, `pairs_shown`)?
"""

from __future__ import annotations

import enum
import sys
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import attrs

from .._arguments import a_count, is_number
from .._generated.models import NewOrder, NewOrderLeg, Order, OrderEdit, OrderLeg, PriceEffect
from ..errors import (
    APIError,
    AuthenticationError,
    BrokerageError,
    ConfigurationError,
    InvalidRequestError,
    RateLimitError,
    ResponseDecodeError,
    ServerError,
    TokenError,
    TransportError,
)
from ..protocol.order_status import TERMINAL

__all__ = [
    "Decision",
    "Fate",
    "Finding",
    "Look",
    "LookPlan",
    "cancel_shown",
    "decide",
    "differs_in",
    "fate_of",
    "is_hopeless",
    "next_look",
    "pairs_shown",
    "preflight_fate_of",
    "replace_shown",
    "successor_differs_in",
]

AMBIGUOUS = frozenset({408, 409, 425, 499})
"""Client-error statuses that proxies send while the service may still be at work, or that hint at an earlier copy."""


class Fate(enum.StrEnum):
    """What the end of one request proves about it."""

    ANSWERED = "answered"
    """Done, and the answer shows the result."""
    ACCEPTED = "accepted"
    """Done, but the answer does not show the result: it could not be read, lacks the order, or tells of an error."""
    REFUSED = "refused"
    """Not done: the service said no."""
    NOT_SENT = "not_sent"
    """Not done: it never reached the service, or was turned away unread (429, 401)."""
    UNKNOWN = "unknown"
    """It may have been done, and may still be."""


class Finding(enum.StrEnum):
    """What looking through the lists of orders has shown."""

    FOUND = "found"
    ABSENT = "absent"
    """Not listed, in repeated complete looks, after the settling time."""
    UNDETERMINED = "undetermined"
    """The lists could not be read often enough."""
    CONFLICT = "conflict"
    """Not listed as far as the lists could be read, but another order is, under the same identifier."""


class Decision(enum.StrEnum):
    """What to do about an order."""

    PLACED = "placed"
    REFUSED = "refused"
    NOT_SENT = "not_sent"
    UNKNOWN = "unknown"
    LOOK = "look"
    """Look for it in the lists first."""
    RESUBMIT = "resubmit"
    """Send the same bytes again: it is absent, and the caller asked for this."""


MOST_FACTOR = 1000.0
"""Beyond it, pauses that grow are no numbers any more."""


def _number(
    least: float, *, or_more: bool = True, most: float = sys.float_info.max
) -> Callable[[object, attrs.Attribute[Any], Any], None]:
    """A validator for numbers from ``least`` on, or above it, up to ``most``: infinity would make looking endless."""

    def check(plan: object, attribute: attrs.Attribute[Any], value: Any) -> None:
        if not is_number(value) or not (value >= least if or_more else value > least) or value > most:
            bound = f"of at least {least:g}" if or_more else f"greater than {least:g}"
            end = "" if most == sys.float_info.max else f" and at most {most:g}"
            raise ConfigurationError(f"LookPlan.{attribute.name} must be a finite number {bound}{end}, not {value!r}")

    return check


@attrs.frozen(kw_only=True)
class LookPlan:
    """How an order of unknown outcome is looked for. Times are seconds since it can last have been sent.

    The first look comes after ``first`` seconds; each pause is ``factor`` times the one before, up to ``longest``.
    An order counts as absent after ``confirmations`` complete looks that began at ``settle`` or later and did not
    show it. When the lists cannot be read, looking ends at ``give_up``.

    ``settle`` is the one assumption: *an order that has reached the service is listed within so many seconds*. Make
    it longer rather than shorter; nothing but ``resubmit`` ever acts on it.

    Every number is finite, so that looking always ends; ``factor`` is at most 1000.
    """

    settle: float = attrs.field(default=20.0, validator=_number(0))
    first: float = attrs.field(default=0.5, validator=_number(0, or_more=False))
    factor: float = attrs.field(default=2.0, validator=_number(1, most=MOST_FACTOR))
    longest: float = attrs.field(default=5.0, validator=_number(0, or_more=False))
    confirmations: int = attrs.field(default=2, validator=a_count)
    give_up: float = attrs.field(default=120.0, validator=_number(0))


@attrs.frozen(kw_only=True)
class Look:
    """One look through the lists: when it began, whether every page could be read, whether the order was there,
    whether looking again is ``hopeless`` (see `is_hopeless`), and whether there was a ``conflict``: another order
    under the same identifier."""

    at: float
    complete: bool = True
    found: bool = False
    hopeless: bool = False
    conflict: bool = False


def fate_of(error: BrokerageError | None, *, shown: bool = False) -> Fate:
    """What the end of a request that changes something proves: ``error``, or success with the result ``shown`` or not.

    Only two things prove that nothing was done: the request never left, or the service itself said no (4xx). Turned
    away for the request rate or the token, the request was not even judged: that counts as not sent.
    """
    if error is None:
        return Fate.ANSWERED if shown else Fate.ACCEPTED
    if isinstance(error, ResponseDecodeError):
        return Fate.ACCEPTED
    if isinstance(error, TransportError):
        return Fate.UNKNOWN if error.maybe_processed else Fate.NOT_SENT
    if isinstance(error, APIError) and error.status is not None and 200 <= error.status < 300:
        return Fate.ACCEPTED  # an error beside the data of a success
    if isinstance(error, ServerError):
        return Fate.UNKNOWN  # by its code, if not by its status: a proxy may have put a 4xx on a failure half-way
    if isinstance(error, APIError):
        if error.status is None or not 400 <= error.status < 500 or error.status in AMBIGUOUS:
            return Fate.UNKNOWN
        return Fate.NOT_SENT if isinstance(error, RateLimitError | AuthenticationError) else Fate.REFUSED
    return Fate.NOT_SENT  # no token, wrong configuration, broken rules: all found before sending


def preflight_fate_of(error: BrokerageError) -> Fate:
    """What a failed dry-run says about the order, of which nothing was submitted: refused, or just not sent."""
    if not isinstance(error, APIError) or isinstance(error, RateLimitError | AuthenticationError | ServerError):
        return Fate.NOT_SENT
    judged = (Fate.REFUSED, Fate.ACCEPTED)  # accepted: the error came beside the preview
    return Fate.REFUSED if fate_of(error) in judged else Fate.NOT_SENT


def is_hopeless(error: BrokerageError) -> bool:
    """Whether a read that failed like this will fail again: refused for what was asked or who asks, not by chance."""
    if isinstance(error, TokenError):
        return not error.transient
    if isinstance(error, APIError):
        return fate_of(error) in (Fate.REFUSED, Fate.NOT_SENT) and not isinstance(error, RateLimitError)
    return isinstance(error, ConfigurationError | InvalidRequestError)


def next_look(plan: LookPlan, looks: Sequence[Look]) -> float | Finding:
    """After these looks: the time of the next one (it may be past already), or what they have shown."""
    if any(look.found for look in looks):
        return Finding.FOUND
    settled = [look for look in looks if look.complete and look.at >= plan.settle]
    conflict = Finding.CONFLICT if any(look.conflict for look in looks) else None
    if len(settled) >= plan.confirmations:
        return conflict or Finding.ABSENT
    if not looks:
        return plan.first
    last = looks[-1]
    if last.hopeless or (last.at >= max(plan.give_up, plan.settle) and not last.complete):
        return conflict or Finding.UNDETERMINED
    pause = min(plan.first * plan.factor ** min(len(looks), 64), plan.longest)
    # One look falls on the settling time itself instead of somewhat later.
    return plan.settle if last.at < plan.settle < last.at + pause else last.at + pause


def decide(fate: Fate, finding: Finding | None = None, *, doubt: bool = False, resubmits_left: int = 0) -> Decision:
    """What to do after a submit of this fate and, once looked for, this finding.

    ``doubt`` says that an earlier submit of the same order ended unknown and was then found absent: what happens to
    a repetition never settles the earlier one, so the lists are asked again.

    An order that was accepted without being shown is placed only once it is seen, for a 2xx may come from anything on
    the way (a captive portal, a proxy); and it is never sent again, for the service may well have taken it.
    """
    if fate is Fate.ANSWERED:
        return Decision.PLACED
    if fate in (Fate.REFUSED, Fate.NOT_SENT) and not doubt:
        return Decision(fate.value)
    if finding is None:
        return Decision.LOOK
    if finding is Finding.FOUND:
        return Decision.PLACED
    if finding is not Finding.ABSENT or fate is Fate.ACCEPTED:
        return Decision.UNKNOWN
    if fate is Fate.REFUSED:
        return Decision.REFUSED
    return Decision.RESUBMIT if resubmits_left > 0 else Decision.UNKNOWN


REPORTED_TYPES = frozenset({"Marketable Limit", "Liquidity Allocation"})
"""Order types that the service may report in place of the one asked for."""


def differs_in(asked: NewOrder, order: Order) -> str | None:
    """In which term a listed order is provably not the one that was ``asked`` for.

    None when it can be that one. What is absent on either side proves nothing. An order that came about by an edit
    or a replacement keeps the instruments and actions only; one that was replaced keeps its own terms.
    """
    edited = bool(order.replaces_order_id or (order.edited and not order.replacing_order_id))
    if _legs_differ(asked.legs, order.legs or (), edited=edited):
        return "legs"
    return None if edited else successor_differs_in(asked, order)


def successor_differs_in(asked: NewOrder | OrderEdit, order: Order) -> str | None:
    """In which term the order that replaced another is provably not what was ``asked`` for."""
    if order.order_type not in REPORTED_TYPES and _differ(asked.order_type, order.order_type):
        return "order type"
    if _differ(asked.time_in_force, order.time_in_force):
        return "time in force"
    if _differ(_amount(asked.stop_trigger), _amount(order.stop_trigger)):
        return "stop trigger"
    if _money_differs((asked.price, asked.price_effect), (order.price, order.price_effect)):
        return "price"
    if _money_differs((asked.value, asked.value_effect), (order.value, order.value_effect)):
        return "value"
    return None


def _differ(asked: object, seen: object) -> bool:
    return asked is not None and seen is not None and asked != seen


_Money = tuple[Decimal | None, PriceEffect | None]


def _amount(amount: Decimal | None) -> Decimal | None:
    if amount is None or not amount.is_finite():
        return None
    return amount.copy_abs()  # abs() would round, and fail on the largest ones


def _money_differs(asked: _Money, seen: _Money) -> bool:
    """Whether two amounts, with Debit or Credit beside them where told, differ."""
    ours, theirs = _amount(asked[0]), _amount(seen[0])
    if ours is None or theirs is None:
        return False
    opposite = {asked[1], seen[1]} == {PriceEffect.DEBIT, PriceEffect.CREDIT}
    return ours != theirs or (opposite and ours != 0)


def _legs_differ(asked: Sequence[NewOrderLeg] | None, seen: Sequence[OrderLeg], *, edited: bool) -> bool:
    """Whether legs, in any order, cannot be the same."""
    if asked is None or not seen or not all(leg.symbol for leg in seen):
        return False
    left = list(seen)
    for leg in asked:
        match = next((each for each in left if not _leg_differs(leg, each, edited=edited)), None)
        if match is None:
            return True
        left.remove(match)
    return bool(left)


def _leg_differs(asked: NewOrderLeg, seen: OrderLeg, *, edited: bool) -> bool:
    if _differ(_symbol(asked.symbol), _symbol(seen.symbol)):
        return True
    action, shown = str(asked.action or ""), str(seen.action or "")
    plain = " " not in action or " " not in shown  # `Buy` may be reported as `Buy to Open`
    if action and shown and (action.split()[0] != shown.split()[0] if plain else action != shown):
        return True
    return not edited and _differ(_amount(asked.quantity), _amount(seen.quantity))


def _symbol(symbol: str | None) -> str | None:
    """A symbol by its letters and digits: padding and separators are written in several ways."""
    return None if symbol is None else "".join(filter(str.isalnum, symbol)).upper()


def cancel_shown(status: str | None, replacing_order_id: str | None = None) -> Fate | None:
    """What an order says about a cancellation that got no answer; None: nothing yet, look again.

    One that was replaced reads `Cancelled` as well, but the new order works in its place.
    """
    if replacing_order_id and status in TERMINAL:
        return Fate.REFUSED
    if status in ("Cancelled", "Cancel Requested"):
        return Fate.ANSWERED
    return Fate.REFUSED if status in TERMINAL else None


def replace_shown(status: str | None, replacing_order_id: str | None) -> Fate | None:
    """What the original order says about a replacement that got no answer; None: nothing yet, look again."""
    if replacing_order_id:
        return Fate.ANSWERED
    return Fate.REFUSED if status in TERMINAL else None


def pairs_shown(
    wanted: tuple[str | None, Decimal | None], shown: tuple[str | None, Decimal | None], *, terminal: bool
) -> Fate | None:
    """What a complex order says about a changed (comparator, threshold) of which None means unchanged; None: nothing
    yet, look again."""
    if all(wish is None or wish == have for wish, have in zip(wanted, shown, strict=True)):
        return Fate.ANSWERED
    return Fate.REFUSED if terminal else None
