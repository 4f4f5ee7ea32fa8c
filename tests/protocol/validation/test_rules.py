"""Each form of declarative rule, tested alone over plain dictionaries."""

import datetime as dt
from decimal import Decimal
from typing import Any

from brokerage_async.operation import Rule
from brokerage_async.protocol.validation.rules import CompiledRule, add_months
from tests.tables import for_each


def findings(rule: Any, values: Any) -> Any:
    return list(CompiledRule.of(rule).broken(values))


def rule(**parts: Any) -> Any:
    return Rule(message="told to a person", **parts)


class TestConditions:
    NEEDS_PRICE = rule(when={"order-type": ("Limit", "Stop Limit")}, require=("price",))

    def test_a_rule_holds_for_any_of_the_values(self) -> None:
        for kind in ("Limit", "Stop Limit"):
            assert findings(self.NEEDS_PRICE, {"order-type": kind}) == [("required", "price")]
        for values in ({"order-type": "Limit", "price": Decimal(1)}, {"order-type": "Market"}, {}):
            assert findings(self.NEEDS_PRICE, values) == []
        whole = rule(when={"active": ("true",)}, require=("symbol",))  # booleans are compared as their text
        assert findings(whole, {"active": True}) == [("required", "symbol")]
        assert findings(whole, {"active": False}) == []

    def test_all_conditions_must_hold_and_unless_switches_a_rule_off(self) -> None:
        both = rule(when={"order-type": ("Market",), "time-in-force": ("GTC",)}, forbid=("time-in-force",))
        assert findings(both, {"order-type": "Market", "time-in-force": "GTC"}) == [("forbidden", "time-in-force")]
        assert findings(both, {"order-type": "Market", "time-in-force": "Day"}) == []
        only_gtd, day = rule(unless={"time-in-force": ("GTD",)}, forbid=("gtc-date",)), dt.date(2026, 1, 2)
        for values in ({"time-in-force": "Day", "gtc-date": day}, {"gtc-date": day}):
            assert findings(only_gtd, values) == [("forbidden", "gtc-date")]
        for values in ({"time-in-force": "GTD", "gtc-date": day}, {"time-in-force": "Day"}):
            assert findings(only_gtd, values) == []

    def test_conditions_inside_and_outside_of_an_array(self) -> None:
        mixed = rule(
            when={"order-type": ("Limit",), "legs[].kind": ("Option",)},
            unless={"source": ("desk",), "legs[].symbol": ("B",)},
            require=("price", "legs[].quantity"),
        )
        legs = [{"kind": "Option", "symbol": "A"}, {"kind": "Option", "symbol": "B"}, {"kind": "Stock", "symbol": "C"}]
        price_and = [("required", "price"), ("required", "legs[0].quantity")]
        assert findings(mixed, {"order-type": "Limit", "source": "desk", "legs": legs}) == price_and
        assert findings(mixed, {"order-type": "Limit", "source": "web", "legs": legs}) == [
            *price_and,
            ("required", "price"),
            ("required", "legs[1].quantity"),
        ]
        assert findings(mixed, {"order-type": "Stop", "legs": legs}) == []


