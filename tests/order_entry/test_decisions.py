from __future__ import annotations

import itertools
from decimal import Decimal
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerage_async._generated.models import (
    InstrumentType,
    LegAction,
    NewOrder,
    NewOrderLeg,
    Order,
    OrderEdit,
    OrderLeg,
    OrderType,
    PriceEffect,
    TimeInForce,
)
from brokerage_async.errors import (
    APIError,
    AuthenticationError,
    BadRequestError,
    BrokerageError,
    ConfigurationError,
    DeadlineExceededError,
    InvalidRequestError,
    NotFoundError,
    PermissionDeniedError,
    PreflightError,
    RateLimitError,
    RequestNotSentError,
    ResponseDecodeError,
    ResponseLostError,
    ServerError,
    TokenError,
    UnprocessableError,
    VersionNotSupportedError,
)
from brokerage_async.models import converter
from brokerage_async.order_entry.decisions import (
    Decision,
    Fate,
    Finding,
    Look,
    LookPlan,
    cancel_shown,
    decide,
    differs_in,
    fate_of,
    is_hopeless,
    next_look,
    pairs_shown,
    preflight_fate_of,
    replace_shown,
    successor_differs_in,
)
from brokerage_async.protocol.order_status import TERMINAL

FATES = [
    (ResponseDecodeError("x", status=201), Fate.ACCEPTED),
    (RequestNotSentError("x"), Fate.NOT_SENT),
    (ResponseLostError("x"), Fate.UNKNOWN),
    (DeadlineExceededError("x", maybe_processed=False), Fate.NOT_SENT),
    (DeadlineExceededError("x", maybe_processed=True), Fate.UNKNOWN),
    (TokenError("x", transient=True), Fate.NOT_SENT),
    (TokenError("x", transient=False), Fate.NOT_SENT),
    (ConfigurationError("x"), Fate.NOT_SENT),
    (InvalidRequestError("x"), Fate.NOT_SENT),
    (BadRequestError("x", status=400), Fate.REFUSED),
    (AuthenticationError("x", status=401), Fate.NOT_SENT),
    (AuthenticationError("x", status=409), Fate.UNKNOWN),
    (PermissionDeniedError("x", status=403), Fate.REFUSED),
    (NotFoundError("x", status=404), Fate.REFUSED),
    (VersionNotSupportedError("x", status=406), Fate.REFUSED),
    (UnprocessableError("x", status=422), Fate.REFUSED),
    (PreflightError("x", status=422), Fate.REFUSED),
    (RateLimitError("x", status=429), Fate.NOT_SENT),
    (PreflightError("x", status=201), Fate.ACCEPTED),
    (ServerError("x", status=201), Fate.ACCEPTED),
    (APIError("x", status=408), Fate.UNKNOWN),
    (APIError("x", status=409), Fate.UNKNOWN),
    (APIError("x", status=302), Fate.UNKNOWN),
    (APIError("x"), Fate.UNKNOWN),
    (ServerError("x", status=500), Fate.UNKNOWN),
    (ServerError("x", status=504), Fate.UNKNOWN),
    (ServerError("x", status=422, code="internal_server_error"), Fate.UNKNOWN),
    (ServerError("x", status=400, code="timeout_error"), Fate.UNKNOWN),
]


@pytest.mark.parametrize(("error", "fate"), FATES, ids=lambda value: str(getattr(value, "status", None) or ""))
def test_what_each_end_of_a_submit_proves(error: BrokerageError, fate: Fate) -> None:
    assert fate_of(error) is fate
    assert fate_of(error, shown=True) is fate


def test_a_success_shows_the_order_or_not() -> None:
    assert fate_of(None, shown=True) is Fate.ANSWERED
    assert fate_of(None) is Fate.ACCEPTED


