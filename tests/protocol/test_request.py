"""Requests as they go out: paths, queries, addresses, headers."""

import datetime as dt
import enum
import json
import pickle
from decimal import Decimal
from typing import Any

import attrs
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from brokerage_async import models
from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.errors import BrokerageError, ConfigurationError, InvalidRequestError, RequestNotSentError
from brokerage_async.operation import BoundCall, Effect, Rule, Shape
from brokerage_async.protocol.request import (
    Request,
    build,
    encode_query,
    is_cacheable,
    validate_accept_version,
    validate_user_agent,
)
from brokerage_async.protocol.response import Response
from tests.protocol.values import ANYTHING, operation, parameter, problems_in, raised
from tests.tables import for_each

BASE = "https://api.example.com"


class Side(enum.StrEnum):
    NEWEST = "Desc"
    OLDEST = "Asc"


class Mixed(str, enum.Enum):  # noqa: UP042
    ONE = "one 1"


class Plain(enum.Enum):
    TWO = "two"
    THREE = 3


EAST = dt.timezone(dt.timedelta(hours=-5))


SYMBOL = parameter("symbol", location="path", required=True)
DIVIDENDS = operation("metrics.dividends", "/metrics/dividends/{symbol}", parameters=(SYMBOL,))
START = parameter("start-at", "date-time")
SEARCH = operation(
    "orders.search",
    "/customers/{customer_id}/orders",
    Shape.PAGE,
    parameters=(
        parameter("customer_id", "identifier", "path", required=True),
        parameter("account-numbers[]", array=True, required=True),
        parameter("page-offset", "integer"), START, parameter("start-date", "date"),
        parameter("sort", choices=Side),
        parameter("status[]", array=True),
        parameter("active", "boolean"),
        parameter("type"),
        parameter("types[]", array=True),
    ),
    rules=(Rule(exclusive=("type", "types[]"), message="give type or types[], not both"),),
)  # fmt: skip
CANCEL_ALL = operation("orders.drop", "/orders", Shape.NONE, "DELETE", effect=Effect.MUTATE)


def target(called: Any = DIVIDENDS, **arguments: Any) -> Any:
    request = build(BoundCall(called, **arguments), base_url=BASE, headers={})
    assert request.url.startswith(BASE)
    return request.url.removeprefix(BASE)


class TestPaths:
    @for_each(
        "value, segment",
        [
            ("./ESZ6 EW3U6  260918P9100", ".%2FESZ6%20EW3U6%20%20260918P9100"), ("...", "..."), ("%2e", "%252e"),
            ("a?b#c;d:e@f&g=h+i,j$k!l'(m)*", "a%3Fb%23c%3Bd%3Ae%40f%26g%3Dh%2Bi%2Cj%24k%21l%27%28m%29%2A"),
            ("日経😀", "%E6%97%A5%E7%B5%8C%F0%9F%98%80"), (Side.OLDEST, "Asc"), ("line\n\r\0", "line%0A%0D%00"),
        ],
    )  # fmt: skip
    def test_every_value_is_one_encoded_segment(self, value: str, segment: str) -> None:
        assert target(path={"symbol": value}) == f"/metrics/dividends/{segment}"

    def test_what_would_address_something_else_is_refused(self) -> None:
        for value in ("", ".", "..", None):
            assert problems_in(target, path={"symbol": value}) == [("unsafe_segment", "symbol")]
            assert raised(InvalidRequestError, target, path={"symbol": value}).operation == "metrics.dividends"

    def test_only_short_plain_strings_are_remembered(self) -> None:
        assert is_cacheable({"symbol": "A" * 256, "account": "5WT00001"})
        for value in ("A" * 257, Mixed.ONE, 1, True, None, ["AAPL"]):
            assert not is_cacheable({"account": "5WT00001", "symbol": value})

    def test_path_query_and_body_problems_are_listed_together(self) -> None:
        query = {"page-offset": "3", "nonsense": 1}
        found = problems_in(target, SEARCH, path={"customer_id": ".."}, query=query, body=b"{}")
        assert [place for _, place in found] == ["customer_id", "account-numbers[]", "page-offset", "nonsense", None]


