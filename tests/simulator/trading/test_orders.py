"""Transitions and properties of orders."""

from __future__ import annotations

import pytest

from brokerage_async._generated.models import LegAction, OrderStatus, OrderType, PriceEffect
from brokerage_async.protocol.order_status import TERMINAL
from brokerage_async.simulator.trading.orders import IllegalTransitionError, number_of
from tests.simulator.factories import order


def test_no_transition_leaves_a_terminal_status() -> None:
    for name in TERMINAL:
        one = order()
        one.status = OrderStatus(name)
        for status in OrderStatus:
            with pytest.raises(IllegalTransitionError):
                one.move(status, 1.0)


def test_move_sets_the_times_of_the_status() -> None:
    one = order()
    one.rendered = b"{}"
    for at, status in enumerate(
        (
            *(OrderStatus.ROUTED, OrderStatus.IN_FLIGHT, OrderStatus.LIVE, OrderStatus.REPLACE_REQUESTED),
            *(OrderStatus.LIVE, OrderStatus.CANCEL_REQUESTED, OrderStatus.CANCELLED),
        )
    ):
        one.move(status, float(at))
    assert (one.in_flight_at, one.live_at, one.cancelled_at, one.terminal_at, one.updated_at) == (1, 2, 6, 6, 6)
    assert one.rendered is None
    one = order()
    with pytest.raises(IllegalTransitionError, match="order 7: Received cannot become Filled"):
        one.move(OrderStatus.FILLED, 1.0)
    assert (one.status, one.updated_at) == (OrderStatus.RECEIVED, None)


@pytest.mark.parametrize(
    ("quantities", "units"),
    [(("6",), 6), (("4", "6"), 2), (("0.5",), 1), (("0.5", "2"), 1), (("0",), 1)],
)
def test_units_of_the_remaining_quantities(quantities: tuple[str, ...], units: int) -> None:
    assert order(*quantities).units == units


@pytest.mark.parametrize(
    ("action", "effect", "limit"),
    [
        (LegAction.BUY_TO_OPEN, None, 5),
        (LegAction.SELL_TO_CLOSE, None, -5),
        (LegAction.SELL_TO_CLOSE, PriceEffect.DEBIT, 5),
        (LegAction.BUY_TO_OPEN, PriceEffect.CREDIT, -5),
        (LegAction.BUY_TO_OPEN, PriceEffect.NONE, 5),
    ],
)
def test_signed_limit_by_action_and_effect(action: LegAction, effect: PriceEffect | None, limit: int) -> None:
    assert order(action=action, price_effect=effect).signed_limit == limit
    assert order(action=action, price_effect=effect, order_type=OrderType.MARKET).signed_limit is None


def test_order_is_editable_once_and_not_while_waiting() -> None:
    old, new = order(number=1), order(number=2)
    assert old.is_editable
    old.replaced_by, new.replaces = new, old
    assert not old.is_editable
    assert not new.is_editable
    old.move(OrderStatus.CANCELLED, 1.0)
    assert new.is_editable
    assert (number_of(old.replaced_by), number_of(old.replaces)) == (2, None)
    assert len(repr(old)) < 5000
