"""Each form of declarative rule over plain dictionaries, and valid and invalid single values of a request."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from brokerage_async.operation import BodyField, Parameter, Rule
from brokerage_async.protocol.validation.requests import problem_of, wrong_type
from brokerage_async.protocol.validation.rules import CompiledRule, add_months
from tests.tables import for_each


def findings(rule: Any, values: Any) -> Any:
    return list(CompiledRule.of(rule).broken(values))


def rule(**parts: Any) -> Any:
    return Rule(message="told to a person", **parts)


NEEDS_PRICE = rule(when={"order-type": ("Limit", "Stop Limit")}, require=("price",))
WHOLE = rule(when={"active": ("true",)}, require=("symbol",))  # booleans are compared as their text
BOTH = rule(when={"order-type": ("Market",), "time-in-force": ("GTC",)}, forbid=("time-in-force",))
ONLY_GTD, DAY = rule(unless={"time-in-force": ("GTD",)}, forbid=("gtc-date",)), date(2026, 1, 2)
MIXED = rule(
    when={"order-type": ("Limit",), "legs[].kind": ("Option",)},
    unless={"source": ("desk",), "legs[].symbol": ("B",)},
    require=("price", "legs[].quantity"),
)
OPTIONS = [{"kind": "Option", "symbol": "A"}, {"kind": "Option", "symbol": "B"}, {"kind": "Stock", "symbol": "C"}]
FIRST = [("required", "price"), ("required", "legs[0].quantity")]
QUANTITIES = rule(unless={"order-type": ("Notional Market",)}, require=("legs[].quantity",))
FUTURES = rule(
    when={"legs[].action": ("Buy", "Sell")}, require_value={"legs[].instrument-type": ("Future", "Future Option")}
)
DISTINCT = rule(distinct="legs[].symbol")
ONE_SHARE = rule(when={"legs[].instrument-type": ("Equity", "Future")}, max_items=("legs", 1))
SHARE = {"instrument-type": "Equity"}
TWO_LEGS = rule(max_items=("legs", 2))
AT_LEAST_TWO = rule(when={"type": ("OCO",)}, min_items=("orders", 2))
THREE = rule(max_total=(("equity", "future"), 3))
ANY = rule(require_any=("time-back", "start-time"))
EXCLUSIVE = rule(exclusive=("type", "types[]"))


@for_each(
    "demand, values, found",
    [
        *((NEEDS_PRICE, {"order-type": kind}, [("required", "price")]) for kind in ("Limit", "Stop Limit")),
        (NEEDS_PRICE, {"order-type": "Limit", "price": Decimal(1)}, []),
        *((NEEDS_PRICE, values, []) for values in ({"order-type": "Market"}, {})),
        (WHOLE, {"active": True}, [("required", "symbol")]),
        (WHOLE, {"active": False}, []),
        # all conditions must hold, and unless switches a rule off
        (BOTH, {"order-type": "Market", "time-in-force": "GTC"}, [("forbidden", "time-in-force")]),
        (BOTH, {"order-type": "Market", "time-in-force": "Day"}, []),
        (ONLY_GTD, {"time-in-force": "Day", "gtc-date": DAY}, [("forbidden", "gtc-date")]),
        (ONLY_GTD, {"gtc-date": DAY}, [("forbidden", "gtc-date")]),
        (ONLY_GTD, {"time-in-force": "GTD", "gtc-date": DAY}, []),
        (ONLY_GTD, {"time-in-force": "Day"}, []),
        # conditions inside and outside of an array
        (MIXED, {"order-type": "Limit", "source": "desk", "legs": OPTIONS}, FIRST),
        (MIXED, {"order-type": "Limit", "source": "web", "legs": OPTIONS},
         [*FIRST, ("required", "price"), ("required", "legs[1].quantity")]),
        (MIXED, {"order-type": "Stop", "legs": OPTIONS}, []),
        (QUANTITIES, {"order-type": "Limit", "legs": [{"quantity": Decimal(1)}, {}, {"quantity": None}]},
         [("required", "legs[1].quantity"), ("required", "legs[2].quantity")]),
        (QUANTITIES, {"order-type": "Notional Market", "legs": [{}]}, []),
        (FUTURES, {"legs": [{"action": "Buy", "instrument-type": "Future"}, {"action": "Buy", **SHARE},
                            {"action": "Buy to Open", **SHARE}, {"action": "Sell"}]},
         [("value_not_allowed", "legs[1].instrument-type")]),
        *((demand, {"legs": legs}, []) for demand in (rule(forbid=("legs[].quantity",)), DISTINCT)
          for legs in (None, (), "text", 7, {"quantity": 1}, [None, 3, "x"])),
        (DISTINCT, {"legs": [{"symbol": each} for each in ("A", "B", "A", ["A"], "A")]},
         [("not_distinct", "legs[2].symbol"), ("not_distinct", "legs[4].symbol")]),
        # items that the condition names are counted, or all
        (ONE_SHARE, {"legs": [SHARE, {"instrument-type": "Equity Option"}]}, []),
        (ONE_SHARE, {"legs": [SHARE, {"instrument-type": "Future"}]}, [("too_many_items", "legs")]),
        (TWO_LEGS, {"legs": [{}, {}]}, []),
        (TWO_LEGS, {"legs": [{}, {}, {}]}, [("too_many_items", "legs")]),
        (rule(when={"order-type": ("Limit",)}, max_items=("legs", 2)), {"legs": [{}, {}, {}]}, []),
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
)  # fmt: skip
def test_rule_finds_what_breaks_it(demand: Any, values: Any, found: Any) -> None:
    assert findings(demand, values) == found


NINE_MONTHS = rule(span=("from-date", "to-date", 9))


@for_each(
    "start, last",
    [
        (date(2026, 1, 1), date(2026, 10, 1)), (date(2026, 1, 31), date(2026, 10, 31)),
        (date(2026, 5, 31), date(2027, 2, 28)), (date(2027, 5, 31), date(2028, 2, 29)),
        (date(2027, 5, 29), date(2028, 2, 29)), (date(2026, 3, 31), date(2026, 12, 31)),
        (date(2026, 4, 30), date(2027, 1, 30)), (date(2025, 12, 31), date(2026, 9, 30)),
        (date(2024, 2, 29), date(2024, 11, 29)),
        (datetime(2026, 1, 1, 12, tzinfo=UTC), datetime(2026, 10, 1, 12, tzinfo=UTC)),  # and the time of day counts
    ],
)  # fmt: skip
def test_a_span_ends_on_the_same_day_of_the_month_or_its_last(start: date, last: date) -> None:
    assert findings(NINE_MONTHS, {"from-date": start, "to-date": last}) == []
    after = last + (timedelta(microseconds=1) if isinstance(last, datetime) else timedelta(days=1))
    assert findings(NINE_MONTHS, {"from-date": start, "to-date": after}) == [("span_too_long", "to-date")]


@for_each("start", [None, "2020-01-01", 5, datetime(2020, 1, 1), datetime(2020, 1, 1, tzinfo=UTC)])  # noqa: DTZ001
def test_span_without_comparable_ends_breaks_nothing(start: Any) -> None:
    assert findings(NINE_MONTHS, {"from-date": start, "to-date": date(2026, 1, 1)}) == []
    assert findings(NINE_MONTHS, {"from-date": date(2020, 1, 1), "to-date": start}) == []
    assert findings(NINE_MONTHS, {"from-date": date(9999, 6, 1), "to-date": date.max}) == []


def test_add_months_stays_within_the_calendar() -> None:
    assert add_months(date(2026, 3, 1), 10) == date(2027, 1, 1)
    assert add_months(date(2026, 12, 31), 12) == date(2027, 12, 31)
    assert add_months(date(9999, 6, 1), 9) == date.max


BOTH_PLACES = ["value", "legs[1].quantity"]
NO_NUMBERS = [Decimal("NaN"), Decimal("-sNaN"), Decimal("-Infinity"), True, -1.5, "-1", b"-1", [], {}, None]


@for_each(
    "sign, places, numbers",
    [
        ("positive", BOTH_PLACES, [Decimal(0), Decimal("-0"), Decimal(-1), Decimal("-1e-30"), -5, 0]),
        ("positive", [], [Decimal("0.01"), Decimal("1E+999999"), 7, *NO_NUMBERS]),
        ("not_negative", BOTH_PLACES, [Decimal("-0.01"), Decimal("-0"), -1]),
        ("not_negative", [], [Decimal(0), Decimal("0.00"), 0, 2, *NO_NUMBERS]),
    ],
)
def test_sign_of_a_number_is_checked_and_no_other_value(sign: str, places: list[str], numbers: list[Any]) -> None:
    demand = rule(**{sign: ("value", "legs[].quantity")})
    for number in numbers:
        values = {"value": number, "legs": [{"quantity": Decimal(1)}, {"quantity": number}, {}]}
        assert findings(demand, values) == [("out_of_range", place) for place in places], number


MOMENT = datetime(2026, 1, 2, tzinfo=UTC)

SOUND: list[tuple[str, Any]] = [
    *(("string", value) for value in ("", "BRK/B", "\U0001f600")),
    *(("integer", value) for value in (0, -(2**63) + 1)),
    *(("identifier", value) for value in ("me", 2**127)),
    ("boolean", False),
    ("date", DAY),
    ("date-time", MOMENT),
    *(("decimal", value) for value in (5, 7)),
    *(("decimal", Decimal(digits)) for digits in ("-0", "-0.00", "0", "1E+3", "-1.5", "1e-20", "1E+64")),
    ("object", {}),
]
UNSOUND: list[tuple[str, Any, str]] = [
    *(("string", value, "wrong_type") for value in (5, b"Trade")),
    ("string", "\ud800", "not_text"),
    *(("integer", value, "wrong_type") for value in (True, 1.0, "1")),
    ("integer", 2**63, "out_of_range"),
    *(("identifier", value, "wrong_type") for value in (True, 1.5)),
    ("identifier", "\ud800", "not_text"),
    *(("identifier", value, "out_of_range") for value in (2**128, 10**5000)),
    *(("boolean", value, "wrong_type") for value in (1, "true")),
    *(("date", value, "wrong_type") for value in (MOMENT, "2026-01-02")),
    ("date-time", DAY, "wrong_type"),
    ("date-time", datetime(2026, 1, 2), "naive_date_time"),  # noqa: DTZ001
    *(("decimal", value, "wrong_type") for value in (0.1, "0.1", True)),
    *(("decimal", Decimal(digits), "not_finite") for digits in ("NaN", "sNaN", "Infinity", "-Infinity")),
    *(("decimal", Decimal(digits), "out_of_range") for digits in ("1E+65", "1E-65", "1E+999999", "1E-999999")),
    ("object", [], "wrong_type"),
]


def field(kind: str, **more: Any) -> BodyField:
    return BodyField(name="it", wire="it", kind=kind, **more)


def test_problem_of_sound_and_unsound_values() -> None:
    assert [(kind, value) for kind, value in SOUND if problem_of(field(kind), value) is not None] == []
    assert problem_of(field("integer", minimum=2), True) == wrong_type("an int", True)
    for kind, value, code in UNSOUND:
        problem = problem_of(field(kind), value)
        assert problem is not None, (kind, value)
        assert problem[0] == code, (kind, value)
        assert code != "wrong_type" or problem[1].endswith(f", got {type(value).__name__}")


@for_each(
    "value, message",
    [(-1, "must be at least 0, got -1"), (0, None), (200, None), (201, "must be at most 200, got 201")],
)
def test_bounds_are_included(value: int, message: str | None) -> None:
    parameter = Parameter(name="it", wire="it", location="query", kind="integer", minimum=0, maximum=200)
    assert problem_of(parameter, value) == (None if message is None else ("out_of_range", message))
    assert problem_of(field("integer", minimum=0, maximum=200), value) == problem_of(parameter, value)
