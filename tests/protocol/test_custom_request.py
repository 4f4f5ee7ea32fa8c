"""Calls of endpoints that the schema lacks: paths that cannot escape, effects that cannot lie, bodies as JSON."""

import datetime as dt
import gc
import json
import string
import weakref
from decimal import Decimal
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from brokerage_async.config import base_address
from brokerage_async.errors import InvalidRequestError
from brokerage_async.models import NewWatchlist, NewWatchlistEntry
from brokerage_async.operation import Effect
from brokerage_async.protocol import custom_request
from brokerage_async.protocol.custom_request import custom_call, encode_literal_path
from brokerage_async.protocol.request import Request, build
from tests.protocol.values import operation, raised
from tests.tables import for_each

NAIVE = dt.datetime(2026, 1, 2)  # noqa: DTZ001
BASE = "https://api.example.com/v1"
PREFIX = base_address(BASE)
UNRESERVED = {*string.ascii_letters, *string.digits, *"-._~"}


def request(method: str = "GET", path: str = "/accounts", **given: Any) -> Request:
    return build(custom_call(method, path, **given), base_url=BASE, headers={})


def code_of(**given: Any) -> str | None:
    code: str | None = raised(InvalidRequestError, request, **given).errors[0].code
    return code


class TestPath:
    @for_each(
        "path, sent",
        [
            ("/customers/me/accounts", "/customers/me/accounts"),
            ("/accounts/", "/accounts/"),
            ("/instruments/equities/BRK%2FB", "/instruments/equities/BRK%2FB"),
            ("/a/%2e%2Fx", "/a/%2e%2Fx"),
            ("/my list/ü", "/my%20list/%C3%BC"),
            ("/a:b/c@d,e;f=1", "/a:b/c@d,e;f=1"),
            ("/a/.b/c..d/...", "/a/.b/c..d/..."),
        ],
    )
    def test_path_is_encoded_once(self, path: str, sent: str) -> None:
        assert request(path=path).url == BASE + sent
        assert request(path=sent).url == BASE + sent

    @for_each("path", [
            "", "/", "accounts", "//accounts", "//evil.example/x", "https://evil.example/x", "/a//b", "/a/../b", "/..",
            "/a/.", "/a/%2e%2e/b", "/a/%2E%2e%2Fb", "/a/..%2f..%2fb", "/a/..;x=1/b", "/a/b%5C..%5cc", "/a\\..\\b",
            "/a#b", "/a\r\nHost: x", "/a\x00", "/a/100%", "/a/%zz", "/a/{b", "/a/x{b}", "/a/{b}{c}", "/a/{}",
            "/a?b=1", "@evil.example", "/a/..%00/b", "/a%0d%0ab", "/a/%1F", "/a/%7f",
        ])  # fmt: skip
    def test_unsafe_path_is_refused(self, path: str) -> None:
        assert code_of(path=path, path_values={}) == "unsafe_segment"

    @given(st.text(alphabet=st.sampled_from("/.%\\;?#{}@: aé2eEfF5cC0\r\x00")) | st.text())
    @example("/..%5c")
    @example("/%2e./a")
    def test_any_path_stays_below_the_base_address_or_is_refused(self, path: str) -> None:
        try:
            url = request(path=path).url
        except InvalidRequestError:
            return
        assert url.startswith(f"{PREFIX}/")
        assert url.isascii()
        assert url.isprintable()
        assert " " not in url
        parts = urlsplit(url)
        assert (parts.scheme, parts.netloc, parts.query, parts.fragment) == ("https", "api.example.com", "", "")
        for segment in parts.path.removeprefix("/v1/").removesuffix("/").split("/"):
            decoded = unquote(segment)
            assert decoded not in ("", ".")
            assert ".." not in decoded.replace("\\", "/").replace(";", "/").split("/")
        assert unquote(parts.path) == unquote(f"/v1{path}")
        assert encode_literal_path(parts.path.removeprefix("/v1")) == parts.path.removeprefix("/v1")

    @given(st.text(min_size=1).filter(lambda value: value not in (".", "..")))
    @example("./ESZ9 EW4U9 190927P2975")
    @example("%2e%2e")
    @example("../../oauth/token")
    def test_any_value_becomes_exactly_one_segment(self, value: str) -> None:
        try:
            url = request(path="/a/{symbol}/b", path_values={"symbol": value}).url
        except InvalidRequestError:
            assert any("\ud800" <= character <= "\udfff" for character in value)
            return
        *_, before, segment, after = url.split("/")
        assert (before, unquote(segment, errors="strict"), after) == ("a", value, "b")
        assert set(segment) <= UNRESERVED | {"%"}


