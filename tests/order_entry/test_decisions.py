import itertools
import math
from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import attrs
from hypothesis import given
from hypothesis import strategies as st

from brokerage_async import errors
from brokerage_async._generated.models import ComplexOrder, ComplexOrderType, Fill, Order, OrderLeg, OrderStatus
from brokerage_async.order_entry import decisions
from brokerage_async.order_entry.decisions import DeliveryOutcome, Poll, ReconcilePolicy, SearchResult, Step
from brokerage_async.order_entry.results import ChangeOutcome, Outcome
from brokerage_async.protocol.order_status import TERMINAL
from tests.protocol.values import raised
from tests.tables import for_each

# The whole table: fate, earlier doubt, finding, resubmits left -> decision
P, R, N, U, L, S = (Outcome.PLACED, Outcome.REFUSED, Outcome.NOT_SENT, Outcome.UNKNOWN, Step.SEARCH, Step.RESUBMIT)
TABLE = {
    # (fate, doubt): not looked, found, absent, absent with resubmits left, undetermined, conflict
    (DeliveryOutcome.CONFIRMED, False): (P, P, P, P, P, P),
    (DeliveryOutcome.CONFIRMED, True): (P, P, P, P, P, P),
    (DeliveryOutcome.ACCEPTED, False): (L, P, U, U, U, U),
    (DeliveryOutcome.ACCEPTED, True): (L, P, U, U, U, U),
    (DeliveryOutcome.REFUSED, False): (R, R, R, R, R, R),
    (DeliveryOutcome.REFUSED, True): (L, P, R, R, U, U),
    (DeliveryOutcome.NOT_SENT, False): (N, N, N, N, N, N),
    (DeliveryOutcome.NOT_SENT, True): (L, P, U, S, U, U),
    (DeliveryOutcome.UNKNOWN, False): (L, P, U, S, U, U),
    (DeliveryOutcome.UNKNOWN, True): (L, P, U, S, U, U),
}
FOUND, ABSENT, UNDETERMINED = SearchResult.FOUND, SearchResult.ABSENT, SearchResult.UNDETERMINED
COLUMNS = {None: 0, FOUND: 1, ABSENT: 2, UNDETERMINED: 4, SearchResult.CONFLICT: 5}


@for_each("fate, doubt", list(itertools.product(DeliveryOutcome, (False, True))))
def test_every_line_of_the_decision_table(fate: DeliveryOutcome, doubt: bool) -> None:
    for finding, column in COLUMNS.items():
        for left in range(4):
            expected = TABLE[fate, doubt][column + (left > 0 and finding is ABSENT)]
            assert decisions.decide(fate, finding, doubt=doubt, resubmits_left=left) is expected, (finding, left)


PLANS = st.builds(
    ReconcilePolicy,
    visibility_delay=st.floats(0, 60),
    first=st.floats(0.1, 5),
    factor=st.floats(1, 4),
    max_interval=st.floats(0.5, 30),
    confirmations=st.integers(1, 4),
    give_up=st.floats(0, 200),
)


def polled(plan: ReconcilePolicy, readable: Iterable[bool] = (), appears: float = math.inf) -> tuple[list[Poll], Any]:
    """Poll as a plan says. The lists are ``readable`` or not, and show the order from a time on."""
    polls: list[Poll] = []
    answers = iter(readable)
    while not isinstance(step := decisions.next_poll(plan, polls), SearchResult):
        complete = next(answers, True)
        polls.append(Poll(at=step, complete=complete, found=complete and step >= appears))
        assert len(polls) < 2000
    return polls, step


@given(PLANS, st.lists(st.booleans(), max_size=400), st.one_of(st.none(), st.floats(0, 100)))
def test_looking_ends_and_never_too_early(plan: ReconcilePolicy, readable: list[bool], appears: float | None) -> None:
    polls, step = polled(plan, readable, math.inf if appears is None else appears)
    assert polls == sorted(polls, key=lambda poll: poll.at)
    settled = [poll for poll in polls if poll.complete and poll.at >= plan.visibility_delay]
    if step is ABSENT:
        assert len(settled) >= plan.confirmations
        assert appears is None or appears > settled[0].at
    elif step is FOUND:
        assert polls[-1].found
    else:
        assert polls[-1].at >= max(plan.give_up, plan.visibility_delay)
        assert len(settled) < plan.confirmations


@given(PLANS, st.floats(0, 60))
def test_what_is_listed_within_the_settling_time_is_never_absent(plan: ReconcilePolicy, appears: float) -> None:
    assert polled(plan, appears=min(appears, plan.visibility_delay))[1] is FOUND


