"""Single values: raw JSON beside a model, decimals, open enumerations, and the base of the wire structs."""

import copy
import pickle
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal, localcontext
from types import SimpleNamespace
from typing import Any

import attrs
import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from brokerage_async import _decimals as decimals
from brokerage_async import _values as values
from brokerage_async import _wire, models
from brokerage_async._generated.converters import WIRES
from brokerage_async._generated.operations import ORDERS_GET
from brokerage_async._values import EMPTY, AnyCaseStrEnum, Extra, OpenStrEnum
from brokerage_async._wire import DecimalText, Moment, Shared, Wire, with_extra
from brokerage_async.models import OrderStatus
from brokerage_async.operation import BoundCall
from brokerage_async.protocol.response import Response
from tests.tables import for_each


def test_extra_is_an_immutable_mapping_that_travels() -> None:
    extra = Extra({"a": [1, {"b": Decimal("1.10")}]})
    for change in ("__setitem__", "__delitem__", "__ior__", "clear", "pop", "popitem", "setdefault", "update"):
        with pytest.raises(TypeError, match="immutable"):
            getattr(extra, change)({"a": 2})
    assert extra == {"a": [1, {"b": Decimal("1.10")}]}
    assert isinstance(extra, Mapping)
    assert pickle.loads(pickle.dumps(extra)) == extra == copy.deepcopy(extra)
    assert type(copy.deepcopy(extra)) is Extra
    assert copy.deepcopy(extra)["a"] is not extra["a"]
    assert copy.copy(extra) is extra
    assert extra.copy() is extra
    assert (extra | {"c": 2}) == {**extra, "c": 2}
    assert hash(extra) == hash(EMPTY)
    assert repr(Extra(a=1)) == "{'a': 1}"
    assert pickle.loads(pickle.dumps(EMPTY)) is EMPTY
    assert copy.deepcopy(EMPTY) is EMPTY
    assert values.raw_object({}) is EMPTY
    assert values.raw_object(EMPTY) is EMPTY


@for_each("swap", [True, False])
def test_maker_makes_the_same_frozen_value_as_the_constructor(swap: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "CLASS_SWAP", swap)
    made = values.maker(Response)(status=200, headers={"date": "now"}, body=b"body")
    assert made == Response(status=200, headers={"date": "now"}, body=b"body")
    assert type(made) is Response
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        made.status = 500  # type: ignore[misc]  # that is the point
    monkeypatch.setattr("brokerage_async.operation._make_call", values.maker(BoundCall))
    call = ORDERS_GET.bind(account_number="5WT1", id="7")
    assert call == BoundCall(ORDERS_GET, path={"account_number": "5WT1", "id": "7"})


@given(st.integers(min_value=-(2**53), max_value=2**53))
def test_epoch_milliseconds(milliseconds: int) -> None:
    try:
        moment = values.read_epoch(milliseconds)
    except ValueError:
        assert not -62135596800000 <= milliseconds < 253402300800000
    else:
        assert moment - datetime(1970, 1, 1, tzinfo=UTC) == timedelta(milliseconds=milliseconds)


def test_minus_one_zero_and_nan_are_missing_values() -> None:
    halted = {"halt-start-time": -1, "halt-end-time": -1}
    wire = WIRES[models.MarketDataSnapshot]
    first, second = (msgspec.convert(halted, wire).build() for _ in range(2))
    assert first.extra == halted
    assert first.extra is second.extra
    other = msgspec.convert({"halt-end-time": -1}, wire).build()
    assert other.extra == {"halt-end-time": -1}
    builder = values.mutable_builder(models.MarketDataSnapshot)()
    for number in range(3):
        builder.extra = Extra({"new": number})
        assert values.epoch_or_keep(-1, builder, "halt-start-time") is None
        assert builder.extra == {"new": number, "halt-start-time": -1}
    moment = datetime(2026, 1, 2, tzinfo=UTC)
    assert values.epoch_or_none(0) is None
    assert values.epoch_or_none(int(moment.timestamp() * 1000)) == moment
    assert values.epoch_or_none(moment) is moment
    assert values.day_of_epoch(0) is None
    assert values.day_of_epoch(20455) == values.day_of_epoch("2026-01-02") == moment.date()
    with pytest.raises(ValueError, match="not a day"):
        values.day_of_epoch(10**12)
    target = SimpleNamespace(extra=EMPTY)
    assert values.none_or_keep(Decimal("NaN"), target, "bidPrice") is None
    assert target.extra == {}
    assert values.none_or_keep(Decimal("-Infinity"), target, "bidPrice") is None
    assert target.extra == {"bidPrice": "-Infinity"}
    assert values.read_moment("2026-01-02T03:04:05") == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert values.read_moment("2026-01-02T03:04:05-04:00").utcoffset() == timedelta(hours=-4)
    assert values.read_integer("-12") == -12