class TestQuery:
    def test_keys_go_out_as_written_and_lists_repeat_them(self) -> None:
        day = dt.date(2026, 1, 2)
        query = {"symbol[]": ["A", "BRK/B"], "on": day, "left-out": None, "all": True, "a b": Decimal("1.50")}
        expected = "symbol[]=A&symbol[]=BRK%2FB&on=2026-01-02&all=true&a%20b=1.50"
        assert request(query=query).url == f"{BASE}/accounts?{expected}"

    @given(st.dictionaries(st.text(min_size=1, max_size=5), st.text(max_size=5), max_size=3))
    def test_query_cannot_leave_its_place(self, query: dict[str, str]) -> None:
        try:
            url = request(query=query).url
        except InvalidRequestError:
            return
        parts = urlsplit(url)
        assert (parts.netloc, parts.path, parts.fragment) == ("api.example.com", "/v1/accounts", "")
        assert len(parts.query.split("&")) == max(1, len(query))


class TestBody:
    def test_json_values_models_and_bytes_are_encoded(self) -> None:
        entry = NewWatchlistEntry(symbol="AAPL", instrument_type="Equity")
        day = dt.date(2026, 1, 2)
        body = {"price": Decimal("1.10"), "entries": (entry,), "on": day, "side": Effect.READ, "no": None}
        written = {"symbol": "AAPL", "instrument-type": "Equity"}
        expected = {"price": "1.10", "entries": [written], "on": "2026-01-02", "side": "read", "no": None}
        assert json.loads(request("POST", "/x", body=body).body or b"", parse_float=str) == expected
        model = NewWatchlist(name="tech", watchlist_entries=(), group_name="mine")
        assert json.loads(request("POST", "/x", body=model).body or b"")["group-name"] == "mine"
        assert request("POST", "/x", body=b'{"a": 1.0 }').body == b'{"a": 1.0 }'


class TestEffect:
    @for_each(
        "method, path, given, effect",
        [
            ("GET", "/x", None, "read"),
            *((method, "/x", None, "mutate") for method in ("POST", "PUT", "PATCH", "DELETE")),
            ("POST", "/x", Effect.READ, "read"),
            ("POST", "/x", "preflight", "preflight"),
            ("GET", "/x", Effect.MUTATE, "mutate"),
            ("POST", "/accounts/5WT1/orders", None, "mutate"),
            ("POST", "/accounts/5WT1/orders/dry-run", None, "preflight"),
            ("POST", "/accounts/5WT1/orders/dry-run", Effect.READ, "read"),
        ],
    )
    def test_effect_is_given_or_by_schema_or_by_method(self, method: str, path: str, given: Any, effect: str) -> None:
        made = custom_call(method, path, effect=given).operation
        assert (made.effect, made.name) == (effect, f"request.{effect}")
        assert made.scope == ("read" if effect == "read" else "trade")

    @for_each(
        "method, path, values",
        [
            *(("POST", f"/accounts/{rest}", None) for rest in ("5WT1/orders", "5WT1/orders/", "5WT1/%6Frders")),
            *(("POST", path, None) for path in ("/Accounts/5/ORDERS", "/accounts/5%2Forders")),
            *(("DELETE", path, None) for path in ("/accounts/5WT1/orders/7", "/accounts%2f5%2forders/7")),
            ("POST", "/accounts/{a}/{b}", {"a": "5WT1", "b": "orders"}),
            ("POST", "/accounts/{account}", {"account": "5/orders"}),
        ],
    )
    def test_known_mutation_in_any_spelling_is_never_harmless(self, method: str, path: str, values: Any) -> None:
        for effect in (Effect.READ, Effect.PREFLIGHT):
            assert code_of(method=method, path=path, path_values=values, effect=effect) == "value_not_allowed"
        assert custom_call(method, path, path_values=values).operation.effect is Effect.MUTATE

    def test_effect_follows_the_most_literal_template_of_the_host(self, monkeypatch: pytest.MonkeyPatch) -> None:
        operations = [
            operation("a.get", "/a/{id}", method="POST", scope="read"),
            operation("a.all", "/a/all", method="POST", effect=Effect.MUTATE, scope="trade"),
            operation("b.b", "/b", method="POST", host="lab"),
        ]
        for known in (operations, operations[::-1]):
            monkeypatch.setattr(custom_request, "OPERATIONS", {each.name: each for each in known})
            effects = [custom_call("POST", path).operation.effect for path in ("/a/all", "/a/7", "/b")]
            assert effects == [Effect.MUTATE, Effect.READ, Effect.MUTATE]


