"""A small sample of the program, and errors that it must find."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any
from unittest.mock import patch

import attrs
import pytest

from brokerage_async.simulator.trading import exchange
from brokerage_async.simulator.trading.accounts import Account, Fees
from brokerage_async.simulator.trading.orders import OrderStore
from tests.tables import for_each

from .run import play


def test_books_agree_after_150_orders() -> None:
    counts = play(7, orders=150, check_every=60)
    assert counts["accepted"] + counts["replaced"] >= 150
    assert counts["fills"] > 100
    assert counts["figures compared"] > 3_000


def cheaper(fees: Callable[..., Fees]) -> Callable[..., Fees]:
    return lambda *given: attrs.evolve(fees(*given), clearing_fees=Decimal(0))


def short_by_a_cent(move_cash: Callable[..., None]) -> Callable[..., None]:
    return lambda account, amount: move_cash(account, amount - Decimal("0.01"))


def kept(release: Callable[..., None]) -> Callable[..., None]:
    return lambda store, order, keep: release(store, order, max(keep, min(order.reserved, Decimal("0.01"))))


PLANTED: tuple[tuple[Any, str, Callable[[Any], Any], str], ...] = (
    (exchange, "fees_of", cheaper, "clearing_fees"),
    (Account, "move_cash", short_by_a_cent, "cash_balance"),
    (OrderStore, "release", kept, "derivative_buying_power"),
)


@for_each("owner, name, bug, figure", PLANTED)
def test_planted_error_is_found(owner: Any, name: str, bug: Callable[[Any], Any], figure: str) -> None:
    with patch.object(owner, name, bug(getattr(owner, name))), pytest.raises(AssertionError, match=figure):
        play(1, orders=12)
