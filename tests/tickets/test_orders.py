"""Tickets: legs, spreads, terms, amounts that are plain numbers, and complex orders of several of them."""

from datetime import date
from decimal import Decimal
from functools import partial
from itertools import product
from typing import Any

import attrs

from brokerage_async._generated.models import ComplexOrderType, InstrumentType, LegAction, NewOrder, TimeInForce
from brokerage_async._generated.operations import REQUEST_MODELS
from brokerage_async.errors import InvalidRequestError
from brokerage_async.protocol.validation.requests import problems_of
from brokerage_async.tickets import (
    bracket,
    buy,
    buy_to_close,
    buy_to_open,
    closing_legs,
    iron_condor,
    limit,
    market,
    notional,
    one_cancels_other,
    one_triggers_other,
    pair,
    sell,
    sell_to_close,
    sell_to_open,
    spread,
    stop,
    stop_limit,
    vertical,
)
from tests.protocol.values import raised
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
    raised(InvalidRequestError, MAKERS[name], amount, match=r"must be .*, got ")


NEGATIVE = ["-1", -1, Decimal("-0.01"), Decimal("-0.0"), "-0", "-1e-9"]


@for_each("name, amount", [*product(MAKERS, NEGATIVE), *product(["quantity", "value"], ["0", 0, "0.00", "0e5"])])
def test_negative_amount_or_nothing_to_trade_is_rejected(name: str, amount: Any) -> None:
    zero, sign = "must be greater than zero, got .*the action says", "must not be negative, got .*a credit is an effect"
    raised(InvalidRequestError, MAKERS[name], amount, match=zero if name in ("quantity", "value") else sign)


PLAIN: list[Any] = ["1", "+1", "1.", ".5", "1e3", "1E-2", "0.10", Decimal("2.5"), 10**20]


@for_each("amount", [*PLAIN, "0", 0, "0.00"])
def test_plain_number_is_taken_exactly_and_a_net_price_may_be_zero(amount: Any) -> None:
    assert str(limit(SHARE, price=amount).price) == str(Decimal(amount))
    order = vertical("AAPL", JUNE, "C", long=110, short=115, debit=amount)
    assert (order.price, problems_of(order, strict=True)) == (Decimal(amount), ())
    if order.price:
        assert buy_to_open("AAPL", amount).quantity == Decimal(amount)


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


ENTRY = limit(buy_to_open("AAPL", 100), price="187.50")
PROFIT = limit(*closing_legs(ENTRY), price=195)
LOSS = stop(*closing_legs(ENTRY), trigger=180)
UNPRICED = attrs.evolve(ENTRY, price=None)
QUANTITY: Any = "many"
WORDY = attrs.evolve(ENTRY, legs=[attrs.evolve(ENTRY.legs[0], quantity=QUANTITY)])
SPREAD = vertical("AAPL", JUNE, "C", long=110, short=115, debit="1.85")
FUTURE = limit(buy("/ESZ6", 2), price=6800)
SHORT = limit(sell_to_open("AAPL", 100), price=200)
COVER = closing_legs(SHORT)


@for_each(
    "entry, profit, loss",
    [
        (ENTRY, PROFIT, LOSS),
        (ENTRY, PROFIT, stop_limit(*closing_legs(ENTRY), trigger=180, price="179.50")),
        (market(buy_to_open("AAPL", 100)), PROFIT, LOSS),
        (ENTRY, limit(sell_to_close("AAPL", 50), price=195), LOSS),
        (FUTURE, limit(sell("/ESZ6", 2), price=6900), stop(sell("/ESZ6", 2), trigger=6700)),
        (SHORT, limit(*COVER, price=190), stop(*COVER, trigger=210)),
        (market(sell_to_open("AAPL", 100)), limit(*COVER, price=190), stop(*COVER, trigger=195)),
        (limit(buy_to_open("AAPL", 100), price=200), PROFIT, LOSS),  # may fill far below its limit
        (
            SPREAD,
            limit(*closing_legs(SPREAD), credit=3),
            stop_limit(*closing_legs(SPREAD), trigger="0.90", credit="0.80"),
        ),
    ],
)
def test_bracket_is_an_otoco_order_that_keeps_the_rules(entry: NewOrder, profit: NewOrder, loss: NewOrder) -> None:
    made = bracket(entry, profit=profit, loss=loss)
    assert (made.type, made.trigger_order) == (ComplexOrderType.OTOCO, entry)
    assert made.orders == tuple(attrs.evolve(order, advanced_instructions=None) for order in (profit, loss))
    assert problems_of(made, strict=True) == ()