def test_policy_takes_numbers_that_a_clock_can_reach_and_no_others() -> None:
    wrong: list[tuple[str, Any, str]] = [
        *itertools.product(
            ("visibility_delay", "first", "factor", "max_interval", "give_up"),
            (-1, float("nan"), None, "1", True, Decimal(1), float("inf"), 10**400),
            [""],
        ),
        *(("confirmations", value, "") for value in (-1, float("nan"), None, "1", True, Decimal(1), float("inf"))),
        *((name, 0, " must be a finite number greater than 0, got 0") for name in ("first", "max_interval")),
        ("factor", 1000.5, " must be a finite number of at least 1 and at most 1000, got"),
    ]
    for name, value, words in wrong:
        raised(errors.ConfigurationError, ReconcilePolicy, match=rf"ReconcilePolicy\.{name}{words}", **{name: value})
    for factor in (1, 1000):
        policy = ReconcilePolicy(visibility_delay=0, factor=factor, give_up=0)
        assert (policy.visibility_delay, policy.factor, policy.give_up) == (0, factor, 0)


def test_pauses_grow_up_to_the_longest_whatever_the_factor() -> None:
    polls, result = polled(ReconcilePolicy())
    assert [poll.at for poll in polls] == [0.5, 1.5, 3.5, 7.5, 12.5, 17.5, 20.0, 25.0]
    assert result is ABSENT
    bounds = [decisions.search_bounds(ReconcilePolicy(visibility_delay=delay)) for delay in (20, 0.2, 0)]
    assert bounds == [(25.0, 130.0), (1.5, 130.0), (1.0, 130.0)]  # at once where nothing has to become visible
    plan = ReconcilePolicy(first=1e-3, factor=1000, max_interval=1, give_up=500)
    polls, result = polled(plan, itertools.repeat(False))
    assert result is UNDETERMINED
    assert 500 <= len(polls) <= 504
    hopeless = [Poll(at=0.5), Poll(at=1.5, complete=False, permanent=True)]
    assert decisions.next_poll(ReconcilePolicy(), hopeless) is UNDETERMINED


C, D = DeliveryOutcome.CONFIRMED, DeliveryOutcome.REFUSED
CANCEL, REPLACE = decisions.cancel_shown, decisions.replace_shown


@for_each(
    "says, status, successor, shown, settled",  # settled: what a poll after the visibility delay shows
    [
        # A replaced order may read so before it names the new one.
        (CANCEL, "Cancelled", None, None, C), (CANCEL, "Cancelled", "78", D, D),
        (CANCEL, "Cancel Requested", None, C, C), (CANCEL, "Cancel Requested", "78", C, C),
        (CANCEL, "Filled", None, D, D), (CANCEL, "Filled", "78", D, D),
        (CANCEL, "Expired", None, D, D), (CANCEL, "Rejected", None, D, D),
        (CANCEL, "Live", None, None, None), (CANCEL, "Live", "78", None, None),
        (CANCEL, "Received", None, None, None), (CANCEL, "Contingent", None, None, None),
        (CANCEL, None, None, None, None),
        (REPLACE, "Cancelled", "78", C, C), (REPLACE, "Live", "78", C, C),
        (REPLACE, "Live", None, None, None), (REPLACE, "Replace Requested", None, None, None),
        (REPLACE, "Cancelled", None, None, D),
        *((REPLACE, status, None, D, D) for status in TERMINAL - {"Cancelled"}),
    ],
)  # fmt: skip
def test_what_an_order_says_about_its_cancellation_and_its_replacement(
    says: Any, status: str | None, successor: str | None, shown: DeliveryOutcome | None, settled: DeliveryOutcome | None
) -> None:
    seen = Order(status=OrderStatus(status) if status else None, replacing_order_id=successor)
    assert says(seen) is shown
    assert says(seen, settled=True) is settled


APPLIED, FILLED, NOT_REPLACED = ChangeOutcome.APPLIED, ChangeOutcome.FILLED, ChangeOutcome.REFUSED
PART = (OrderLeg(fills=(Fill(quantity=Decimal(1)),)),)


