"""The check of a call before anything is sent, over operations and models made by hand."""

import datetime as dt
import enum
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerage_async.errors import ConfigurationError, InvalidRequestError
from brokerage_async.operation import BodyField, Effect, RequestModel, Rule, Shape
from brokerage_async.protocol.validation import requests as validation
from brokerage_async.protocol.validation.requests import check, problems_of
from tests.protocol.values import ANYTHING, operation, parameter, problems_in, raised
from tests.tables import for_each


class Kind(enum.StrEnum):
    LIMIT = "Limit"
    MARKET = "Market"
    NOTIONAL = "Notional Market"


class Venue(enum.StrEnum):
    EQUITY = "Equity"
    CME = "CME"


MODELS: dict[type[Any], RequestModel] = {}


def field(wire: str, kind: str = "string", **more: Any) -> BodyField:
    return BodyField(name=wire.replace("-", "_"), wire=wire, kind=kind, **more)


def request_model(name: str, *fields: BodyField, defaults: Any = None, **rules: Any) -> type[Any]:
    """Make the class of a body, whose fields are None by default, and describe it in ``MODELS``."""
    attributes = {each.name: attrs.field(default=(defaults or {}).get(each.name)) for each in fields}
    made = attrs.make_class(name, {**attributes, "extra": attrs.field(factory=dict)}, frozen=True, kw_only=True)
    MODELS[made] = RequestModel(fields=fields, **rules)
    return made


Leg = request_model(
    "Leg",
    field("symbol", required=True),
    field("quantity", "decimal"),
    field("instrument-type", required=True),
    defaults={"instrument_type": "Equity"},
)
Conditions = request_model("Conditions", field("route-after", "date-time"))
NEEDS_QUANTITY = Rule(
    unless={"order-type": ("Notional Market",)}, require=("legs[].quantity",), message="every leg needs a quantity"
)
Ticket = request_model(
    "Ticket",
    field("order-type", required=True, choices=Kind),
    field("legs", "object", array=True, required=True, min_items=1, model=Leg),
    field("price", "decimal"),
    field("gtc-date", "date"),
    field("order-index", "integer"),
    field("automated", "boolean"),
    field("conditions", "object", model=Conditions),
    field("options", "object"),
    field("source"),
    rules=(
        Rule(when={"order-type": ("Limit",)}, require=("price",), message="a Limit order needs a price"),
        NEEDS_QUANTITY,
        Rule(distinct="legs[].symbol", message="two legs name the same symbol"),
    ),
    defaults={"order_type": Kind.LIMIT, "legs": (Leg(symbol="AAPL", quantity=Decimal(1)),), "price": Decimal("1.25")},
)


@pytest.fixture(autouse=True, scope="module")
def models_made_by_hand() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(validation, "REQUEST_MODELS", MODELS)
        yield
    validation._compiled.cache_clear()


SESSIONS = operation(
    "time.sessions",
    "/time/{venue}/sessions",
    parameters=(
        parameter("venue", location="path", required=True),
        parameter("to-date", "date", required=True),
        parameter("from-date", "date"),
        parameter("collections[]", array=True, choices=Venue),
        parameter("per-page", "integer", minimum=1, maximum=250),
        parameter("active", "boolean"),
        parameter("start-at", "date-time"),
        parameter("type"),
        parameter("types[]", array=True, required=False),
        parameter("account", "identifier"),
        parameter("must[]", array=True),
    ),
    rules=(
        Rule(span=("from-date", "to-date", 9), message="ask for nine months at most"),
        Rule(exclusive=("type", "types[]"), message="give type or types[], not both"),
    ),
)
PLACE = operation("orders.place", "/orders", Shape.ONE, "POST", effect=Effect.MUTATE, body=Ticket, body_required=True)
TO_DATE, NAIVE = dt.date(2026, 6, 30), dt.datetime(2026, 1, 1)  # noqa: DTZ001


def query_problems(query: Any, **options: Any) -> Any:
    return problems_in(check, SESSIONS, {"venue": "X"}, {"to-date": TO_DATE} | query, None, **options)


def body_problems(**fields: Any) -> Any:
    return [(problem.code, problem.domain) for problem in problems_of(Ticket(**fields))]