@pytest.mark.parametrize("error", [error for error, _ in FATES])
def test_a_failed_dry_run_never_leaves_doubt(error: BrokerageError) -> None:
    judged = isinstance(error, APIError) and fate_of(error) is Fate.REFUSED and error.status not in (401, 429)
    judged |= isinstance(error, PreflightError)
    assert preflight_fate_of(error) is (Fate.REFUSED if judged else Fate.NOT_SENT)


@pytest.mark.parametrize("error", [error for error, _ in FATES])
def test_reading_again_is_hopeless_where_the_question_or_the_asker_was_refused(error: BrokerageError) -> None:
    lasting = (400, 401, 403, 404, 406, 422)
    settings = isinstance(error, ConfigurationError | InvalidRequestError)
    dead_grant = isinstance(error, TokenError) and not error.transient
    refused = error.status in lasting and not isinstance(error, ServerError)
    assert is_hopeless(error) is (refused or settings or dead_grant)


def test_a_hopeless_look_is_the_last() -> None:
    looks = [Look(at=0.5), Look(at=1.5, complete=False, hopeless=True)]
    assert next_look(LookPlan(), looks) is Finding.UNDETERMINED


# The whole table: fate, earlier doubt, finding, resubmits left -> decision
P, R, N, U, L, S = (
    Decision.PLACED,
    Decision.REFUSED,
    Decision.NOT_SENT,
    Decision.UNKNOWN,
    Decision.LOOK,
    Decision.RESUBMIT,
)
TABLE = {
    # (fate, doubt): not looked, found, absent, absent with a resubmit left, undetermined, conflict
    (Fate.ANSWERED, False): (P, P, P, P, P, P),
    (Fate.ANSWERED, True): (P, P, P, P, P, P),
    (Fate.ACCEPTED, False): (L, P, U, U, U, U),
    (Fate.ACCEPTED, True): (L, P, U, U, U, U),
    (Fate.REFUSED, False): (R, R, R, R, R, R),
    (Fate.REFUSED, True): (L, P, R, R, U, U),
    (Fate.NOT_SENT, False): (N, N, N, N, N, N),
    (Fate.NOT_SENT, True): (L, P, U, S, U, U),
    (Fate.UNKNOWN, False): (L, P, U, S, U, U),
    (Fate.UNKNOWN, True): (L, P, U, S, U, U),
}
COLUMNS = [
    (None, 0),
    (Finding.FOUND, 0),
    (Finding.ABSENT, 0),
    (Finding.ABSENT, 1),
    (Finding.UNDETERMINED, 1),
    (Finding.CONFLICT, 1),
]


@pytest.mark.parametrize(("fate", "doubt"), list(itertools.product(Fate, (False, True))))
def test_every_line_of_the_decision_table(fate: Fate, doubt: bool) -> None:
    row = tuple(decide(fate, finding, doubt=doubt, resubmits_left=left) for finding, left in COLUMNS)
    assert row == TABLE[fate, doubt]


@given(st.sampled_from(Fate), st.sampled_from([None, *Finding]), st.booleans(), st.integers(min_value=0, max_value=3))
def test_what_must_hold_in_every_line(fate: Fate, finding: Finding | None, doubt: bool, left: int) -> None:
    decision = decide(fate, finding, doubt=doubt, resubmits_left=left)
    if decision is Decision.RESUBMIT:  # only when asked to, and only what was looked for and is absent
        assert left > 0
        assert finding is Finding.ABSENT
        assert fate in (Fate.UNKNOWN, Fate.NOT_SENT)
    if decision is Decision.NOT_SENT:  # only when no submit at all can have arrived
        assert fate is Fate.NOT_SENT
        assert not doubt
    if decision is Decision.REFUSED:
        assert fate is Fate.REFUSED
    if decision is Decision.PLACED:  # only what was answered or seen
        assert fate is Fate.ANSWERED or finding is Finding.FOUND
    if finding is Finding.FOUND and (doubt or fate not in (Fate.REFUSED, Fate.NOT_SENT)):
        assert decision is Decision.PLACED
    if finding is not None:  # looking once is enough
        assert decision is not Decision.LOOK