class TestArrays:
    def test_a_demand_inside_an_array_concerns_every_item(self) -> None:
        quantities = rule(unless={"order-type": ("Notional Market",)}, require=("legs[].quantity",))
        legs = [{"quantity": Decimal(1)}, {}, {"quantity": None}]
        assert findings(quantities, {"order-type": "Limit", "legs": legs}) == [
            ("required", "legs[1].quantity"),
            ("required", "legs[2].quantity"),
        ]
        assert findings(quantities, {"order-type": "Notional Market", "legs": legs}) == []

    def test_a_condition_inside_an_array_concerns_its_own_item(self) -> None:
        futures = rule(
            when={"legs[].action": ("Buy", "Sell")},
            require_value={"legs[].instrument-type": ("Future", "Future Option")},
        )
        legs = [
            {"action": "Buy", "instrument-type": "Future"},
            {"action": "Buy", "instrument-type": "Equity"},
            {"action": "Buy to Open", "instrument-type": "Equity"},
            {"action": "Sell"},
        ]
        assert findings(futures, {"legs": legs}) == [("value_not_allowed", "legs[1].instrument-type")]

    @for_each("legs", [None, (), "text", 7, {"quantity": 1}, [None, 3, "x"]])
    def test_what_is_no_array_of_objects_breaks_only_presence(self, legs: Any) -> None:
        forbid = rule(forbid=("legs[].quantity",))
        distinct = rule(distinct="legs[].symbol")
        assert findings(forbid, {"legs": legs}) == []
        assert findings(distinct, {"legs": legs}) == []

    def test_distinct_names_every_repetition(self) -> None:
        symbols = [{"symbol": "A"}, {"symbol": "B"}, {"symbol": "A"}, {"symbol": ["A"]}, {"symbol": "A"}]
        assert findings(rule(distinct="legs[].symbol"), {"legs": symbols}) == [
            ("not_distinct", "legs[2].symbol"),
            ("not_distinct", "legs[4].symbol"),
        ]

    def test_max_items_counts_the_items_that_the_condition_names_or_all(self) -> None:
        at_most_one = rule(when={"legs[].instrument-type": ("Equity", "Future")}, max_items=("legs", 1))
        for other, found in (("Equity Option", []), ("Future", [("too_many_items", "legs")])):
            legs = [{"instrument-type": "Equity"}, {"instrument-type": other}]
            assert findings(at_most_one, {"legs": legs}) == found
        assert findings(rule(max_items=("legs", 2)), {"legs": [{}, {}]}) == []
        assert findings(rule(max_items=("legs", 2)), {"legs": [{}, {}, {}]}) == [("too_many_items", "legs")]
        switched_off = rule(when={"order-type": ("Limit",)}, max_items=("legs", 2))
        assert findings(switched_off, {"legs": [{}, {}, {}]}) == []


AT_LEAST_TWO = rule(when={"type": ("OCO",)}, min_items=("orders", 2))
THREE = rule(max_total=(("equity", "future"), 3))
ANY = rule(require_any=("time-back", "start-time"))
EXCLUSIVE = rule(exclusive=("type", "types[]"))


@for_each(
    "demand, values, found",
    [
        (AT_LEAST_TWO, {"type": "OCO", "orders": [{}]}, [("too_few_items", "orders")]),
        (AT_LEAST_TWO, {"type": "OCO", "orders": [{}, {}]}, []),
        (AT_LEAST_TWO, {"type": "OTO", "orders": [{}]}, []),
        (AT_LEAST_TWO, {"type": "OCO"}, []),
        (THREE, {"equity": ["A", "B"], "future": ["C"]}, []),
        (THREE, {"equity": ["A", "B"], "future": ["C", "D"]}, [("too_many_items", "future")]),
        (THREE, {"equity": ["A", "B", "C", "D"]}, [("too_many_items", "equity")]),
        (THREE, {}, []),
        (ANY, {}, [("required", "time-back")]),
        (ANY, {"start-time": "x"}, []),
        (EXCLUSIVE, {"type": "Trade"}, []),
        (EXCLUSIVE, {"types[]": ["Trade"]}, []),
        (EXCLUSIVE, {"type": "Trade", "types[]": ["Trade"]}, [("exclusive", "types[]")]),
    ],
)
def test_demands_on_several_fields(demand: Any, values: Any, found: Any) -> None:
    assert findings(demand, values) == found


NINE_MONTHS = rule(span=("from-date", "to-date", 9))