class TestQueries:
    def test_none_is_left_out_and_nothing_leaves_no_question_mark(self) -> None:
        plain = attrs.evolve(SEARCH, parameters=[attrs.evolve(p, required=False) for p in SEARCH.parameters])
        for arguments in ({"query": {"page-offset": None}}, {"query": {}}, {}):
            assert target(plain, path={"customer_id": 7}, **arguments) == "/customers/7/orders"
        written = target(plain, path={"customer_id": 7}, query={"types[]": ["A"], "page-offset": 0})
        assert written == "/customers/7/orders?page-offset=0&types[]=A", "in the order of the parameters"

    @for_each("value", [3.5, object(), b"x", {"a": 1}])
    def test_what_has_no_form_is_refused(self, value: Any) -> None:
        for one in (parameter("type"), parameter("types[]", array=True)):
            raised(InvalidRequestError, encode_query, (one,), {one.wire: value})

    @for_each(
        "one, value, written",
        [
            (START, dt.datetime(2026, 3, 1, 9, 30, tzinfo=dt.UTC), "2026-03-01T09%3A30%3A00Z"),
            (START, dt.datetime(2026, 3, 1, 9, 30, 0, 250000, tzinfo=EAST),
             "2026-03-01T09%3A30%3A00.250000-05%3A00"),
            *((parameter("type"), value, written) for value, written in [
                ("a b+c&d=e/f", "a%20b%2Bc%26d%3De%2Ff"), ("..", ".."),
                ("é%", "%C3%A9%25"), (Mixed.ONE, "one%201"), (Plain.TWO, "two"), (Plain.THREE, "3"),
                (Side.NEWEST, "Desc"),
            ]),
            (parameter("symbols", array=True, joined=True), ["AAPL", "BRK/B"], "AAPL,BRK%2FB"),
            (parameter("least", "decimal"), Decimal("1E+3"), "1000"),
        ],
    )  # fmt: skip
    def test_value_is_written_and_percent_encoded(self, one: Any, value: Any, written: str) -> None:
        assert encode_query((one,), {one.wire: value}) == f"{one.wire}={written}"
        assert encode_query(DIVIDENDS.parameters, {"symbol": "AAPL"}) == "", "it is in the path"


def test_base_address_has_any_slashes_and_prefix() -> None:
    hosts = ["https://api.example.com", "http://127.0.0.1:8080", "http://[::1]:8080"]
    for base in (each + prefix for each in hosts for prefix in ("", "/v1")):
        for slashes in ("", "/", "//"):
            assert build(CANCEL_ALL.bind(), base_url=base + slashes, headers={}).url == f"{base}/orders"
    raised(ConfigurationError, build, CANCEL_ALL.bind(), base_url="api.example.com", headers={}, match="base_url")


def test_user_agent_and_version_of_another_form_are_refused() -> None:
    for value in ("my-app/1.0", "a/b", "brokerage-async/0.1.0rc1+local", "x!#$%&'*+.^_`|~/1"):
        validate_user_agent(value)
    for version in ("20261012", "2.0.1"):
        validate_accept_version(version)
    agents = ["", "app", "app/", "/1.0", "my app/1.0", "app/1.0 (linux)", "a/b/c", "app/1.0\n", "app/1\r\nX: y"]
    for wrong in (*agents, "äpp/1", None, 7, b"a/1"):
        raised(ConfigurationError, validate_user_agent, wrong)
    for wrong in ("", "2026 1012", "1\r\nX: y", None, 20261012):
        raised(ConfigurationError, validate_accept_version, wrong)


class TestRequestValue:
    def test_guard_that_objects_withholds_it_and_names_the_call(self) -> None:
        request = Request(method="POST", url=BASE, operation=DIVIDENDS, guard=lambda: "the claim has ended")
        error = raised(RequestNotSentError, request.check_guard, match="withheld: the claim has ended")
        assert (error.code, error.operation, error.method) == ("withheld", DIVIDENDS.name, "POST")
        raised(RequestNotSentError, attrs.evolve(request, operation=None).check_guard, match="withheld")
        attrs.evolve(request, guard=lambda: None).check_guard()

    def test_it_compares_hashes_pickles_and_shows_no_secret(self) -> None:
        one, same = (Request(method="GET", url=BASE, headers={"Authorization": "s"}, body=b"s") for _ in range(2))
        assert (one, hash(one)) == (same, hash(same))
        assert repr(one) == f"Request(method='GET', url='{BASE}', timeout=None)"
        assert one != Request(method="GET", url=BASE)
        assert pickle.loads(pickle.dumps(one)) == one
        assert len({Response(status=200, headers={"x-request-id": "1"}, body=b"{}")} | {Response(status=204)}) == 2


LEG_OF_ANYTHING = st.builds(
    models.NewOrderLeg, **dict.fromkeys(("action", "instrument_type", "quantity", "symbol"), ANYTHING)
)
ITERABLES = st.sampled_from([frozenset({1}), range(3), iter(())])
LEGS = ITERABLES | st.lists(ANYTHING, max_size=3) | st.lists(LEG_OF_ANYTHING, max_size=3)
RAW = st.recursive(
    ANYTHING,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=5,
)
ORDERS = st.builds(
    models.NewOrder,
    order_type=st.sampled_from(models.OrderType) | ANYTHING,
    time_in_force=st.sampled_from(models.TimeInForce) | ANYTHING,
    legs=LEGS,
    **dict.fromkeys(("gtc_date", "price", "value", "automated_source", "external_identifier"), ANYTHING),
    rules=ANYTHING | st.builds(models.NewOrderRules, cancel_at=ANYTHING, conditions=LEGS),
    extra=st.just({}) | st.dictionaries(st.text(max_size=3), RAW, max_size=2),
)


