"""Tickets of one order: legs, spreads, terms, and amounts that are plain numbers."""

from datetime import date
from decimal import Decimal
from functools import partial
from itertools import product
from typing import Any

import pytest

from brokerage_async._generated.models import InstrumentType, LegAction, NewOrder, TimeInForce
from brokerage_async._generated.operations import REQUEST_MODELS
from brokerage_async.errors import InvalidRequestError
from brokerage_async.protocol.validation.requests import problems_of
from brokerage_async.tickets import (
    buy,
    buy_to_close,
    buy_to_open,
    closing_legs,
    iron_condor,
    limit,
    market,
    notional,
    sell,
    sell_to_close,
    sell_to_open,
    spread,
    stop,
    stop_limit,
    vertical,
)
from tests.tables import for_each

JUNE = date(2026, 6, 12)
CALL, HIGHER, PUT = "AAPL  260612C00110000", "AAPL  260612C00115000", "AAPL  260612P00110000"
FUTURE_PUT, LOWER_FUTURE_PUT = "./ESZ6 EW3U6 260918P9100", "./ESZ6 EW3U6 260918P9000"


def shape(order: NewOrder) -> tuple[Any, ...]:
    """Type, duration, price and effect, then action, kind, quantity and symbol of each leg."""
    legs = [(leg.action.value, leg.instrument_type.value, leg.quantity, leg.symbol) for leg in order.legs]
    return (order.order_type.value, order.time_in_force.value, order.price, order.price_effect, *legs)


OPTION = "Equity Option"
USUAL = [
    (limit(buy_to_open("AAPL", 100), price="187.50"),
     ("Limit", "Day", Decimal("187.50"), "Debit", ("Buy to Open", "Equity", 100, "AAPL"))),
    (limit(sell_to_close("BRK/B", 1), price=500, time_in_force=TimeInForce.GTC),
     ("Limit", "GTC", 500, "Credit", ("Sell to Close", "Equity", 1, "BRK/B"))),
    (limit(sell_to_open(CALL, 2), price="1.05"),
     ("Limit", "Day", Decimal("1.05"), "Credit", ("Sell to Open", OPTION, 2, CALL))),
    (limit(buy("/ESZ6", 1), price="6800.25"),
     ("Limit", "Day", Decimal("6800.25"), "Debit", ("Buy", "Future", 1, "/ESZ6"))),
    (limit(sell_to_open(FUTURE_PUT, 1), price=3),
     ("Limit", "Day", 3, "Credit", ("Sell to Open", "Future Option", 1, FUTURE_PUT))),
    (limit(buy_to_open("BTC/USD", "0.01"), price=90000),
     ("Limit", "Day", 90000, "Debit", ("Buy to Open", "Cryptocurrency", Decimal("0.01"), "BTC/USD"))),
    (market(buy_to_close("AAPL", 5)),
     ("Market", "Day", None, None, ("Buy to Close", "Equity", 5, "AAPL"))),
    (vertical("AAPL", JUNE, "C", long=110, short=115, debit="1.85"),
     ("Limit", "Day", Decimal("1.85"), "Debit", ("Buy to Open", OPTION, 1, CALL), ("Sell to Open", OPTION, 1, HIGHER))),
    (vertical("AAPL", JUNE, "P", long=100, short=105, quantity=3, credit=1),
     ("Limit", "Day", 1, "Credit", ("Buy to Open", OPTION, 3, "AAPL  260612P00100000"),
      ("Sell to Open", OPTION, 3, "AAPL  260612P00105000"))),
    (iron_condor("SPY", JUNE, puts=(500, "505"), calls=(560, Decimal("565.5")), credit="1.20"),
     ("Limit", "Day", Decimal("1.20"), "Credit", ("Buy to Open", OPTION, 1, "SPY   260612P00500000"),
      ("Sell to Open", OPTION, 1, "SPY   260612P00505000"), ("Sell to Open", OPTION, 1, "SPY   260612C00560000"),
      ("Buy to Open", OPTION, 1, "SPY   260612C00565500"))),
]  # fmt: skip


@for_each("order, expected", USUAL)
def test_usual_order_has_its_terms_and_legs(order: NewOrder, expected: tuple[Any, ...]) -> None:
    assert shape(order) == expected
    assert problems_of(order, strict=True) == ()