class TestParameters:
    def test_item_of_a_joined_array_has_no_comma(self) -> None:
        joined = attrs.evolve(SESSIONS, parameters=(parameter("symbols", array=True, joined=True),))
        for first, found in (("A,B", [("value_not_allowed", "symbols[0]")]), ("A", [])):
            assert problems_in(check, joined, None, {"symbols": [first, "B"]}, None) == found

    def test_a_sound_call_passes(self) -> None:
        sound: dict[str, Any] = {"from-date": dt.date(2025, 9, 30), "collections[]": ["Equity", Venue.CME]}
        sound |= {"per-page": 250, "active": True, "start-at": dt.datetime(2026, 1, 1, tzinfo=dt.UTC)}
        sound |= {"types[]": {"Trade"}, "account": 17}
        assert query_problems(sound) == []
        assert query_problems(dict.fromkeys(sound)) == []

    @for_each(
        "wire, value, code",
        [
            ("from-date", "2026-01-01", "wrong_type"),
            ("per-page", 251, "out_of_range"),
            ("start-at", NAIVE, "naive_date_time"),
            ("account", 10**5000, "out_of_range"),  # an integer too long to be written
            *(("types[]", value, "wrong_type") for value in ("Trade", b"Trade", {"Trade": 1}, iter(["Trade"]))),
            ("types[]", [], "too_few_items"),
            ("nonsense", 1, "unknown_parameter"),
        ],
    )
    def test_a_value_that_cannot_be_sent_is_named(self, wire: str, value: Any, code: str) -> None:
        assert query_problems({wire: value}) == [(code, wire)]

    def test_items_of_an_array_are_named_by_their_place(self) -> None:
        """The service takes an empty item for unfiltered, and would send everything."""
        items = ["Trade", 5, None, ""]
        codes = ["wrong_type", "wrong_type", "required"]
        assert query_problems({"types[]": items}) == [(code, f"types[{n}]") for n, code in enumerate(codes, 1)]
        nothing = {"to-date": TO_DATE, "types[]": []}
        raised(InvalidRequestError, check, SESSIONS, {"venue": "X"}, nothing, None, match="omit it to get everything")

    def test_absurdly_many_problems_are_not_all_listed(self) -> None:
        found = query_problems({"types[]": [5] * 1_000_000, "per-page": "x"})
        assert len(found) == 101
        assert found[:2] == [("wrong_type", "per-page"), ("wrong_type", "types[0]")]
        assert found[-1] == ("more_problems", None)

    def test_rules_are_applied(self) -> None:
        too_long = {"from-date": dt.date(2025, 9, 29), "type": "Trade", "types[]": ["Trade"]}
        assert query_problems(too_long) == [("span_too_long", "to-date"), ("exclusive", "types[]")]

    def test_a_value_that_cannot_be_compared_is_of_the_wrong_type(self) -> None:
        class Several:  # as arrays of numbers are
            def __eq__(self, other: Any) -> None:
                raise ValueError("ambiguous")

            __hash__ = None

        path, query = {"venue": "X"}, {"to-date": TO_DATE}
        assert problems_in(check, SESSIONS, {"venue": Several()}, query, None) == [("wrong_type", "venue")]
        assert problems_in(check, SESSIONS, path, {"to-date": Several()}, None) == [("wrong_type", "to-date")]
        assert problems_in(check, SESSIONS, path, query, Several()) == [("forbidden", None)]
        assert problems_of(Several())

    def test_an_unknown_parameter_is_named_however_many_there_are(self) -> None:
        optional = tuple(attrs.evolve(each, required=False) for each in SESSIONS.parameters if each.location != "path")
        for count in range(len(optional) + 1):
            called = attrs.evolve(SESSIONS, parameters=optional[:count])
            assert problems_in(check, called, {}, {"nonsense": 1}, None) == [("unknown_parameter", "nonsense")]

    def test_everything_is_reported_at_once(self) -> None:
        error = raised(InvalidRequestError, check, SESSIONS, {"venue": 3}, {"per-page": "x", "zz": None}, b"{}")
        assert [(problem.code, problem.domain) for problem in error.errors] == [
            ("wrong_type", "venue"), ("required", "to-date"), ("wrong_type", "per-page"), ("unknown_parameter", "zz"),
            ("forbidden", None),
        ]  # fmt: skip
        assert (error.operation, error.method, error.path) == ("time.sessions", "GET", "/time/{venue}/sessions")
        assert "to-date: is required" in str(error)


def test_items_that_were_not_looked_at_are_named_by_their_array() -> None:
    rule = Rule(when={"legs[].symbol": ("A",)}, require=("price",), message="a leg in A needs a price")
    legs = field("legs", "object", array=True, model=Leg)
    bundle = request_model("Bundle", legs, field("price", "decimal"), rules=(rule,))
    basket = request_model("Basket", field("bundles", "object", array=True, model=bundle))
    found = problems_of(basket(bundles=(bundle(legs=(Leg(symbol="A"),) * validation.MAX_PROBLEMS), 7)))
    places = [(problem.code, problem.domain) for problem in found]
    assert places == [("required", "bundles[0].price"), ("more_problems", "bundles")]


def test_an_unknown_value_passes_with_one_warning_and_strict_refuses_it(caplog: pytest.LogCaptureFixture) -> None:
    class Other(enum.StrEnum):
        CME = "CME"

    validation._warn_unknown.cache_clear()
    values = [Other.CME, "CME", "Moon"]
    assert query_problems({"collections[]": values}, strict=True) == [("unknown_value", "collections[2]")]
    assert caplog.records == []
    for _ in range(2):
        assert query_problems({"collections[]": ["Moon"]}) == []
    assert caplog.messages == [
        "time.sessions: collections[0] has the unknown value 'Moon', sent all the same; known values: Equity, CME"
    ]
    caplog.clear()
    query_problems({"collections[]": ["x" * 10_000]})
    assert len(caplog.text) < 300, "a long value is shown short"
    assert problems_of(Ticket(order_type="Moon")) == ()
    assert [problem.code for problem in problems_of(Ticket(order_type="Moon"), strict=True)] == ["unknown_value"]


