"""Decide the outcome of an order that was sent: pure functions, without I/O and without a clock.

The service does not recognise a repeated order, so a missing answer proves nothing. Three tables answer, and the tests
read them line by line:

- `delivery_of`: what the end of one submit proves, by the verdict of `protocol.retry`.
- `next_poll`: whether to poll the order lists again and when, or what the polls have shown.
- `decide`: from both, the outcome of the order or the next step.

For changes of an existing order, the order itself, read back, shows the result (`cancel_shown`, `complex_cancel_shown`,
`replace_shown`, `replacement_shown`, `pairs_shown`).
"""

from __future__ import annotations

import enum
import sys
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

import attrs

from .. import errors
from .._arguments import check_count, is_number, validator
from .._generated.models import ComplexOrder, Order
from ..protocol.order_status import TERMINAL
from ..protocol.retry import Fault, Processed, verdict_of
from .orders import fills_of
from .results import ChangeOutcome, Outcome

MAX_FACTOR = 1000.0
"""Beyond it, growing intervals overflow to infinity."""

MIN_POLL_TIMEOUT = 10.0
"""Seconds that the last poll may take even when `ReconcilePolicy.give_up` has passed."""


class DeliveryOutcome(enum.StrEnum):
    """The result of one request, as far as its end proves it."""

    CONFIRMED = "confirmed"
    """Done, and the answer shows the result."""
    ACCEPTED = "accepted"
    """Answered with success, but the answer does not show the result: unreadable, incomplete, or listing errors."""
    REFUSED = "refused"
    """Not done: the service itself said no."""
    NOT_SENT = "not_sent"
    """Not done: it never reached the service, or was rejected before processing (429, 401)."""
    UNKNOWN = "unknown"
    """It may have been done, or may still be."""


class SearchResult(enum.StrEnum):
    """The result of searching the order lists."""

    FOUND = "found"
    ABSENT = "absent"
    """Not listed in repeated complete polls after the visibility delay."""
    UNDETERMINED = "undetermined"
    """The lists could not be read often enough."""
    CONFLICT = "conflict"
    """Another order carries the identifier; ours is not listed as far as the lists could be read."""


class Step(enum.StrEnum):
    """The next step towards an outcome."""

    SEARCH = "search"
    """Search the order lists."""
    RESUBMIT = "resubmit"
    """Send the same bytes again: the order is absent, and the caller asked for resubmission."""


def _check_number(
    name: str, value: Any, *, least: float = 0, or_more: bool = True, most: float = sys.float_info.max
) -> None:
    """Check that ``value`` is a finite number from ``least`` to ``most``: infinity would make the search endless."""
    if not is_number(value) or not (value >= least if or_more else value > least) or value > most:
        bound = f"of at least {least:g}" if or_more else f"greater than {least:g}"
        end = "" if most == sys.float_info.max else f" and at most {most:g}"
        raise errors.ConfigurationError(f"{name} must be a finite number {bound}{end}, got {value!r}")


POSITIVE, AT_LEAST_0 = validator(_check_number, or_more=False), validator(_check_number)


@attrs.frozen(kw_only=True)
class ReconcilePolicy:
    """How to search for an order of unknown outcome. Times are seconds since it can last have been sent.

    The first poll of the order lists comes after ``first`` seconds. Each interval is ``factor`` times the previous one,
    up to ``max_interval``. An order is absent after ``confirmations`` complete polls that began at ``visibility_delay``
    or later and did not show it. When the lists cannot be read, the search ends at ``give_up``. A single poll is cut
    off there as well, but is given at least 10 seconds.

    ``visibility_delay`` is the one assumption: *an order that has reached the service is listed within that time*.
    Longer is safer. Only resubmission ever acts on it.

    ``give_up`` also bounds the waiting for an order that exists: until it can be changed, until a replacement works,
    and until a cancelled order is over (`OrderEntry.cancel`).

    Every number is finite, so that the search always ends; ``factor`` is at most 1000.
    """

    visibility_delay: float = attrs.field(default=20.0, validator=AT_LEAST_0)
    first: float = attrs.field(default=0.5, validator=POSITIVE)
    factor: float = attrs.field(default=2.0, validator=validator(_check_number, least=1, most=MAX_FACTOR))
    max_interval: float = attrs.field(default=5.0, validator=POSITIVE)
    confirmations: int = attrs.field(default=2, validator=validator(check_count))
    give_up: float = attrs.field(default=120.0, validator=AT_LEAST_0)


@attrs.frozen
class Delivery:
    """The end of one request: what it proves, what its answer shows, and the error."""

    outcome: DeliveryOutcome
    shown: Any = None
    error: errors.BrokerageError | None = None