PLANS = st.builds(
    LookPlan,
    settle=st.floats(0, 60),
    first=st.floats(0.1, 5),
    factor=st.floats(1, 4),
    longest=st.floats(0.5, 30),
    confirmations=st.integers(1, 4),
    give_up=st.floats(0, 200),
)


@given(PLANS, st.lists(st.booleans(), max_size=400), st.one_of(st.none(), st.floats(0, 100)))
def test_looking_always_ends_and_never_concludes_too_early(
    plan: LookPlan, readable: list[bool], appears: float | None
) -> None:
    """The lists are readable or not, look by look; the order is listed from ``appears`` on, or never."""
    looks: list[Look] = []
    answers = iter(readable)
    while not isinstance(step := next_look(plan, looks), Finding):
        assert step >= (looks[-1].at if looks else 0)
        complete = next(answers, True)
        looks.append(Look(at=step, complete=complete, found=complete and appears is not None and step >= appears))
        assert len(looks) < 2000
    settled = [look for look in looks if look.complete and look.at >= plan.settle]
    if step is Finding.ABSENT:
        assert len(settled) >= plan.confirmations
        assert appears is None or appears > settled[0].at
    elif step is Finding.FOUND:
        assert looks[-1].found
    else:
        assert looks[-1].at >= max(plan.give_up, plan.settle)
        assert len(settled) < plan.confirmations


@given(PLANS, st.floats(0, 60))
def test_what_is_listed_within_the_settling_time_is_never_absent(plan: LookPlan, appears: float) -> None:
    looks: list[Look] = []
    while not isinstance(step := next_look(plan, looks), Finding):
        looks.append(Look(at=step, found=step >= min(appears, plan.settle)))
    assert step is Finding.FOUND


def test_the_usual_plan_looks_at_these_times() -> None:
    looks: list[Look] = []
    while not isinstance(step := next_look(LookPlan(), looks), Finding):
        looks.append(Look(at=step))
    assert [look.at for look in looks] == [0.5, 1.5, 3.5, 7.5, 12.5, 17.5, 20.0, 25.0]
    assert step is Finding.ABSENT


def test_another_order_under_the_identifier_is_told_in_the_end_only() -> None:
    plan = LookPlan(settle=1, first=1, confirmations=2, give_up=3)
    assert next_look(plan, [Look(at=1, conflict=True)]) == 3
    assert next_look(plan, [Look(at=1, conflict=True), Look(at=3)]) is Finding.CONFLICT
    assert next_look(plan, [Look(at=1, conflict=True), Look(at=3, complete=False)]) is Finding.CONFLICT
    assert next_look(plan, [Look(at=1, conflict=True), Look(at=3, found=True)]) is Finding.FOUND


ASKED = NewOrder(
    order_type=OrderType.STOP_LIMIT,
    time_in_force=TimeInForce.DAY,
    price=Decimal("1.5"),
    price_effect=PriceEffect.DEBIT,
    stop_trigger=Decimal(2),
    legs=(
        NewOrderLeg(
            action=LegAction.BUY_TO_OPEN,
            symbol="SPY   260612C00500000",
            quantity=Decimal(10),
            instrument_type=InstrumentType.EQUITY_OPTION,
        ),
        NewOrderLeg(action=LegAction.SELL, symbol="/ESM6", quantity=Decimal(1), instrument_type=InstrumentType.FUTURE),
    ),
)


def asking(**terms: Any) -> NewOrder:
    """An order that was asked for, of which only these terms are known."""
    asked = converter.structure({}, NewOrder)
    return attrs.evolve(asked, legs=(), **terms)