class TestBodies:
    def test_missing_body_is_refused_and_bytes_are_not_checked(self) -> None:
        for missing in (None, b""):
            [problem] = raised(InvalidRequestError, check, PLACE, None, None, missing).errors
            assert (problem.code, problem.domain) == ("required", None)
            assert "a Ticket is required as the body" in str(problem)
        check(attrs.evolve(PLACE, body_required=False), None, None, None)
        check(PLACE, None, None, b"anything")

    def test_rules_left_to_the_service_are_checked_on_demand(self) -> None:
        rule = Rule(forbid=("source",), message="the service refuses it")
        checked = request_model("Checked", field("source"), service_rules=(rule,))(source="mine")
        assert problems_of(checked) == ()
        assert [problem.domain for problem in problems_of(checked, service=True)] == ["source"]

    def test_a_field_that_would_be_sent_from_extra_instead(self) -> None:
        assert body_problems(source="mine", extra={"source": "another", "unheard-of": 1}) == [("wrong_type", "source")]
        leg = Leg(symbol="AAPL", quantity=Decimal(1), extra={"quantity": "9"})
        assert body_problems(legs=(leg,)) == [("wrong_type", "legs[0].quantity")]

    @for_each("body", [{}, {"order-type": "Limit"}, "{}", 5, Leg(symbol="A"), Ticket, object()])
    def test_a_body_of_another_type(self, body: Any) -> None:
        raised(InvalidRequestError, check, PLACE, None, None, body, match="must be a Ticket, got")
        for other in (object(), None):
            assert [problem.code for problem in problems_of(other)] == ["wrong_type"]

    @for_each(
        "field, value, code",
        [
            ("order_type", None, "required"), ("order_type", "", "required"), ("order_type", 5, "wrong_type"),
            ("price", None, "required"), ("price", 1.25, "wrong_type"), ("price", Decimal("NaN"), "not_finite"),
            ("price", Decimal("1E+999999"), "out_of_range"), ("legs", None, "required"),
            ("legs", (), "too_few_items"), ("legs", "AAPL", "wrong_type"),
            ("legs", Leg(symbol="AAPL"), "wrong_type"), ("gtc_date", "2026-01-01", "wrong_type"),
            ("order_index", 1.0, "wrong_type"), ("automated", "no", "wrong_type"),
            ("conditions", {}, "wrong_type"), ("options", [], "wrong_type"), ("source", "\udfff", "not_text"),
        ],
    )  # fmt: skip
    def test_a_field_that_cannot_be_sent_is_named(self, field: str, value: Any, code: str) -> None:
        assert body_problems(**{field: value}) == [(code, field.replace("_", "-"))]

    def test_nested_fields_are_named_by_their_path(self) -> None:
        sound = Leg(symbol="AAPL", quantity=Decimal(1))
        legs = (sound, Leg(symbol="AAPL", quantity=None), Leg(symbol=None, quantity=Decimal("NaN")), "MSFT")
        conditions = Conditions(route_after=NAIVE)
        assert body_problems(legs=legs, price=None, conditions=conditions) == [
            ("required", "legs[2].symbol"), ("not_finite", "legs[2].quantity"), ("wrong_type", "legs[3]"),
            ("naive_date_time", "conditions.route-after"), ("required", "price"),
            ("required", "legs[1].quantity"), ("required", "legs[3].quantity"),
            ("not_distinct", "legs[1].symbol"),
        ]  # fmt: skip

    def test_rules_speak_with_their_own_words_and_repeat_no_value(self) -> None:
        assert [str(problem) for problem in problems_of(Ticket(price=None))] == ["price: a Limit order needs a price"]
        ticket = Ticket(source=b"hunter2", price="hunter2", legs=["hunter2"])
        assert "hunter2" not in str(raised(InvalidRequestError, check, PLACE, None, None, ticket))


MODELS_AND_WORDS = st.sampled_from([Kind.LIMIT, Kind.MARKET, Ticket(), Leg(), Conditions(), Ticket])
NESTED = st.recursive(
    ANYTHING | MODELS_AND_WORDS, lambda inner: st.one_of(st.lists(inner, max_size=3), st.tuples(inner)), max_leaves=6
)
ANY_FIELD = st.one_of(NESTED, st.lists(st.builds(Leg, symbol=NESTED, quantity=NESTED), max_size=3))
TICKETS = st.builds(Ticket, **{each.name: ANY_FIELD for each in attrs.fields(Ticket)})


@given(TICKETS, st.booleans())
def test_any_body_gives_an_answer(ticket: Any, strict: bool) -> None:
    for problem in problems_of(ticket, strict=strict):
        assert problem.code
        assert problem.domain
        assert len(str(problem)) < 200


@given(NESTED, NESTED, NESTED)
def test_any_call_gives_an_answer(venue: Any, types: Any, body: Any) -> None:
    with pytest.raises((InvalidRequestError, ConfigurationError)):
        check(SESSIONS, {"venue": venue}, {"types[]": types, "type": venue}, body)