finite_decimals = st.decimals(allow_nan=False, allow_infinity=False)


def test_decimals_keep_every_digit_in_any_context() -> None:
    assert str(decimals.decimal_number(Decimal("1.2300"))) == "1.2300"
    assert (str(decimals.decimal_number(Decimal("1E+3"))), decimals.decimal_number(7)) == ("1000", Decimal(7))
    wrong: Any
    for wrong, kind in ((Decimal("NaN"), ValueError), (0.1, TypeError), ("1", TypeError)):
        with pytest.raises(kind):
            decimals.decimal_number(wrong)
    # The cache is bounded in bytes: 8,192 decimals of 64 characters.
    long, big = "1" * (decimals.MAX_CACHED_LENGTH + 1), 1 << 65
    assert decimals.read_decimal("1.25") is decimals.read_decimal("1.25")
    for raw in (long, big):
        assert decimals.read_decimal(raw) == decimals.read_decimal(raw) == int(raw)
        assert decimals.read_decimal(raw) is not decimals.read_decimal(raw)
    cache = decimals._Decimals()
    for number in range(2 * decimals.MAX_DECIMALS):
        cache[str(number)]
    assert 0 < len(cache) <= decimals.MAX_DECIMALS
    digits = "1234567.12345678901"
    with localcontext(prec=3, traps=[]):
        assert str(decimals._Decimals()[digits]) == digits
        for wrong in ("1-2", "1e999999999999999999999", "1e-999999999999999999999"):
            with pytest.raises(ValueError, match="not a decimal"):
                decimals.read_decimal(wrong)


@given(finite_decimals)
def test_decimals_are_read_as_they_were_written(value: Decimal) -> None:
    read = decimals.read_decimal(str(value))
    assert (read, str(read)) == (value, str(value))


class Text(str):
    """A string of another class."""


def test_numbers_and_strings_keep_their_digits() -> None:
    numbers = [(7, "7"), ("1.50", "1.50"), (0.1, "0.1"), (1e22, "1E+22"), (Decimal("2.0"), "2.0")]
    assert [str(decimals.read_number(raw)) for raw, _ in numbers] == [digits for _, digits in numbers]
    assert [str(decimals.read_decimal(raw)) for raw in (7, -3, Text("1.50"))] == ["7", "-3", "1.50"]


WORDS = ("", " ", "abc", "NaN", "sNaN", "Infinity", "-Inf", "1_000", " 1", "1 ", "1,5", "0x1", "\u0661", "--1")


@for_each(
    "read, message, rejected",
    [
        (decimals.read_number, "not a", [True, False, [], {}, [1], {"a": 1}, "NaN", "", float("nan"), Decimal("Inf")]),
        (decimals.read_decimal, "not a", [kind(word) for word in WORDS for kind in (str, Text)]),
        (values.read_integer, "not an integer", ["", "-", "1_0", " 1", "1.0", "\u0661"]),
    ],
)
def test_only_finite_numbers_are_read(read: Any, message: str, rejected: list[Any]) -> None:
    decimals.read_decimal(1)  # True is equal to it, and must not be found in its place
    for raw in rejected:
        with pytest.raises(ValueError, match=message):
            read(raw)


@given(finite_decimals.filter(lambda value: abs(value.adjusted()) <= 64 and abs(value.as_tuple().exponent) <= 64))
def test_decimals_are_sent_without_exponent(value: Decimal) -> None:
    text = decimals.decimal_text(value)
    assert Decimal(text) == value
    assert "E" not in text


def test_decimals_are_sent_with_the_digits_they_have_if_they_are_finite() -> None:
    assert (decimals.decimal_text(Decimal("1.10")), decimals.decimal_text(Decimal("1E+2"))) == ("1.10", "100")
    assert (decimals.decimal_text(Decimal("1E-8")), decimals.decimal_text(5)) == ("0.00000001", "5")
    assert len(decimals.decimal_text(Decimal("1E+999999"))) < 20
    for text in ("NaN", "Infinity", "-Infinity", "sNaN"):
        with pytest.raises(ValueError, match="decimal must be finite, got"):
            decimals.decimal_text(Decimal(text))
    wrong: Any
    for wrong in (1.1, "1.1", True, None):
        with pytest.raises(TypeError, match="expected a Decimal"):
            decimals.decimal_text(wrong)


class PlantWire(Wire):
    height: DecimalText | None = None
    watered_at: Moment | None = None

    @staticmethod
    def build_all(wires: Iterable[Any]) -> list[Any]:
        return [wire.height for wire in wires]

    @staticmethod
    def of(model: Any) -> Any:
        return PlantWire(height=model)