@attrs.frozen(kw_only=True)
class Poll:
    """One poll of the order lists. ``complete``: every page could be read. ``permanent``: see `is_permanent`."""

    at: float
    complete: bool = True
    found: bool = False
    permanent: bool = False


def delivery_of(error: errors.BrokerageError) -> DeliveryOutcome:
    """Return what a mutation that ended with an error proves.

    Two things prove that nothing was done: the request never left, or the service itself refused it, in its own error
    envelope. An error page of a proxy proves nothing, because the service may have processed the request behind it. A
    429, or a 401 of the service, rejects a request before processing: that counts as not sent.
    """
    processed = verdict_of(error).processed
    if processed is not Processed.NO:
        return DeliveryOutcome.ACCEPTED if processed is Processed.YES else DeliveryOutcome.UNKNOWN
    is_refusal = isinstance(error, errors.APIError) and error.status not in (401, 429)
    return DeliveryOutcome.REFUSED if is_refusal else DeliveryOutcome.NOT_SENT


def preflight_outcome(error: errors.BrokerageError) -> DeliveryOutcome:
    """Return the delivery of an order whose dry-run failed: refused by the service, or just not sent."""
    unjudged = errors.RateLimitError | errors.AuthenticationError | errors.ServerError
    if not isinstance(error, errors.APIError) or isinstance(error, unjudged):
        return DeliveryOutcome.NOT_SENT
    judged = (DeliveryOutcome.REFUSED, DeliveryOutcome.ACCEPTED)  # accepted: the error came beside the preview
    return DeliveryOutcome.REFUSED if delivery_of(error) in judged else DeliveryOutcome.NOT_SENT


def is_permanent(error: errors.BrokerageError) -> bool:
    """Return True if a read that failed like this fails again: rejected for its content or its caller."""
    verdict = verdict_of(error)
    judged = errors.APIError | errors.TokenError | errors.ConfigurationError | errors.InvalidRequestError
    is_settled = isinstance(error, judged) and verdict.processed is Processed.NO
    return is_settled and (verdict.lasts or verdict.fault is Fault.CREDENTIALS)


def next_poll(policy: ReconcilePolicy, polls: Sequence[Poll]) -> float | SearchResult:
    """Return the time of the next poll (it may have passed already), or the result of these polls."""
    if any(poll.found for poll in polls):
        return SearchResult.FOUND
    settled = [poll for poll in polls if poll.complete and poll.at >= policy.visibility_delay]
    if len(settled) >= policy.confirmations:
        return SearchResult.ABSENT
    if not polls:
        return policy.first
    last = polls[-1]
    if last.permanent or (last.at >= _end(policy) and not last.complete):
        return SearchResult.UNDETERMINED
    pause = min(policy.first * policy.factor ** min(len(polls), 64), policy.max_interval)
    # One poll falls on the visibility delay itself instead of somewhat later.
    delay = policy.visibility_delay
    return delay if last.at < delay < last.at + pause else last.at + pause


def search_bounds(policy: ReconcilePolicy) -> tuple[float, float]:
    """Return the seconds until a search ends that finds nothing: with readable lists, and without."""
    polls = [Poll(at=0.0)] if policy.visibility_delay <= 0 else []
    while not isinstance(at := next_poll(policy, polls), SearchResult):
        polls.append(Poll(at=at))
    return polls[-1].at, _end(policy) + MIN_POLL_TIMEOUT


def poll_timeout(policy: ReconcilePolicy, at: float) -> float:
    """Return the seconds that a poll that begins at ``at`` may take, so that an endless list cannot hold it."""
    return max(_end(policy) - at, MIN_POLL_TIMEOUT)


def _end(policy: ReconcilePolicy) -> float:
    return max(policy.give_up, policy.visibility_delay)


def decide(
    delivery: DeliveryOutcome, search: SearchResult | None = None, *, doubt: bool = False, resubmits_left: int = 0
) -> Outcome | Step:
    """Return the outcome of a submit with this delivery and, once searched for, this search result. Or the next step.

    ``doubt``: an earlier submit of the same order ended unknown and was then found absent. The fate of a repetition
    never settles the earlier one, so the lists are searched again.

    An order that was accepted without being shown is placed only once it is seen, because a 2xx may come from anything
    on the way (a captive portal, a proxy). It is never sent again, because the service may well have taken it.
    """
    if delivery is DeliveryOutcome.CONFIRMED:
        return Outcome.PLACED
    if delivery in (DeliveryOutcome.REFUSED, DeliveryOutcome.NOT_SENT) and not doubt:
        return Outcome(delivery.value)
    if search is None:
        return Step.SEARCH
    if search is SearchResult.FOUND:
        return Outcome.PLACED
    if search is not SearchResult.ABSENT or delivery is DeliveryOutcome.ACCEPTED:
        return Outcome.UNKNOWN
    if delivery is DeliveryOutcome.REFUSED:
        return Outcome.REFUSED
    return Step.RESUBMIT if resubmits_left > 0 else Outcome.UNKNOWN


