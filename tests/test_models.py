"""Every generated model and operation: values that travel, as JSON and in pydantic too, and show no personal data."""

import copy
import json
import pickle
import subprocess
import sys
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import partial
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import attrs
import msgspec
import pydantic
import pytest

from brokerage_async import models
from brokerage_async._generated.converters import WIRES
from brokerage_async._generated.operations import OPERATIONS, REQUEST_MODELS
from brokerage_async._values import EMPTY, Model, OpenStrEnum
from brokerage_async.operation import BoundCall, Effect, Page, Pager, Shape
from brokerage_async.stream import AccountEvent, Gap, Snapshot
from tests.tables import for_each

MODELS = sorted(WIRES, key=lambda model: model.__name__)

SAMPLES: dict[Any, Any] = {
    str: "text",
    int: 7,
    bool: True,
    Decimal: Decimal("1.50"),
    date: date(2026, 3, 1),
    datetime: datetime(2026, 3, 1, 12, tzinfo=UTC),
}


def test_personal_data_and_secrets_are_not_shown() -> None:
    address = models.Address(city="Springfield", extra={"block": "secret"})
    shown = repr(models.Customer(first_name="Ada", address=address, is_professional=True))
    assert shown == "Customer(first_name=..., address=..., is_professional=...)"
    assert repr(address) == "Address(city=..., extra=...)"
    assert repr(models.Order()) == "Order()"
    order = models.Order(id="7", price=Decimal("1.50"), status=models.OrderStatus("New"), extra={"a": 1})
    assert repr(order) == ("Order(id='7', price=Decimal('1.50'), status=<OrderStatus.New: 'New'>, extra={'a': 1})")
    assert repr(models.OrderLeg(fills=[models.Fill(fill_id="x")])) == "OrderLeg(fills=(Fill(fill_id='x'),))"
    request = models.TokenRequest(
        grant_type=models.GrantType.REFRESH_TOKEN, client_secret="hush", refresh_token="hush", code="hush"
    )
    response = models.TokenResponse(access_token="hush", refresh_token="hush", id_token="hush", extra={"t": "hush"})
    assert "hush" not in f"{request!r} {request} {response!r}"


def sample(model: type[Any], depth: int = 3) -> Any:
    hints = get_type_hints(model)
    fields = {field.name: value_of(hints[field.name], depth) for field in attrs.fields(model) if field.name != "extra"}
    return model(**fields, extra={"new-key": [1, {"a": None}]})


def value_of(hint: Any, depth: int) -> Any:
    kind = get_args(hint)[0] if isinstance(hint, UnionType) else hint
    if get_origin(kind) is tuple:
        return (value_of(get_args(kind)[0], depth),)
    if kind in SAMPLES:
        return SAMPLES[kind]
    if isinstance(kind, type) and issubclass(kind, OpenStrEnum):
        return next(iter(kind))
    if isinstance(kind, type) and issubclass(kind, Model):
        return sample(kind, depth - 1) if depth else kind()
    return {"raw": 1}


@for_each("model", MODELS)
def test_a_model_constructed_or_built_is_a_frozen_value_that_travels(model: Any) -> None:
    one = sample(model)
    raw = msgspec.to_builtins(WIRES[model].of(one), builtin_types=(Decimal,))
    built = models.converter.structure(raw, model)
    assert models.converter.unstructure(built) == raw
    protocols = range(2, pickle.HIGHEST_PROTOCOL + 1)
    pickled = [pickle.loads(pickle.dumps(each, protocol)) for each in (one, built) for protocol in protocols]
    for same in (sample(model), built, *pickled, copy.copy(one), copy.deepcopy(one), copy.deepcopy(built)):
        assert same == one
        assert (type(same), hash(same), repr(same)) == (model, hash(one), repr(one))
    assert attrs.evolve(built) == built
    assert not hasattr(one, "__dict__")
    for field in attrs.fields(model):
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            setattr(one, field.name, None)
    with pytest.raises((attrs.exceptions.FrozenInstanceError, AttributeError)):
        one.something_else = 1
    assert one.__eq__("7") is NotImplemented
    name = attrs.fields(model)[0].name
    other = attrs.evolve(one, **{name: None})
    assert other != one
    assert getattr(other, name) is None
    bare = attrs.evolve(one, extra={})
    assert (bare == one, hash(bare)) == (False, hash(one))
    empty = WIRES[model]().build()
    assert type(empty) is model
    assert empty.extra is EMPTY
    assert all(getattr(empty, name) in (None, "") for name in model.__slots__ if name != "extra")


