"""Operations, calls and pages, and the generated operations as instances of them."""

from typing import Any

import attrs
import pytest

from brokerage_async._generated.operations import OPERATIONS, REQUEST_MODELS
from brokerage_async.operation import BoundCall, Effect, Page, Pager, Shape
from tests.tables import for_each


def test_operations_calls_and_pages_are_values() -> None:
    one = OPERATIONS["watchlists.list"]
    assert one == one
    assert one != attrs.evolve(one)
    assert len({one, attrs.evolve(one)}) == 2
    assert repr(one) == "<Operation watchlists.list: GET /watchlists>"
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        OPERATIONS["orders.submit"].effect = Effect.READ
    live = OPERATIONS["orders.live"]
    call = live.bind(customer_id="me", account_numbers=["A1"], per_page=None)
    assert call == BoundCall(live, path={"customer_id": "me"}, query={"account-numbers[]": ["A1"]})
    assert OPERATIONS["orders.submit"].bind(account_number="A1", body=b"{}").body == b"{}"
    with pytest.raises(TypeError, match=r"orders\.live has no parameter 'account_number'"):
        OPERATIONS["orders.live"].bind(customer_id="me", account_number="A1")
    call = OPERATIONS["orders.submit"].bind(account_number="A1", body=b"s3cr3t")
    assert call == OPERATIONS["orders.submit"].bind(account_number="A1", body=b"s3cr3t")
    assert hash(call) == hash(attrs.evolve(call))
    assert "s3cr3t" not in repr(call)
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        call.body = b""
    assert Page((1, 2), None, 0) == Page((1, 2), None, 0)
    assert hash(Page((1, 2), None, 0)) == hash(Page((1, 2), None, 0))
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