@for_each(
    "order, terms",
    [
        (stop(sell_to_close("AAPL", 100), trigger="180"), {"order_type": "Stop", "stop_trigger": 180, "price": None}),
        (stop_limit(sell_to_close("AAPL", 100), trigger="180", price="179.50", until=JUNE),
         {"order_type": "Stop Limit", "stop_trigger": 180, "price": Decimal("179.50"), "price_effect": "Credit",
          "time_in_force": "GTD", "gtc_date": JUNE}),
        (notional(buy_to_open("AAPL"), value=500),
         {"order_type": "Notional Market", "value": 500, "value_effect": "Debit", "legs": (buy_to_open("AAPL"),)}),
        (limit(buy_to_open("AAPL", 1), price=1, until=JUNE), {"time_in_force": "GTD", "gtc_date": JUNE}),
    ],
)  # fmt: skip
def test_order_of_each_type_has_its_terms(order: NewOrder, terms: dict[str, Any]) -> None:
    assert {name: getattr(order, name) for name in terms} == terms
    assert problems_of(order, strict=True) == ()


def test_leg_has_the_type_of_instrument_that_is_given() -> None:
    leg = buy_to_open("XYZ WS", instrument_type=InstrumentType.FIXED_INCOME_SECURITY)
    assert (leg.instrument_type, leg.action, leg.quantity) == ("Fixed Income Security", LegAction.BUY_TO_OPEN, None)


NO_LEGS: tuple[Any, ...] = (None, 1, "AAPL", [], b"x")


@for_each(
    "make, said",
    [
        (lambda: limit(buy_to_open("AAPL", 1)), "exactly one of"),
        (lambda: limit(buy_to_open("AAPL", 1), price=1, credit=1), "exactly one of"),
        (lambda: limit(buy_to_open("AAPL", 1), buy_to_open(CALL, 1), price=1), "net debit or credit"),
        (lambda: limit(price=1), "net debit or credit"),
        (lambda: vertical("AAPL", JUNE, "C", long=1, short="1.0", debit=1), "two or more different options"),
        (lambda: vertical("AAPL", JUNE, "X", long=1, short=2, debit=1), "OCC"),
        (lambda: iron_condor("SPY", JUNE, puts=(2, 1), calls=(3, 4), credit=1), "must ascend"),
        (lambda: iron_condor("SPY", JUNE, puts=(1, 3), calls=(3, 4), credit=1), "must ascend"),
        (lambda: iron_condor("SPY", JUNE, puts=(1, 2), calls=(3, Decimal("NaN")), credit=1), "plain number"),
        *((partial(limit, wrong, price=1), "legs must be made with") for wrong in NO_LEGS),
        *((partial(market, wrong), "legs must be made with") for wrong in NO_LEGS),
        *((partial(notional, wrong, value=1), "legs must be made with") for wrong in NO_LEGS),
        *(
            (partial(iron_condor, "SPY", JUNE, puts=wrong, calls=(3, 4), credit=1), "must be pairs of strikes")
            for wrong in NO_LEGS
        ),
        *(
            (partial(closing_legs, limit(leg, price=1)), f"must open a position, got {leg.action} of AAPL")
            for leg in (sell_to_close("AAPL", 1), buy_to_close("AAPL", 1))
        ),
        (partial(closing_legs, notional(buy_to_open("AAPL"), value=500)), "must have a quantity, got none for AAPL"),
        (partial(closing_legs, None), "order must be a NewOrder, got NoneType"),
        (lambda: spread(long=CALL, short=HIGHER), "exactly one of price, debit and credit"),
        (lambda: spread(debit=1), "two or more different options"),
        (lambda: spread(long=CALL, debit=1), "two or more different options"),
        (lambda: spread(long=CALL, short=CALL, debit=1), "two or more different options"),
        (lambda: spread(long=(CALL, PUT), short=[PUT], debit=1), "two or more different options"),
        (
            lambda: spread(long=CALL, short=FUTURE_PUT, debit=1),
            r"options of one kind, got .*C00110000' \(Equity Option\) and .*P9100' \(Fut",
        ),
        (lambda: spread(long=(FUTURE_PUT, LOWER_FUTURE_PUT, PUT), debit=1), "options of one kind, got .*: place two"),
        (lambda: spread(long="AAPL", short=CALL, debit=1), r"must be options, got 'AAPL' \(Equity\)"),
        (lambda: spread(long="/ESZ6", short=FUTURE_PUT, debit=1), r"must be options, got '/ESZ6' \(Future\)"),
        *((partial(spread, long=wrong, debit=1), "must be") for wrong in (None, 1, (1, 2), (CALL, None))),
    ],
)
def test_what_makes_no_ticket(make: Any, said: str) -> None:
    with pytest.raises(InvalidRequestError, match=said):
        make()