@for_each(
    "entry, profit, loss, problem",
    [
        (ENTRY, 180, 180, "profit of a long position must be above the trigger of loss, got 180 and 180"),
        (ENTRY, "175.50", 180, "profit of a long position must be above the trigger of loss, got 175.50 and 180"),
        (ENTRY, 195, "187.50", "entry of a long position must be above the trigger of loss, .* got 187.50 and 187.50"),
        (ENTRY, 195, 190, "entry of a long position must be above the trigger of loss"),
        (SHORT, 195, 190, "profit of a short position must be below the trigger of loss, got 195 and 190"),
        (SHORT, 190, 195, "entry of a short position must be below the trigger of loss, .* got 200 and 195"),
        (market(buy_to_open("AAPL", 100)), 180, 195, "profit of a long position must be above"),
        (limit(buy("/ESZ6", 2), price=6800), 6700, 6750, "profit of a long position must be above"),
    ],
)
def test_bracket_of_one_leg_with_prices_the_wrong_way_round_is_rejected(
    entry: NewOrder, profit: Any, loss: Any, problem: str
) -> None:
    legs = closing_legs(entry)
    for stopped in (stop(*legs, trigger=loss), stop_limit(*legs, trigger=loss, price=loss)):
        raised(InvalidRequestError, bracket, entry, profit=limit(*legs, price=profit), loss=stopped, match=problem)


COLA, PEPSI = limit(buy_to_open("KO", 100), price=70), limit(sell_to_open("PEP", 40), price=160)
COUNTERPART = limit(buy_to_open("PEP", 40), price=160)


@for_each("side, comparator", [("at_least", "gte"), ("at_most", "lte")])
def test_pair_states_the_ratio_that_releases_both_orders(side: str, comparator: str) -> None:
    made = pair(COLA, PEPSI, **{side: "0.4375"})
    assert (made.type, made.trigger_order, made.orders) == (ComplexOrderType.PAIRS, None, (COLA, PEPSI))
    assert (made.ratio_price_comparator, made.ratio_price_threshold) == (comparator, Decimal("0.4375"))
    assert made.ratio_price_is_threshold_based_on_notional is None
    assert problems_of(made, strict=True) == ()


def test_pair_by_value_or_of_several_legs_is_not_held_to_opposite_sides() -> None:
    assert pair(COLA, PEPSI, at_least=1, by_value=True).ratio_price_is_threshold_based_on_notional is True
    other = vertical("MSFT", JUNE, "C", long=410, short=415, debit="1.85")
    assert pair(SPREAD, other, at_least=1).orders == (SPREAD, other)
    entry = notional(buy_to_open("AAPL"), value=500)
    assert bracket(entry, profit=PROFIT, loss=LOSS).trigger_order == entry
    made = one_cancels_other(PROFIT, LOSS)
    assert (made.type, made.trigger_order, made.orders) == (ComplexOrderType.OCO, None, (PROFIT, LOSS))
    assert problems_of(made, strict=True) == ()


OTHER_LOSS, LARGER_LOSS = (stop(sell_to_close(*of), trigger=1) for of in (("MSFT", 100), ("AAPL", 101)))
OTOCO = partial(bracket, entry=ENTRY, profit=PROFIT, loss=LOSS)
NO_LEGS: tuple[Any, ...] = (None, 1, "AAPL", [], b"x")