def sound_order(**changes: Any) -> Any:
    order = models.NewOrder(
        order_type=models.OrderType.MARKET,
        time_in_force=models.TimeInForce.DAY,
        legs=[models.NewOrderLeg(action="Buy", instrument_type="Future", quantity=Decimal(1), symbol="/ESZ6")],
    )
    return attrs.evolve(order, **changes)


@given(ORDERS, st.booleans())
@example(sound_order(extra={"x": object()}), False)
@example(sound_order(extra={"x": 2**100}), False)
@example(sound_order(extra={"x": float("nan")}), False)
@example(sound_order(extra={"x": "\ud800"}), False)
@example(sound_order(extra={"\ud800": 1}), False)
@example(sound_order(source="\ud800"), False)
@example(sound_order(price=Decimal("0.00")), True)
@example(sound_order(price=Decimal("1E+60")), True)
@example(sound_order(source="x" * 1_000_000), True)
def test_any_order_becomes_json_or_one_of_our_errors(order: Any, strict: bool) -> None:
    submit = OPERATIONS["orders.submit"]
    try:
        request = build(submit.bind(account_number="1", body=order), base_url=BASE, headers={}, strict=strict)
    except BrokerageError:
        pass
    else:
        json.loads(request.body.decode("utf-8"), parse_constant=pytest.fail)


def test_a_body_nested_too_deeply_is_refused() -> None:
    value: list[Any] = []
    for _ in range(500_000):
        value = [value]
    call = OPERATIONS["orders.submit"].bind(account_number="1", body=sound_order(extra={"x": value}))
    reason = r"^orders\.submit: the body cannot be written as JSON"
    error = raised(InvalidRequestError, build, call, base_url=BASE, headers={}, match=reason)
    assert (error.operation, error.method, error.path) == ("orders.submit", "POST", "/accounts/{account_number}/orders")


LEG = models.NewOrderLeg(action="Buy to Open", instrument_type="Equity", quantity=Decimal(1), symbol="AAPL")
LIMIT = {"order_type": "Limit", "time_in_force": "Day", "price": Decimal(1), "price_effect": "Debit"}
MARGIN_LEG = models.MarginOrderLeg(action="Buy to Open", instrument_type="Equity", quantity=Decimal(1), symbol="AAPL")
SOUND = {
    "orders.submit": models.NewOrder(legs=(LEG,), **LIMIT),
    "orders.dry_run": models.NewOrder(legs=(LEG,), **LIMIT),
    "orders.replace": models.OrderEdit(**LIMIT),
    "orders.edit": models.OrderEdit(**LIMIT),
    "orders.edit_dry_run": models.OrderEditDryRun(legs=(LEG,), **LIMIT),
    "margin.dry_run": models.MarginOrder(
        account_number="1", underlying_symbol="AAPL", underlying_instrument_type="Equity", legs=(MARGIN_LEG,), **LIMIT
    ),
}


def order_problems(name: Any, body: Any) -> Any:
    values = {"account_number": "1", "id": "7"}
    path = {each.wire: values[each.wire] for each in OPERATIONS[name].parameters if each.location == "path"}
    return problems_in(build, BoundCall(OPERATIONS[name], path=path, body=body), base_url=BASE, headers={})


@for_each("name", SOUND)
def test_signs_of_orders(name: str) -> None:
    def broken(**changes: Any) -> Any:
        return order_problems(name, attrs.evolve(SOUND[name], **changes))

    assert broken() == broken(price=Decimal(0)) == []
    for leg in getattr(SOUND[name], "legs", ()):
        for quantity in (Decimal(0), Decimal(-1), -1, 0):
            legs = (attrs.evolve(leg, quantity=quantity),)
            assert broken(legs=legs) == [("out_of_range", "legs[0].quantity")]
    for field in ("price", "stop_trigger"):
        assert broken(**{field: Decimal("-0.01")}) == [("out_of_range", field.replace("_", "-"))]


@for_each("name", ["orders.submit", "orders.dry_run", "orders.edit", "orders.replace"])
@for_each("value, found", [(Decimal(5), []), *((Decimal(low), [("out_of_range", "value")]) for low in (0, -5))])
def test_value_of_a_notional_order_must_be_positive(name: str, value: Decimal, found: Any) -> None:
    changes = {"order_type": "Notional Market", "price": None, "price_effect": None, "value_effect": "Debit"}
    if not isinstance(SOUND[name], models.OrderEdit):
        changes["legs"] = (attrs.evolve(LEG, quantity=None),)
    assert order_problems(name, attrs.evolve(SOUND[name], value=value, **changes)) == found