SHARE = buy_to_open("AAPL", 1)
NOT_PLAIN = ["1_000", "１００", "٣", " 5", "5\n", "0x10", "1,5", "", ".", "five", "NaN", "Infinity", "-sNaN", "1e",
             "1e9" * 9, "1e9999999999999999999", Decimal("NaN"), Decimal("Infinity"), 1.5, b"1", True]  # fmt: skip
MAKERS: dict[str, Any] = {
    "quantity": lambda amount: buy_to_open("AAPL", amount),
    "price": lambda amount: limit(SHARE, price=amount),
    "debit": lambda amount: limit(SHARE, SHARE, debit=amount),
    "credit": lambda amount: stop_limit(SHARE, SHARE, trigger=1, credit=amount),
    "trigger": lambda amount: stop(SHARE, trigger=amount),
    "value": lambda amount: notional(buy_to_open("AAPL"), value=amount),
}


@for_each("name", MAKERS)
@for_each("amount", NOT_PLAIN)
def test_amount_that_is_not_a_plain_finite_number_is_rejected(name: str, amount: Any) -> None:
    with pytest.raises(InvalidRequestError, match=r"must be .*, got "):
        MAKERS[name](amount)


NEGATIVE = ["-1", -1, Decimal("-0.01"), Decimal("-0.0"), "-0", "-1e-9"]


@for_each("name, amount", [*product(MAKERS, NEGATIVE), *product(["quantity", "value"], ["0", 0, "0.00", "0e5"])])
def test_negative_amount_or_nothing_to_trade_is_rejected(name: str, amount: Any) -> None:
    zero, sign = "must be greater than zero, got .*the action says", "must not be negative, got .*a credit is an effect"
    with pytest.raises(InvalidRequestError, match=zero if name in ("quantity", "value") else sign):
        MAKERS[name](amount)


@for_each("amount", ["0", 0, "0.00"])
def test_net_price_of_zero_is_accepted(amount: Any) -> None:
    order = vertical("AAPL", JUNE, "C", long=110, short=115, debit=amount)
    assert order.price == 0
    assert problems_of(order, strict=True) == ()


@for_each("amount", ["1", "+1", "1.", ".5", "1e3", "1E-2", "0.10", Decimal("2.5"), 10**20])
def test_plain_number_is_taken_exactly(amount: Any) -> None:
    assert buy_to_open("AAPL", amount).quantity == Decimal(amount)
    assert str(limit(SHARE, price=amount).price) == str(Decimal(amount))


def test_bodies_of_requests_have_no_identifier_of_the_exchange() -> None:
    wires = {model.__name__: {field.wire for field in described.fields} for model, described in REQUEST_MODELS.items()}
    assert "external-identifier" in wires["NewOrder"]
    assert [name for name, fields in wires.items() if "ext-client-order-id" in fields] == []


@for_each(
    "opening, closing",
    [
        (buy_to_open("AAPL", 100), sell_to_close("AAPL", 100)),
        (sell_to_open("AAPL", "1.5"), buy_to_close("AAPL", "1.5")),
        (buy("/ESZ6", 2), sell("/ESZ6", 2)),
        (sell("/ESZ6", 2), buy("/ESZ6", 2)),
    ],
)
def test_closing_legs_reverse_the_action(opening: Any, closing: Any) -> None:
    assert closing_legs(market(opening)) == (closing,)


def test_closing_legs_of_a_spread_keep_symbols_quantities_and_kinds() -> None:
    order = vertical("AAPL", JUNE, "C", long=110, short=115, quantity=3, debit=1)
    legs = closing_legs(order)
    assert [leg.action for leg in legs] == [LegAction.SELL_TO_CLOSE, LegAction.BUY_TO_CLOSE]
    assert [leg.symbol for leg in legs] == [leg.symbol for leg in order.legs]
    assert {(leg.quantity, leg.instrument_type) for leg in legs} == {(Decimal(3), InstrumentType.EQUITY_OPTION)}


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