@for_each(
    "start, last",
    [
        ((2026, 1, 1), (2026, 10, 1)),
        ((2026, 1, 31), (2026, 10, 31)),
        ((2026, 5, 31), (2027, 2, 28)),
        ((2027, 5, 31), (2028, 2, 29)),
        ((2027, 5, 29), (2028, 2, 29)),
        ((2026, 3, 31), (2026, 12, 31)),
        ((2026, 4, 30), (2027, 1, 30)),
        ((2025, 12, 31), (2026, 9, 30)),
        ((2024, 2, 29), (2024, 11, 29)),
    ],
)
def test_a_span_ends_on_the_same_day_of_the_month_or_its_last(start: Any, last: Any) -> None:
    start, last = dt.date(*start), dt.date(*last)
    assert findings(NINE_MONTHS, {"from-date": start, "to-date": last}) == []
    after = last + dt.timedelta(days=1)
    assert findings(NINE_MONTHS, {"from-date": start, "to-date": after}) == [("span_too_long", "to-date")]


def test_a_span_of_date_times_counts_the_time_of_day() -> None:
    start = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)
    last = dt.datetime(2026, 10, 1, 12, tzinfo=dt.UTC)
    assert findings(NINE_MONTHS, {"from-date": start, "to-date": last}) == []
    after = last + dt.timedelta(microseconds=1)
    assert findings(NINE_MONTHS, {"from-date": start, "to-date": after}) == [("span_too_long", "to-date")]


@for_each("start", [None, "2020-01-01", 5, dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, tzinfo=dt.UTC)])  # noqa: DTZ001
def test_span_without_comparable_ends_breaks_nothing(start: Any) -> None:
    assert findings(NINE_MONTHS, {"from-date": start, "to-date": dt.date(2026, 1, 1)}) == []
    assert findings(NINE_MONTHS, {"from-date": dt.date(2020, 1, 1), "to-date": start}) == []
    assert findings(NINE_MONTHS, {"from-date": dt.date(9999, 6, 1), "to-date": dt.date.max}) == []


@for_each(
    "day, months, expected",
    [
        (dt.date(2026, 1, 15), 9, dt.date(2026, 10, 15)),
        (dt.date(2026, 5, 31), 9, dt.date(2027, 2, 28)),
        (dt.date(2027, 5, 31), 9, dt.date(2028, 2, 29)),
        (dt.date(2026, 3, 1), 10, dt.date(2027, 1, 1)),
        (dt.date(2026, 12, 31), 12, dt.date(2027, 12, 31)),
        (dt.date(9999, 6, 1), 9, dt.date.max),
    ],
)
def test_add_months_stays_within_the_calendar(day: Any, months: int, expected: Any) -> None:
    assert add_months(day, months) == expected


POSITIVE = rule(positive=("value", "legs[].quantity"))
NOT_NEGATIVE = rule(not_negative=("price",))


def test_positive_takes_numbers_above_zero_only() -> None:
    for number in (Decimal(0), Decimal("-0"), Decimal(-1), Decimal("-1e-30"), -5, 0):
        legs = [{"quantity": Decimal(1)}, {"quantity": number}]
        found = [("out_of_range", "value"), ("out_of_range", "legs[1].quantity")]
        assert findings(POSITIVE, {"value": number, "legs": legs}) == found
    for number in (Decimal("0.01"), Decimal("1E+999999"), 7, None):
        assert findings(POSITIVE, {"value": number, "legs": [{"quantity": number}, {}]}) == []


def test_not_negative_takes_numbers_without_a_sign_only() -> None:
    for number in (Decimal("-0.01"), Decimal("-0"), -1):
        assert findings(NOT_NEGATIVE, {"price": number}) == [("out_of_range", "price")]
    for number in (Decimal(0), Decimal("0.00"), 0, 2, None):
        assert findings(NOT_NEGATIVE, {"price": number}) == []


@for_each("other", [Decimal("NaN"), Decimal("-sNaN"), Decimal("-Infinity"), True, -1.5, "-1", b"-1", [], {}])
def test_signs_of_values_of_a_wrong_type_break_no_rule(other: Any) -> None:
    assert findings(POSITIVE, {"value": other, "legs": [{"quantity": other}]}) == []
    assert findings(NOT_NEGATIVE, {"price": other}) == []