EXTREME = [Decimal(number) for number in ("1E+65", "1E-65", "1E+99999999999")]
CIRCULAR: dict[str, Any] = {}
CIRCULAR["a"] = CIRCULAR


REFUSED: dict[tuple[str, str], list[dict[str, Any]]] = {
    ("value_not_allowed", "method"): [{"method": "HEAD"}, {"method": "get"}],
    ("wrong_type", "path"): [{"path": 5}, {"path": b"/a"}],
    ("not_text", "path"): [{"path": "/\ud800"}],
    ("unsafe_segment", "path"): [
        {"path": "/a?b"},
        *({"method": "POST", "path": path} for path in ("/oauth/token", "/oauth%2Ftoken", "/OAuth/Token")),
    ],
    ("wrong_type", "path_values"): [{"path_values": 5}, *({"path": "/a/{b}", "path_values": b} for b in (["b"], "b"))],
    ("unknown_parameter", "path"): [{"path_values": {"a": "1"}}, {"path": "/a/{b}", "path_values": {"b": 1, "c": 2}}],
    ("wrong_type", "a"): [{"path": "/{a}", "path_values": {"a": 1.5}}, {"query": {"a": 1.5}}],
    ("out_of_range", "b"): [{"path": "/a/{b}", "path_values": {"b": number}} for number in EXTREME],
    ("wrong_type", "query"): [{"query": query} for query in (5, "a=1", {"": "a"})],
    ("not_text", "query"): [{"query": {"\ud800": "1"}}],
    ("out_of_range", "a"): [{"query": {"a": number}} for number in EXTREME],
    ("naive_date_time", "a"): [{"query": {"a": [NAIVE]}}],
    ("not_finite", "a"): [{"query": {"a": Decimal("NaN")}}],
    ("forbidden", "body"): [{"body": {"a": 1}}],
    ("wrong_type", "body"): [{"method": "POST", "body": it} for it in (CIRCULAR, "text", b"", {"a": "\ud800"})],
    ("wrong_type", "body.a"): [{"method": "POST", "body": {"a": it}} for it in (float("nan"), {1: "b"}, object())],
    ("wrong_type", "body.a.b[0]"): [{"method": "POST", "body": {"a": {"b": [1.5]}}}],
    ("out_of_range", "body.a"): [{"method": "POST", "body": {"a": number}} for number in EXTREME],
    ("not_finite", "body.a"): [{"method": "POST", "body": {"a": Decimal("Infinity")}}],
    ("naive_date_time", "body.a"): [{"method": "POST", "body": {"a": NAIVE}}],
    ("value_not_allowed", "effect"): [
        {"effect": "write"},
        {"method": "POST", "path": "/accounts/5/orders", "effect": Effect.READ},
    ],
}
UNSENDABLE: dict[tuple[str, str], list[dict[str, Any]]] = {
    ("unsafe_segment", "b"): [{"path": "/a/{b}", "path_values": {"b": wrong}} for wrong in ("", ".", "..", None)],
    ("too_few_items", "a"): [{"query": {"a": []}}],  # the service would ignore it, and send everything
    ("required", "a[0]"): [{"query": {"a": [""]}}],
    ("wrong_type", "a"): [{"query": {"a": wrong}} for wrong in ({}, object())],
}


@for_each(
    "make, message, found, call",
    [
        (make, message, found, call)
        for make, message, table in ((custom_call, "nothing was sent", REFUSED), (request, None, UNSENDABLE))
        for found, calls in table.items()
        for call in calls
    ],
)
def test_every_refusal_names_its_place(make: Any, message: str | None, found: tuple[str, str], call: Any) -> None:
    error = raised(InvalidRequestError, make, **{"method": "GET", "path": "/accounts", **call}, match=message)
    assert [(detail.code, detail.domain) for detail in error.errors] == [found]


def test_parameters_of_a_call_say_where_each_value_goes() -> None:
    call = custom_call("GET", "/a/{b}", path_values={"b": 1}, query={"c[]": ["x", "y"], "d": 2})
    assert call.operation.path == "/a/{b}", "errors and observers have the template"
    shown = [(each.name, each.wire, each.location, each.required, each.array) for each in call.operation.parameters]
    path, items = ("b", "b", "path", True, False), ("c[]", "c[]", "query", False, True)
    assert shown == [path, items, ("d", "d", "query", False, False)]


def test_nothing_keeps_the_operation_of_a_call() -> None:
    """A program that calls a million paths must not hold a million operations."""
    call = custom_call("GET", "/x", query={"a": "1"})
    build(call, base_url=BASE, headers={})
    kept = weakref.ref(call.operation)
    del call
    gc.collect()
    assert kept() is None