@for_each(
    "make, problem",
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
        (partial(OTOCO, profit=LOSS), "profit must be a Limit order, got Stop"),
        (partial(OTOCO, loss=PROFIT), "loss must be a Stop or .* order, got Limit"),
        (partial(OTOCO, profit=ENTRY), "profit must close positions that the entry opens, got Buy to Open of 100 AAPL"),
        (partial(OTOCO, loss=OTHER_LOSS), "loss must close positions .*, got .* 100 MSFT"),
        (partial(OTOCO, loss=LARGER_LOSS), "loss must close at most the 100 .*, got .* 101 AAPL"),
        (partial(OTOCO, entry=PROFIT), "profit must close positions that the entry opens"),
        (partial(OTOCO, entry=None), "entry must be a NewOrder, got NoneType"),
        (partial(OTOCO, profit="limit"), "profit must be a NewOrder, got str"),
        (partial(OTOCO, loss=180), "loss must be a NewOrder, got int"),
        (partial(pair, COLA, PEPSI), "exactly one of at_least and at_most must be given, got 0"),
        (partial(pair, COLA, PEPSI, at_least=1, at_most=2), "exactly one of at_least and at_most must be given, got 2"),
        (partial(pair, COLA, PEPSI, at_least=0), "ratio must be greater than zero, got 0"),
        (partial(pair, COLA, PEPSI, at_most=0.5), "ratio must be a Decimal, an int or a str, got 0.5"),
        (partial(pair, COLA, COUNTERPART, at_least=1), "must buy and the other sell, got Buy to Open of K"),
        (partial(pair, PEPSI, PEPSI, at_least=1), "must be of different instruments, got PEP twice"),
        (partial(pair, COLA, None, at_least=1), "second must be a NewOrder, got NoneType"),
        (partial(pair, UNPRICED, PEPSI, at_least=1), "invalid PAIRS order"),
        *(
            (partial(make, *orders), "must be a NewOrder, got")
            for wrong in (None, "AAPL", 1)
            for make, *orders in (
                (one_cancels_other, wrong, LOSS),
                (one_cancels_other, PROFIT, wrong),
                (one_triggers_other, wrong, PROFIT),
                (one_triggers_other, ENTRY, PROFIT, wrong),
            )
        ),
    ],
)
def test_order_of_legs_or_complex_order_of_orders_that_do_not_fit_is_rejected(make: Any, problem: str) -> None:
    raised(InvalidRequestError, make, match=problem)


@for_each("count", [1, 2, 3])
def test_one_triggers_other_takes_one_to_three_orders(count: int) -> None:
    made = one_triggers_other(ENTRY, *[PROFIT] * count)
    unvalidated = attrs.evolve(PROFIT, advanced_instructions=None)
    assert (made.type, made.trigger_order, made.orders) == (ComplexOrderType.OTO, ENTRY, (unvalidated,) * count)
    assert problems_of(made, strict=True) == ()


@for_each(
    "make, domain",
    [
        (lambda: bracket(UNPRICED, profit=PROFIT, loss=LOSS), "trigger-order.price"),
        (lambda: bracket(ENTRY, profit=attrs.evolve(PROFIT, price=None), loss=LOSS), "orders[0].price"),
        (lambda: bracket(ENTRY, profit=PROFIT, loss=attrs.evolve(LOSS, stop_trigger=None)), "orders[1].stop-trigger"),
        (lambda: bracket(WORDY, profit=PROFIT, loss=LOSS), "trigger-order.legs[0].quantity"),
        *((lambda count=count: one_triggers_other(ENTRY, *[PROFIT] * count), "orders") for count in (0, 4)),
        (lambda: one_cancels_other(PROFIT, attrs.evolve(LOSS, legs=())), "orders[1].legs"),
        (lambda: one_triggers_other(ENTRY, attrs.evolve(PROFIT, price=Decimal(-1))), "orders[0].price"),
    ],
)
def test_component_that_breaks_a_rule_is_named(make: Any, domain: str) -> None:
    error = raised(InvalidRequestError, make)
    assert domain in [problem.domain for problem in error.errors]


def test_strict_validation_is_asked_for_by_closes_alone_and_in_an_oco_only() -> None:
    def strict(order: NewOrder | None) -> bool:
        return bool(
            order and order.advanced_instructions and order.advanced_instructions.strict_position_effect_validation
        )

    closing, opening = sell_to_close("AAPL", 100), buy_to_open("AAPL", 100)
    single = [
        limit(closing, price=1),
        market(closing),
        stop(closing, trigger=1),
        notional(sell_to_close("AAPL"), value=5),
        stop_limit(closing, trigger=1, price=1),
        limit(sell_to_close(CALL, 1), sell_to_close(PUT, 1), credit=1),
    ]
    assert [order for order in single if not strict(order)] == []
    others = [ENTRY, market(opening), FUTURE, SPREAD, limit(sell_to_close(CALL, 1), sell_to_open(PUT, 1), credit=1)]
    assert [order for order in others if strict(order)] == []
    exclusive = one_cancels_other(PROFIT, LOSS)
    assert [strict(order) for order in exclusive.orders] == [True, True]
    for made in (
        bracket(ENTRY, profit=PROFIT, loss=LOSS),
        one_triggers_other(LOSS, PROFIT),
        pair(PROFIT, limit(buy_to_open("KO", 1), price=1), at_least=1),
    ):
        assert [order for order in (made.trigger_order, *made.orders) if strict(order)] == [], made.type