SHOWN = Order(
    order_type=OrderType.STOP_LIMIT,
    time_in_force=TimeInForce.DAY,
    price=Decimal("1.50"),
    price_effect=PriceEffect.DEBIT,
    stop_trigger=Decimal("2.00"),
    legs=(
        OrderLeg(action=LegAction.SELL_TO_OPEN, symbol="/ESM6", quantity=Decimal(1)),
        OrderLeg(action=LegAction.BUY_TO_OPEN, symbol="SPY 260612C00500000", quantity=Decimal("10.0")),
    ),
)
MORE = OrderLeg(action=LegAction.BUY_TO_OPEN, symbol="SPY 260612C00500000", quantity=Decimal(11))
OTHER = OrderLeg(action=LegAction.BUY_TO_OPEN, symbol="AAPL", quantity=Decimal(10))
SOLD = OrderLeg(action=LegAction.SELL_TO_CLOSE, symbol="SPY 260612C00500000", quantity=Decimal(10))


@pytest.mark.parametrize(
    ("change", "term"),
    [
        ({}, None),
        ({"order_type": OrderType.LIMIT}, "order type"),
        ({"order_type": OrderType.MARKETABLE_LIMIT}, None),
        ({"order_type": None, "time_in_force": None, "price": None, "stop_trigger": None, "legs": None}, None),
        ({"time_in_force": TimeInForce.GTC}, "time in force"),
        ({"price": Decimal("1.51")}, "price"),
        ({"price": Decimal("-1.5")}, None),
        ({"price_effect": PriceEffect.CREDIT}, "price"),
        ({"price_effect": None}, None),
        ({"stop_trigger": Decimal(3)}, "stop trigger"),
        ({"value": Decimal(3)}, None),
        ({"legs": (SHOWN.legs or ())[:1]}, "legs"),
        ({"legs": (*(SHOWN.legs or ()), OTHER)}, "legs"),
        ({"legs": ((SHOWN.legs or ())[0], OTHER)}, "legs"),
        ({"legs": ((SHOWN.legs or ())[0], SOLD)}, "legs"),
        ({"legs": ((SHOWN.legs or ())[0], MORE)}, "legs"),
        ({"legs": (OrderLeg(), OrderLeg())}, None),
        ({"edited": True, "price": Decimal(9), "legs": ((SHOWN.legs or ())[0], MORE)}, None),
        ({"edited": True, "replacing_order_id": "7", "price": Decimal(9)}, "price"),
        ({"replaces_order_id": "7", "order_type": OrderType.MARKET}, None),
        ({"edited": True, "legs": ((SHOWN.legs or ())[0], OTHER)}, "legs"),
    ],
)
def test_what_proves_that_an_order_is_another_one(change: dict[str, Any], term: str | None) -> None:
    assert differs_in(ASKED, attrs.evolve(SHOWN, **change)) == term
    assert differs_in(converter.structure({}, NewOrder), attrs.evolve(SHOWN, **change)) is None


@pytest.mark.parametrize("nonsense", [None, "x", [], {}, True, "NaN"])
def test_a_body_that_makes_no_sense_proves_nothing_about_amounts(nonsense: Any) -> None:
    body = {"price": nonsense, "value": nonsense, "stop-trigger": nonsense}
    assert differs_in(converter.structure(body, NewOrder), SHOWN) is None


def test_the_value_of_a_notional_order_tells_it_apart() -> None:
    order = Order(value=Decimal(100), value_effect=PriceEffect.DEBIT)
    assert differs_in(asking(value=Decimal("100.00")), order) is None
    assert differs_in(asking(value=Decimal(101)), order) == "value"
    assert differs_in(asking(value=Decimal(100), value_effect=PriceEffect.CREDIT), order) == "value"
    nothing = attrs.evolve(order, value=Decimal(0))
    assert differs_in(asking(value=Decimal(0), value_effect=PriceEffect.CREDIT), nothing) is None


@pytest.mark.parametrize("name", ["settle", "first", "factor", "longest", "confirmations", "give_up"])
def test_a_plan_takes_no_nonsense(name: str) -> None:
    for value in (-1, float("nan"), None, "1", True, Decimal(1)):
        with pytest.raises(ConfigurationError, match=name):
            LookPlan(**{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["settle", "first", "factor", "longest", "confirmations", "give_up"])
def test_a_plan_has_an_end(name: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"LookPlan\.{name}"):
        LookPlan(**{name: float("inf")})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["settle", "first", "factor", "longest", "give_up"])