def test_wire_rejects_unknown_keys_and_writes_extra_over_fields() -> None:
    assert msgspec.json.decode(b'{"height": "1.25"}', type=PlantWire).build() == "1.25"
    for body in (b'{"width": "1.25"}', b'{"watered_at": "2026-06-12T14:30:00"}', b'{"height": 1.25}'):
        with pytest.raises(msgspec.ValidationError):
            msgspec.json.decode(body, type=PlantWire)
    wire = PlantWire(height="1.25")
    assert with_extra(wire, {"height": "NaN", "pinned": True}) == {"height": "NaN", "pinned": True}
    assert with_extra(wire, {"weight": Decimal("2.5")}) == {"height": "1.25", "weight": Decimal("2.5")}


class SeedWire(Wire, frozen=True):
    """Wire form of a seed, whose models are shared."""

    name: str | int | None = None

    @staticmethod
    def build_new(wires: Iterable[Any]) -> list[Any]:
        return [[wire.name] for wire in wires]

    @staticmethod
    def build_all(wires: Iterable[Any]) -> tuple[Any, ...]:
        return SEEDS[tuple(wires)]


SEEDS: Shared[Any] = Shared(SeedWire.build_new)


def test_equal_lists_of_shared_models_become_one_tuple_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = (SeedWire(name="a"), SeedWire(name="b")), (SeedWire(name="a"), SeedWire(name="b"))
    assert SEEDS[one] is SEEDS[other]
    assert SEEDS[one] == (["a"], ["b"])
    assert one[0].build() is other[0].build()
    assert SeedWire.build_new(one)[0] is not SeedWire.build_new(one)[0]
    assert SeedWire(name=1).build() != SeedWire(name="1").build()
    for long in ((SeedWire(name="a" * 65),), (SeedWire(name="a"),) * 65):
        assert SEEDS[long] == SEEDS[long]
        assert SEEDS[long] is not SEEDS[long]
    monkeypatch.setattr(_wire, "MAX_SHARED", 2)
    built = [SeedWire(name=f"full {number}").build() for number in range(3)]
    assert SeedWire(name="full 2").build() is built[2]
    assert SeedWire(name="full 0").build() is not built[0]


def test_unlisted_member_travels_and_is_cached_up_to_a_length() -> None:
    assert OrderStatus("Live") is OrderStatus.LIVE
    status = OrderStatus("On Hold")
    assert pickle.loads(pickle.dumps(status)) == status == copy.deepcopy(status)
    assert type(pickle.loads(pickle.dumps(status))) is OrderStatus
    assert status not in list(OrderStatus)
    assert status.name == "On Hold"
    assert "On Hold" in repr(status)
    assert (msgspec.json.decode(b'"On Hold"', type=OrderStatus), msgspec.json.encode(status)) == (status, b'"On Hold"')
    match status:
        case OrderStatus.LIVE:
            pytest.fail("it is not live")
        case "On Hold":
            pass
    for value in (1, None, b"Live", ["Live"]):
        with pytest.raises(ValueError, match="is not a valid OrderStatus"):
            OrderStatus(value)

    class Colour(OpenStrEnum):
        RED = "red"

    assert type(Colour("blue")) is Colour
    assert type(OrderStatus("blue")) is OrderStatus
    # The cache is bounded in bytes: 1,024 members of 64 characters.
    short, long = "On Hold", "x" * (decimals.MAX_CACHED_LENGTH + 1)
    assert OrderStatus(short) is OrderStatus(short)
    assert OrderStatus(long) == OrderStatus(long)
    assert OrderStatus(long) is not OrderStatus(long)
    for number in range(2_000):
        OrderStatus(f"unlisted {number}")
    assert values.member_of.cache_info().currsize == 1_024


@given(st.text())
@example("Live")
@example("On Hold")
def test_any_string_becomes_a_member(text: str) -> None:
    status = OrderStatus(text)
    assert isinstance(status, OrderStatus)
    assert status.is_known is (text in {each.value for each in OrderStatus})
    assert (str(status), f"{status}", status.value) == (text, text, text)
    assert OrderStatus(text) == status == text
    assert {status: 1}[text] == 1


class State(AnyCaseStrEnum):
    OPEN = "Open"
    PRE_MARKET = "Pre-Market"


def test_any_case_enumeration_takes_a_known_value_in_any_letter_case_and_keeps_others_as_sent() -> None:
    for text in ("Pre-Market", "Pre-market", "PRE-MARKET", "pre-market"):
        assert State(text) is State.PRE_MARKET
        assert msgspec.json.decode(msgspec.json.encode(text), type=State) is State.PRE_MARKET
    for text in ("Post-market", "Pre Market", "", "o" * 1000):
        assert State(text) == text
        assert not State(text).is_known
