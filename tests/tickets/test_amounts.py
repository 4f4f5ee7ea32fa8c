"""Amounts of orders: exact, and never a sign in place of a direction."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from brokerage_async.errors import InvalidRequestError
from brokerage_async.tickets.amounts import not_negative, positive


@pytest.mark.parametrize(("amount", "number"), [("1.50", "1.50"), (7, "7"), (Decimal("0.01"), "0.01")])
def test_amounts_keep_their_digits(amount: Any, number: str) -> None:
    assert str(positive("quantity", amount)) == str(not_negative("price", amount)) == number


@pytest.mark.parametrize("amount", [0, "0.00", "-0", -1, "-1.5", Decimal(-3)])
def test_quantity_must_be_greater_than_zero(amount: Any) -> None:
    with pytest.raises(InvalidRequestError, match=r"quantity must be greater than zero, got .*the action says"):
        positive("quantity", amount)


@pytest.mark.parametrize("amount", ["-0", -1, "-1.5", Decimal("-0.0")])
def test_price_must_not_carry_a_sign(amount: Any) -> None:
    assert not_negative("price", 0) == 0
    with pytest.raises(InvalidRequestError, match=r"price must not be negative, got .*a credit is an effect"):
        not_negative("price", amount)


@pytest.mark.parametrize("amount", [1.5, True, None, "1_000", "\uff11", "NaN", "Infinity", "", " 1"])
@pytest.mark.parametrize("check", [positive, not_negative])
def test_anything_but_a_plain_number_is_rejected(check: Any, amount: Any) -> None:
    with pytest.raises(InvalidRequestError, match="amount must be"):
        check("amount", amount)
