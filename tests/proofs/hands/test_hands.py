"""A sample of the ladders and of the sweeps, and mistakes that they must find."""

from typing import Any

import attrs
import pytest

from brokerage_async._generated.operations import ORDERS_SUBMIT
from brokerage_async.errors import BrokerageError
from brokerage_async.models import Order
from brokerage_async.order_entry import OrderEntry, Placement, cancel_all
from brokerage_async.order_entry.results import ChangeOutcome, OrderChange
from brokerage_async.protocol.order_status import TERMINAL
from tests.tables import for_each
from tests.trading import order

from . import ladders, sweeps


@for_each("seed", range(30))
def test_one_order_of_a_ladder_works_at_a_time_and_never_more_is_filled(seed: int) -> None:
    ladders.play(seed)


@for_each("seed", range(3))
def test_each_order_of_a_sweep_is_told_as_the_books_have_it(seed: int) -> None:
    told, average, _ = sweeps.play(seed, 80)
    assert told["cancelled"] + told["filled"] >= 80
    assert average > 1


def test_the_same_seed_has_the_same_history() -> None:
    assert ladders.play(7) == ladders.play(7)


async def placing_anew(
    self: OrderEntry, account: str, order_id: str, _: Any, edit: Any, *_rest: Any, **_more: Any
) -> OrderChange:
    """Cancels the order and places another one at the new price, without waiting for the end of the first."""
    await self.cancel(account, order_id)
    new = attrs.evolve(order(edit.external_identifier, ladders.QUANTITY), price=edit.price)
    answer = await self._context.executor.execute(ORDERS_SUBMIT.bind(account_number=account, body=new))
    return OrderChange(outcome=ChangeOutcome.APPLIED, order=answer.order, order_id=str(answer.order.id))


def forgetting(self: Any) -> tuple[Any, ...]:
    """Counts the fills of the last order alone."""
    return tuple(fill for leg in self.order.legs for fill in leg.fills) if self.order else ()


def hasty(seen: Order) -> bool:
    """Takes an order for over once its cancellation is asked for."""
    return seen.status in {*TERMINAL, "Cancel Requested"}


def found(monkeypatch: pytest.MonkeyPatch, where: Any, name: str, mistake: Any, play: Any, seeds: int) -> str:
    """Return what the first of the seeds says that shows a mistake."""
    with monkeypatch.context() as planted:
        planted.setattr(where, name, mistake)
        for seed in range(seeds):
            try:
                play(seed)
            except (AssertionError, BrokerageError) as error:
                return str(error)
    return ""


def test_mistakes_of_a_ladder_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    for where, name, mistake, says in (
        (OrderEntry, "_change", placing_anew, ("there worked", "placed 2 times", "placed 3 times", "were filled of")),
        (Placement, "fills", property(forgetting), ("the books say",)),
    ):
        error = found(monkeypatch, where, name, mistake, ladders.play, 60)
        assert any(each in error for each in says), f"{mistake.__name__ if callable(mistake) else name}: {error}"


def test_mistakes_of_a_sweep_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cancel_all, "is_complete", hasty)
    error = found(monkeypatch, cancel_all, "_is_over", hasty, lambda seed: sweeps.play(seed, 40), 40)
    assert "Cancel Requested" in error or "the books say" in error
