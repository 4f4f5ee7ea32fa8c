"""A small sample of the program, and errors that it must find."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from unittest.mock import patch

import attrs

from brokerage_async import models
from brokerage_async.simulator.trading import bookkeeping
from brokerage_async.simulator.trading.accounts import Account, Fees
from brokerage_async.simulator.trading.orders import OrderStore
from tests.tables import for_each

from .compare import Check, check_expiration
from .run import trade
from .second import Book, Fact, Fill

NOON = datetime(2026, 6, 10, 16, tzinfo=UTC)
CALL = Fact(symbol="X  C", kind="Equity Option", underlying="X", multiplier=Decimal(100), option_type="C")
FUTURE = Fact(symbol="/MYMU6", kind="Future", underlying="/MYMU6", multiplier=Decimal("0.5"))
SHARE = Fact(symbol="X", kind="Equity", underlying="X")


def test_books_agree_after_150_orders() -> None:
    result = trade(150, seed=7, check_every=60)
    assert result.differences == ()
    assert result.orders >= 150
    assert result.fills > 100
    assert result.compared > 3_000


def cheaper(fees: Callable[..., Fees]) -> Callable[..., Fees]:
    return lambda *given: attrs.evolve(fees(*given), clearing=Decimal(0))


def short_by_a_cent(move_cash: Callable[..., None]) -> Callable[..., None]:
    return lambda account, amount: move_cash(account, amount - Decimal("0.01"))


def kept(release: Callable[..., None]) -> Callable[..., None]:
    return lambda store, order, keep: release(store, order, max(keep, min(order.reserved, Decimal("0.01"))))


PLANTED: tuple[tuple[Any, str, Callable[[Any], Any], str], ...] = (
    (bookkeeping, "fees_of", cheaper, "clearing_fees"),
    (Account, "move_cash", short_by_a_cent, "cash_balance"),
    (OrderStore, "release", kept, "derivative_buying_power"),
)


@for_each("owner, name, bug, figure", PLANTED)
def test_planted_error_is_found(owner: Any, name: str, bug: Callable[[Any], Any], figure: str) -> None:
    with patch.object(owner, name, bug(getattr(owner, name))):
        assert any(figure in line for line in trade(12, seed=1).differences)


def test_difference_names_the_figure_and_both_values() -> None:
    check = Check()
    check.same("cash", Decimal("1.00"), Decimal(1))
    check.same("cash", Decimal("1.01"), Decimal(1))
    assert (check.compared, check.differences) == (2, ["cash: the service shows 1.01, computed 1"])


def fill(fact: Fact, action: str, quantity: str, price: str) -> Fill:
    return Fill(
        exec_id=f"{action} {quantity} {price}", order_id="1", at=NOON, symbol=fact.symbol, action=action,
        quantity=Decimal(quantity), price=Decimal(price),
    )  # fmt: skip


def test_gain_on_a_future_is_paid_to_the_cent_over_its_life() -> None:
    book = Book(kind="Margin", facts={FUTURE.symbol: FUTURE})
    book.add(fill(FUTURE, "Buy to Open", "3", "42500.01"))
    for price in ("42501.02", "42501.04"):
        book.add(fill(FUTURE, "Sell to Close", "1", price))
    assert list(book.values.values()) == [0, Decimal("0.50"), Decimal("0.52")]  # 0.505 and 0.515.
    assert book.fees[date(2026, 6, 10)] == Decimal("2.82") * 5
    assert book.holdings[FUTURE.symbol].quantity == 1


def test_requirement_of_shares_follows_the_kind_of_account() -> None:
    for kind, required in (("Margin", 500), ("Cash", 1000)):
        book = Book(kind=kind, facts={"X": SHARE})
        book.add(fill(SHARE, "Buy to Open", "100", "10"))
        assert book.requirement({"X": Decimal(10)}) == required
        assert book.net_liq({"X": Decimal(12)}) == Decimal("199.92")


def test_expired_option_leaves_its_value_in_cash_and_no_fees() -> None:
    book = Book(kind="Margin", facts={CALL.symbol: CALL})
    book.add(fill(CALL, "Sell to Open", "2", "1.00"))
    before, fees = book.cash, dict(book.fees)
    book.expire(fill(CALL, "Buy to Close", "2", "0.25"))
    assert book.cash == before - 50
    assert book.fees == fees
    assert not book.holdings


def test_assigned_put_is_due_in_shares_at_its_strike() -> None:
    option = attrs.evolve(CALL, symbol="X  P", option_type="P", strike=Decimal(20))
    book = Book(kind="Margin", facts={option.symbol: option, SHARE.symbol: SHARE})
    book.add(fill(option, "Sell to Open", "2", "1.00"))
    book.expire(fill(option, "Buy to Close", "2", "0"), "Assignment")
    assert book.due == {(SHARE.symbol, Decimal(20)): 200}
    book.expire(fill(SHARE, "Buy to Open", "200", "20"), "Buy to Open")
    assert book.due == {(SHARE.symbol, Decimal(20)): 0}
    assert book.holdings[SHARE.symbol].average == 20


@for_each(
    "quantity, on, value, figure",
    [
        ("1", date(2026, 6, 10), "25.0", "ended quantity"),
        ("2", date(2026, 6, 11), "50.0", "day of expiration"),
        ("2", date(2026, 6, 10), "49.0", "value of an expiration"),
    ],
)
def test_wrong_end_of_an_option_is_found(quantity: str, on: date, value: str, figure: str) -> None:
    option = attrs.evolve(CALL, expires=on)
    book, check = Book(kind="Margin", facts={option.symbol: option}), Check()
    book.add(fill(option, "Sell to Open", "2", "1.00"))
    row = models.Transaction(
        id="9", exec_id="e", executed_at=NOON, symbol=option.symbol, action=models.LegAction.BUY_TO_CLOSE,
        quantity=Decimal(quantity), price=Decimal("0.25"), value=Decimal(value), value_effect=models.PriceEffect.DEBIT,
        net_value=Decimal(value), net_value_effect=models.PriceEffect.DEBIT,
    )  # fmt: skip
    check_expiration(row, book, check)
    assert any(figure in line for line in check.differences)
