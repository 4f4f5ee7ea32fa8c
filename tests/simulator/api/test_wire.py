import json
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from brokerage_async.simulator.api.wire import (
    Dialect,
    RefusedError,
    Slice,
    bare,
    empty,
    html,
    item,
    items,
    money,
    timestamp,
)
from tests.tables import for_each


@for_each(
    "amount, text",
    [("1", "1.00"), ("1.5", "1.50"), ("1.005", "1.005"), ("1E+3", "1000.00"), ("0.000010", "0.00001"), ("-2", "-2.00")],
)
def test_money_has_two_places_and_no_exponent(amount: str, text: str) -> None:
    assert money(Decimal(amount)) == text


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**9), max_value=10**9, places=6))
def test_money_is_lossless(amount: Decimal) -> None:
    assert Decimal(money(amount)) == amount


def test_dialect_chooses_the_json_type() -> None:
    observed, documented = Dialect("observed"), Dialect("documented")
    assert (observed.identifier(7), documented.identifier(7), observed.identifier(None)) == (7, "7", None)
    assert (observed.quantity(Decimal("10.0")), observed.quantity(Decimal("0.5"))) == (10, 0.5)
    assert (documented.quantity(Decimal("10.0")), documented.quantity(Decimal("0.50"))) == ("10", "0.5")
    assert (observed.moment(None), observed.moment(1.5)) == (0, 1500)
    assert documented.moment(None) == "1970-01-01T00:00:00.000+00:00"
    assert timestamp(1_781_100_000.1234) == "2026-06-10T14:00:00.123+00:00"


def test_envelopes() -> None:
    assert json.loads(item({"a": 1}, "/x").body) == {"data": {"a": 1}, "context": "/x"}
    assert json.loads(item(b'{"a":1}', "/x", 201).body) == {"data": {"a": 1}, "context": "/x"}
    assert json.loads(items([b"1", b"2"], "/x").body) == {"data": {"items": [1, 2]}, "context": "/x"}
    assert bare({"a": 1}).body == b'{"a":1}'
    assert (empty().status, empty().body) == (204, b"")
    assert html(502, "Bad Gateway").headers["content-type"] == "text/html"


def test_refused_error_body() -> None:
    plain = RefusedError(404, "record_not_found", "gone").response("/x")
    assert json.loads(plain.body) == {"error": {"code": "record_not_found", "message": "gone"}}
    both = RefusedError(422, "failed", "no", errors=[{"code": "a"}], data={"b": 1}).response("/x")
    assert json.loads(both.body) == {
        "data": {"b": 1},
        "error": {"code": "failed", "message": "no", "errors": [{"code": "a"}]},
        "context": "/x",
    }


@given(st.integers(0, 500), st.integers(1, 60))
def test_slices_partition_the_rows(total: int, size: int) -> None:
    pages = -(-total // size)
    slices = [Slice(offset, size, total) for offset in range(pages + 1)]
    assert sum(one.count for one in slices) == total
    assert slices[-1].count == 0
    assert all(one.pagination()["total-pages"] == pages for one in slices)