def test_a_plan_takes_no_number_that_no_clock_can_reach(name: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"LookPlan\.{name}"):
        LookPlan(**{name: 10**400})  # type: ignore[arg-type]


def test_pauses_grow_up_to_the_longest_whatever_the_factor() -> None:
    plan = LookPlan(first=1e-3, factor=1000, longest=1, give_up=500)
    looks: list[Look] = []
    while not isinstance(step := next_look(plan, looks), Finding):
        looks.append(Look(at=step, complete=False))
    assert step is Finding.UNDETERMINED
    assert 500 <= len(looks) <= 504


@pytest.mark.parametrize(
    ("status", "fate"),
    [
        ("Cancelled", Fate.ANSWERED),
        ("Cancel Requested", Fate.ANSWERED),
        ("Filled", Fate.REFUSED),
        ("Expired", Fate.REFUSED),
        ("Rejected", Fate.REFUSED),
        ("Live", None),
        ("Received", None),
        ("Contingent", None),
        (None, None),
    ],
)
def test_what_a_status_says_about_a_cancellation(status: str | None, fate: Fate | None) -> None:
    assert cancel_shown(status) is fate


@pytest.mark.parametrize(
    ("status", "fate"),
    [("Cancelled", Fate.REFUSED), ("Filled", Fate.REFUSED), ("Cancel Requested", Fate.ANSWERED), ("Live", None)],
)
def test_an_order_that_was_replaced_is_not_cancelled(status: str, fate: Fate | None) -> None:
    assert cancel_shown(status, "78") is fate


def test_what_the_original_says_about_its_replacement() -> None:
    assert replace_shown("Cancelled", "78") is Fate.ANSWERED
    assert replace_shown("Live", "78") is Fate.ANSWERED
    assert replace_shown("Live", None) is None
    assert replace_shown("Replace Requested", None) is None
    assert {replace_shown(status, None) for status in TERMINAL} == {Fate.REFUSED}


def test_what_a_complex_order_says_about_its_edit() -> None:
    one, two = Decimal("1.5"), Decimal(2)
    assert pairs_shown(("gte", one), ("gte", Decimal("1.50")), terminal=False) is Fate.ANSWERED
    assert pairs_shown((None, one), ("lte", one), terminal=True) is Fate.ANSWERED
    assert pairs_shown(("gte", None), ("lte", one), terminal=False) is None
    assert pairs_shown((None, two), ("gte", one), terminal=True) is Fate.REFUSED


@pytest.mark.parametrize("amount", ["1E+9999999", "1E-9999999", "NaN", "-Infinity", "9" * 60])
def test_amounts_of_any_size_are_compared(amount: str) -> None:
    seen = Order(price=Decimal(amount))
    assert differs_in(asking(price=Decimal(10)), seen) == ("price" if Decimal(amount).is_finite() else None)
    assert differs_in(asking(price=Decimal(amount)), seen) is None


def test_what_proves_that_an_order_was_replaced_by_another_edit() -> None:
    asked = OrderEdit(
        order_type=OrderType.LIMIT,
        time_in_force=TimeInForce.DAY,
        price=Decimal(11),
        price_effect=PriceEffect.DEBIT,
    )
    ours = Order(
        order_type=OrderType.LIMIT,
        price=Decimal("11.00"),
        price_effect=PriceEffect.DEBIT,
        replaces_order_id="1",
        edited=True,
    )
    assert successor_differs_in(asked, ours) is None
    assert successor_differs_in(asked, Order()) is None
    assert successor_differs_in(asked, attrs.evolve(ours, price=Decimal(9))) == "price"
    assert successor_differs_in(asked, attrs.evolve(ours, time_in_force=TimeInForce.GTC)) == "time in force"
