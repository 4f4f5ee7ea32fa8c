from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from brokerage_async._generated.models import LegAction
from brokerage_async.errors import InvalidRequestError
from brokerage_async.protocol.validation.requests import problems_of
from brokerage_async.tickets import iron_condor, spread, vertical
from tests.tables import for_each

JUNE = date(2026, 6, 12)
CALL, HIGHER, PUT = "AAPL  260612C00110000", "AAPL  260612C00115000", "AAPL  260612P00110000"
FUTURE_PUT, LOWER_FUTURE_PUT = "./ESZ6 EW3U6 260918P9100", "./ESZ6 EW3U6 260918P9000"


def test_spread_of_symbols_has_the_legs_of_their_strikes() -> None:
    made = spread(long=CALL, short=HIGHER, quantity=2, debit="1.85")
    assert made == vertical("AAPL", JUNE, "C", long=110, short=115, quantity=2, debit="1.85")
    condor = iron_condor("AAPL", JUNE, puts=(100, 105), calls=(115, 120), credit=1)
    symbols = [leg.symbol for leg in condor.legs]
    made = spread(long=(symbols[0], symbols[3]), short=symbols[1:3], credit=1)
    assert set(made.legs) == set(condor.legs)
    assert (made.price, made.price_effect) == (condor.price, condor.price_effect)
    made = spread(long=(CALL, PUT), debit="9.20")
    assert [(leg.action, leg.symbol, leg.quantity) for leg in made.legs] == [
        (LegAction.BUY_TO_OPEN, CALL, Decimal(1)),
        (LegAction.BUY_TO_OPEN, PUT, Decimal(1)),
    ]
    made = spread(long=LOWER_FUTURE_PUT, short=FUTURE_PUT, credit="12.5")
    assert {leg.instrument_type for leg in made.legs} == {"Future Option"}
    assert problems_of(made, strict=True) == ()
    with pytest.raises(InvalidRequestError, match="exactly one of price, debit and credit"):
        spread(long=CALL, short=HIGHER)


@for_each(
    "legs, problem",
    [
        ({}, "two or more different options"),
        ({"long": CALL}, "two or more different options"),
        ({"long": CALL, "short": CALL}, "two or more different options"),
        ({"long": (CALL, PUT), "short": [PUT]}, "two or more different options"),
        (
            {"long": CALL, "short": FUTURE_PUT},
            r"options of one kind, got .*C00110000' \(Equity Option\) and .*P9100' \(Fut",
        ),
        ({"long": (FUTURE_PUT, LOWER_FUTURE_PUT, PUT)}, "options of one kind, got .*: place two orders"),
        ({"long": "AAPL", "short": CALL}, r"must be options, got 'AAPL' \(Equity\)"),
        ({"long": "/ESZ6", "short": FUTURE_PUT}, r"must be options, got '/ESZ6' \(Future\)"),
    ],
)
def test_spread_of_anything_but_different_options_is_rejected(legs: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidRequestError, match=problem):
        spread(**legs, debit=1)


@for_each("wrong", [None, 1, (1, 2), (CALL, None)])
def test_spread_of_another_type_is_rejected(wrong: Any) -> None:
    with pytest.raises(InvalidRequestError, match="must be"):
        spread(long=wrong, debit=1)