def predates(received_at: datetime | None, age: float, service_now: datetime | None) -> bool:
    """Return True if an order was received more than ``age`` seconds ago by the service's clock.

    Without the service's time nothing is concluded. Times are compared as numbers: a `datetime` has a smallest year.
    """
    if received_at is None or service_now is None:
        return False
    return service_now.timestamp() - received_at.timestamp() > age


def cancel_shown(seen: Order, *, settled: bool = False) -> DeliveryOutcome | None:
    """Return what an order shows about an unanswered cancellation. None: nothing yet.

    A replaced order reads `Cancelled` too, perhaps before it names the new one, which works in its place. Only a
    ``settled`` poll, one after the visibility delay, shows that nothing replaces it.
    """
    if seen.status == "Cancel Requested":
        return DeliveryOutcome.CONFIRMED
    if seen.status == "Cancelled" and not seen.replacing_order_id:
        return DeliveryOutcome.CONFIRMED if settled else None
    return DeliveryOutcome.REFUSED if seen.status in TERMINAL else None


def complex_cancel_shown(seen: ComplexOrder, *, settled: bool = False) -> DeliveryOutcome | None:
    """Return what a complex order shows about an unanswered cancellation. None: nothing yet.

    It is applied once no component works any more, nor a replacement of one, and one is cancelled. Where one order was
    filled, its exclusive sibling was cancelled by that, not by the request. A replaced component reads `Cancelled` too,
    as in `cancel_shown`. A complex order with an end has no other one.
    """
    orders = seen.orders or ()
    parts = orders if seen.trigger_order is None else (seen.trigger_order, *orders)
    statuses = {part.status for part in parts}
    ends = statuses <= TERMINAL | {"Cancel Requested"} and not any(part.replacing_order_id for part in parts)
    if not parts or not ends or ("Cancelled" in statuses and not (settled or seen.terminal_at)):
        return None
    is_finished = seen.type in ("OCO", "OTOCO") and any(order.status == "Filled" for order in orders)
    is_cancelled = not statuses.isdisjoint({"Cancelled", "Cancel Requested"})
    return DeliveryOutcome.CONFIRMED if is_cancelled and not is_finished else DeliveryOutcome.REFUSED


def replace_shown(seen: Order, *, settled: bool = False) -> DeliveryOutcome | None:
    """Return what the original order shows about an unanswered replacement. None: nothing yet.

    Only a ``settled`` poll shows that nothing replaces a cancelled one, as in `cancel_shown`: an order reported as not
    replaced may be placed again.
    """
    if seen.replacing_order_id:
        return DeliveryOutcome.CONFIRMED
    is_over = seen.status in TERMINAL and (seen.status != "Cancelled" or settled)
    return DeliveryOutcome.REFUSED if is_over else None


def replacement_shown(
    new: Order, original: Order | None, *, fills: int = 0, settled: bool = False
) -> ChangeOutcome | None:
    """Return what a new order and its original show about a replacement. None: nothing yet.

    The new order is `Contingent`, in some versions `Received`, until the original is cancelled, and a fill of the
    original in between ends it. The status of the original after that is not published. ``fills`` is how many the
    original had before. A new order that is rejected after the original was cancelled is applied: nothing works any
    more. A ``settled`` poll is the last one.
    """
    is_waiting = new.status in ("Contingent", "Received")
    if new.status == "Filled" or new.live_at or fills_of(new) or not (is_waiting or new.status in TERMINAL):
        return ChangeOutcome.APPLIED
    if original is None:
        return None
    is_over, is_filled = original.status in TERMINAL, len(fills_of(original)) > fills
    if original.status == "Filled" or (is_filled and not is_waiting):
        return ChangeOutcome.FILLED
    if is_waiting:  # for something else, such as the trigger of its complex order
        return ChangeOutcome.APPLIED if is_over and not is_filled else None
    if original.status == "Cancelled":
        return ChangeOutcome.APPLIED
    return ChangeOutcome.REFUSED if is_over or settled else None


def pairs_shown(
    wanted: tuple[str | None, Decimal | None], shown: tuple[str | None, Decimal | None], *, terminal: bool
) -> DeliveryOutcome | None:
    """Return what a complex order shows about an edit of (comparator, threshold). None as a wish means unchanged."""
    if all(wish is None or wish == have for wish, have in zip(wanted, shown, strict=True)):
        return DeliveryOutcome.CONFIRMED
    return DeliveryOutcome.REFUSED if terminal else None
