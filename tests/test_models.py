"""Every generated model: frozen, slotted, hashable, picklable, with a repr that hides personal data."""

import copy
import pickle
import subprocess
import sys
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, get_args, get_origin, get_type_hints

import attrs
import msgspec
import pytest

from brokerage_async import models
from brokerage_async._generated.converters import WIRES
from brokerage_async._open_enums import OpenStrEnum
from brokerage_async._values import EMPTY, Model
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
    """A model with every field set."""
    hints = get_type_hints(model)
    fields = {field.name: value_of(hints[field.name], depth) for field in attrs.fields(model) if field.name != "extra"}
    return model(**fields, extra={"new-key": [1, {"a": None}]})


def value_of(hint: Any, depth: int) -> Any:
    options = [option for option in get_args(hint) or (hint,) if option is not type(None)]
    if get_origin(hint) is tuple:
        return (value_of(get_args(hint)[0], depth),)
    kind = options[0] if get_origin(hint) is not None and len(options) >= 1 and "|" in str(hint) else hint
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
def test_a_model_is_a_frozen_value_that_travels(model: Any) -> None:
    one, same = sample(model), sample(model)
    assert not hasattr(one, "__dict__")
    for field in attrs.fields(model):
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            setattr(one, field.name, None)
    with pytest.raises((attrs.exceptions.FrozenInstanceError, AttributeError)):
        one.something_else = 1
    assert one == same
    assert hash(one) == hash(same)
    assert one.__eq__("7") is NotImplemented
    name = attrs.fields(model)[0].name
    other = attrs.evolve(one, **{name: None})
    assert other != one
    assert getattr(other, name) is None
    assert attrs.evolve(one, extra={}) != one
    assert hash(attrs.evolve(one, extra={})) == hash(one)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(one, protocol)) == one
    assert copy.deepcopy(one) == one == copy.copy(one)
    assert hash(pickle.loads(pickle.dumps(one))) == hash(one)


@for_each("model", MODELS)
def test_a_built_model_equals_a_constructed_one(model: Any) -> None:
    one = sample(model)
    raw = msgspec.to_builtins(WIRES[model].of(one), builtin_types=(Decimal,))
    built = models.converter.structure(raw, model)
    assert built == one
    assert type(built) is model
    assert hash(built) == hash(one)
    assert pickle.loads(pickle.dumps(built)) == built == copy.deepcopy(built)
    assert attrs.evolve(built) == built
    assert repr(built) == repr(one)
    assert models.converter.unstructure(built) == raw
    empty = WIRES[model]().build()
    assert type(empty) is model
    assert empty.extra is EMPTY
    assert all(getattr(empty, name) in (None, "") for name in model.__slots__ if name != "extra")


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


def test_lists_and_iterables_are_taken_where_tuples_are_kept() -> None:
    leg = models.NewOrderLeg(
        action=models.LegAction.BUY_TO_OPEN, instrument_type=models.InstrumentType.EQUITY, symbol="A"
    )
    order = models.NewOrder(order_type=models.OrderType.MARKET, time_in_force=models.TimeInForce.DAY, legs=[leg])
    assert order.legs == (leg,)
    assert isinstance(hash(order), int)
    assert models.NewWatchlist(name="w", watchlist_entries=iter([])).watchlist_entries == ()
    assert models.WatchlistEntry(symbol="AAPL") != models.NewWatchlistEntry(symbol="AAPL")
    assert models.NewOrderRules(conditions=None).conditions is None


@for_each("wrong", [None, "AAPL", b"AAPL", {"symbol": "AAPL"}, 5, models.NewOrderLeg])
def test_what_is_no_list_is_refused_where_tuples_are_kept(wrong: Any) -> None:
    with pytest.raises(TypeError, match=f"expected a list or tuple, got {type(wrong).__name__}"):
        models.NewOrder(order_type=models.OrderType.MARKET, time_in_force=models.TimeInForce.DAY, legs=wrong)
    if wrong is not None:
        with pytest.raises(TypeError, match="expected a list or tuple"):
            models.NewOrderRules(conditions=wrong)