@for_each("model", MODELS)
def test_every_model_is_read_back_and_has_a_schema(model: type) -> None:
    one = sample(model)
    assert models.converter.structure(one.to_dict(wire=True), model) == one
    assert one.to_dict(wire=True) == models.converter.unstructure(one)
    assert models.converter.structure(json.loads(one.to_json(), parse_float=Decimal), model) == one
    assert json.loads(one.to_json(wire=False)).keys() == one.to_dict().keys()
    schema = pydantic.TypeAdapter(model).json_schema(mode="serialization")
    assert (schema["type"], schema["title"]) == ("object", model.__name__)


def test_public_door_exports_every_model_by_its_wire_name() -> None:
    for model, wire in WIRES.items():
        keys = [field.encode_name for field in msgspec.structs.fields(wire) if "__alias" not in field.name]
        separator = "_" if model.__name__.startswith("Token") else "-"
        assert not any(({"_", "-"} - {separator}) & set(key) for key in keys), model
        assert len(keys) == len(set(keys))
    assert {model.__name__ for model in MODELS} <= set(models.__all__)
    assert {"converter", "Page", "Pager"} <= set(models.__all__)
    assert all(hasattr(models, name) for name in models.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        models.Nothing  # noqa: B018
    code = "import sys, brokerage_async.models; print([m for m in ('msgspec', 'cattrs') if m in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code]) == b"[]\n"


def test_only_lists_and_iterables_are_taken_where_tuples_are_kept() -> None:
    leg = models.NewOrderLeg(
        action=models.LegAction.BUY_TO_OPEN, instrument_type=models.InstrumentType.EQUITY, symbol="A"
    )
    order = models.NewOrder(order_type=models.OrderType.MARKET, time_in_force=models.TimeInForce.DAY, legs=[leg])
    assert order.legs == (leg,)
    assert isinstance(hash(order), int)
    assert models.NewWatchlist(name="w", watchlist_entries=iter([])).watchlist_entries == ()
    assert models.WatchlistEntry(symbol="AAPL") != models.NewWatchlistEntry(symbol="AAPL")
    assert models.NewOrderRules(conditions=None).conditions is None
    with pytest.raises(TypeError, match="expected a list or tuple, got NoneType"):
        attrs.evolve(order, legs=None)
    wrong: Any
    for wrong in ("AAPL", b"AAPL", {"symbol": "AAPL"}, 5, models.NewOrderLeg):
        for make in (partial(attrs.evolve, order, legs=wrong), partial(models.NewOrderRules, conditions=wrong)):
            with pytest.raises(TypeError, match=f"expected a list or tuple, got {type(wrong).__name__}"):
                make()


ORDER = models.Order(
    id="7",
    price=Decimal("1.50"),
    status=models.OrderStatus("New"),
    received_at=datetime(2026, 6, 10, 14, tzinfo=UTC),
    legs=(models.OrderLeg(symbol="AAPL", quantity=Decimal(3)),),
    extra={"new-key": [1, None]},
)


def test_models_and_events_travel_by_attribute_or_wire_key() -> None:
    assert ORDER.to_dict() == {
        "id": "7",
        "price": Decimal("1.50"),
        "status": models.OrderStatus("New"),
        "received_at": datetime(2026, 6, 10, 14, tzinfo=UTC),
        "legs": [{"symbol": "AAPL", "quantity": Decimal(3)}],
        "extra": {"new-key": [1, None]},
    }
    assert models.Order().to_dict() == {}
    assert json.loads(ORDER.to_json()) == {
        "id": "7",
        "price": "1.50",
        "status": "New",
        "received-at": "2026-06-10T14:00:00Z",
        "legs": [{"symbol": "AAPL", "quantity": "3"}],
        "new-key": [1, None],
    }
    assert json.loads(ORDER.to_json(wire=False))["received_at"] == "2026-06-10T14:00:00Z"
    event = AccountEvent(type="Order", data=models.Order(id="7", order_type=models.OrderType.LIMIT), sequence=3)
    assert event.to_dict() == {"type": "Order", "data": {"id": "7", "order_type": "Limit"}, "sequence": 3}
    assert json.loads(event.to_json())["data"] == {"id": "7", "order-type": "Limit"}
    assert Gap(since=None, reason="stale").to_json() == '{"reason":"stale"}'
    candle = models.Candle(event_symbol="AAPL{=d}", close=Decimal("1.5"))
    whole = Snapshot(type=models.Candle, symbol="AAPL{=d}", events=(candle,))
    assert json.loads(whole.to_json())["type"] == "Candle"


def test_pydantic_returns_models_as_json_with_their_schema() -> None:
    adapter = pydantic.TypeAdapter(list[models.Order])
    assert json.loads(adapter.dump_json([ORDER])) == [json.loads(ORDER.to_json())]
    assert adapter.validate_python([ORDER]) == [ORDER]
    with pytest.raises(pydantic.ValidationError):
        adapter.validate_python([{"id": "7"}])
    schema = adapter.json_schema(mode="serialization")
    assert schema["items"]["title"] == "Order"
    assert schema["items"]["properties"]["legs"]["anyOf"][0]["items"]["properties"].keys() >= {"symbol", "fills"}
    assert "$ref" not in json.dumps(schema)
    code = "from brokerage_async import models; import sys; models.Order().to_json(); print('pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_operations_calls_and_pages_are_values() -> None:
    one = OPERATIONS["watchlists.list"]
    assert one != attrs.evolve(one)
    assert len({one, attrs.evolve(one)}) == 2
    assert repr(one) == "<Operation watchlists.list: GET /watchlists>"
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        OPERATIONS["orders.submit"].effect = Effect.READ
    live = OPERATIONS["orders.live"]
    call = live.bind(customer_id="me", account_numbers=["A1"], per_page=None)
    assert call == BoundCall(live, path={"customer_id": "me"}, query={"account-numbers[]": ["A1"]})
    with pytest.raises(TypeError, match=r"orders\.live has no parameter 'account_number'"):
        live.bind(customer_id="me", account_number="A1")
    call, same = (OPERATIONS["orders.submit"].bind(account_number="A1", body=b"s3cr3t") for _ in range(2))
    assert (call, hash(call)) == (same, hash(attrs.evolve(call)))
    assert call.body == b"s3cr3t"
    assert "s3cr3t" not in repr(call)
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        call.body = b""
    assert len({Page((1, 2), None, 0), Page((1, 2), None, 0)}) == 1
    assert Pager.__abstractmethods__ == {
        "__aiter__", "pages", "collect", "prefetch", "repeats", "disagreement", "to_arrow", "to_pandas",
        "to_polars",
    }  # fmt: skip


@for_each("operation", OPERATIONS.values())
def test_effect_and_scope_of_an_operation_follow_its_method(operation: Any) -> None:
    assert OPERATIONS[operation.name] is operation
    if operation.method == "GET":
        assert (operation.effect, operation.body) == (Effect.READ, None)
    if operation.method in ("PUT", "PATCH", "DELETE"):
        assert operation.effect is Effect.MUTATE
    if operation.path.endswith("/dry-run"):
        assert operation.effect is Effect.PREFLIGHT
    assert operation.scope in ({"read", "trade"} if operation.path != "/oauth/token" else {None})
    assert operation.scope == "trade" or operation.effect is not Effect.MUTATE
    assert (operation.result is None) == (operation.shape is Shape.NONE)
    assert operation.status in ({204, 200} if operation.shape is Shape.NONE else {200, 201})
    assert operation.body is None or operation.body in REQUEST_MODELS


@for_each("model", REQUEST_MODELS)
def test_request_model_is_described_field_by_field(model: Any) -> None:
    fields = REQUEST_MODELS[model].fields
    assert {field.name for field in fields} == {attribute.name for attribute in attrs.fields(model)} - {"extra"}
    assert all((field.kind == "object" and field.model in REQUEST_MODELS) or field.model is None for field in fields)