@for_each(
    "new, original, shown, settled",
    [
        *(((status, ()), None, APPLIED, APPLIED) for status in ("Live", "Filled", "Cancel Requested")),
        *(((status, PART), None, APPLIED, APPLIED) for status in ("Cancelled", "Contingent")),
        *(((status, ()), None, None, None) for status in ("Contingent", "Received", "Rejected", "Cancelled")),
        *(((waits, ()), ("Live", legs), None, None) for waits in ("Contingent", "Received") for legs in ((), PART)),
        *((("Contingent", ()), (over, ()), APPLIED, APPLIED) for over in ("Cancelled", "Expired")),
        (("Contingent", ()), ("Cancelled", PART), None, None),
        (("Contingent", ()), ("Filled", ()), FILLED, FILLED),
        (("Rejected", ()), ("Cancelled", ()), APPLIED, APPLIED),
        (("Rejected", ()), ("Filled", ()), FILLED, FILLED),
        *((("Rejected", ()), (status, PART), FILLED, FILLED) for status in ("Live", "Cancelled")),
        (("Rejected", ()), ("Expired", ()), NOT_REPLACED, NOT_REPLACED),
        (("Rejected", ()), ("Live", ()), None, NOT_REPLACED),
    ],
)
def test_what_a_new_order_and_its_original_say_about_the_replacement(
    new: Any, original: Any, shown: ChangeOutcome | None, settled: ChangeOutcome | None
) -> None:
    successor, replaced = (each and Order(status=OrderStatus(each[0]), legs=each[1]) for each in (new, original))
    assert decisions.replacement_shown(successor, replaced) is shown
    assert decisions.replacement_shown(successor, replaced, settled=True) is settled
    lived = attrs.evolve(successor, live_at=datetime(2026, 6, 10, tzinfo=UTC))
    assert decisions.replacement_shown(lived, replaced) is APPLIED


def test_what_a_complex_order_says_about_its_edit() -> None:
    one, two = Decimal("1.5"), Decimal(2)
    assert decisions.pairs_shown(("gte", one), ("gte", Decimal("1.50")), terminal=False) is DeliveryOutcome.CONFIRMED
    assert decisions.pairs_shown((None, one), ("lte", one), terminal=True) is DeliveryOutcome.CONFIRMED
    assert decisions.pairs_shown(("gte", None), ("lte", one), terminal=False) is None
    assert decisions.pairs_shown((None, two), ("gte", one), terminal=True) is DeliveryOutcome.REFUSED


def complex_order(kind: str, trigger: str | None, *statuses: str | None) -> ComplexOrder:
    trigger_order = None if trigger is None else Order(status=OrderStatus(trigger))
    orders = tuple(Order(status=None if status is None else OrderStatus(status)) for status in statuses)
    return ComplexOrder(type=ComplexOrderType(kind), trigger_order=trigger_order, orders=orders)


@for_each(
    "kind, statuses, shown",
    [
        ("OTOCO", ("Cancelled", "Cancelled", "Cancelled"), DeliveryOutcome.CONFIRMED),
        ("OTOCO", ("Cancel Requested", "Cancelled", "Cancelled"), DeliveryOutcome.CONFIRMED),
        ("OTOCO", ("Live", "Cancelled", "Cancelled"), None),
        ("OTOCO", ("Cancelled", "Contingent", "Cancelled"), None),
        ("OTOCO", ("Filled", "Cancelled", "Cancel Requested"), DeliveryOutcome.CONFIRMED),
        ("OTOCO", ("Filled", "Filled", "Cancelled"), DeliveryOutcome.REFUSED),
        ("OTOCO", ("Filled", "Expired", "Expired"), DeliveryOutcome.REFUSED),
        ("OTOCO", ("Cancelled", None, "Cancelled"), None),
        ("OCO", (None, "Filled", "Cancel Requested"), DeliveryOutcome.REFUSED),
        ("OCO", (None, "Live", "Cancelled"), None),
        ("OTO", ("Filled", "Filled", "Cancelled"), DeliveryOutcome.CONFIRMED),
        ("OTO", ("Filled", "Filled"), DeliveryOutcome.REFUSED),
        ("PAIRS", (None, "Cancelled", "Cancelled"), DeliveryOutcome.CONFIRMED),
        ("PAIRS", (None, "Replace Requested", "Cancelled"), None),
        ("PAIRS", (None, "Cancel Requested", "Cancel Requested"), DeliveryOutcome.CONFIRMED),
        ("OCO", (None,), None),
    ],
)
def test_cancellation_of_a_complex_order_as_its_components_show_it(
    kind: str, statuses: tuple[str | None, ...], shown: DeliveryOutcome | None
) -> None:
    trigger, *orders = statuses
    seen = complex_order(kind, trigger, *orders)
    assert decisions.complex_cancel_shown(seen, settled=True) is shown
    assert decisions.complex_cancel_shown(seen) is (None if "Cancelled" in statuses else shown)
    assert decisions.complex_cancel_shown(attrs.evolve(seen, terminal_at=datetime.now(UTC))) is shown
    replaced = attrs.evolve(seen.orders[0], replacing_order_id="8") if seen.orders else Order()
    seen = attrs.evolve(seen, orders=(replaced, *(seen.orders or ())[1:]))
    assert decisions.complex_cancel_shown(seen, settled=True) is None
