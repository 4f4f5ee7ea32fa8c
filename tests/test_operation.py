"""Operations, calls and pages, and the generated operations as instances of them."""

import string
from typing import Any

import attrs
import pytest

from brokerage_async._generated.operations import OPERATIONS, REQUEST_MODELS
from brokerage_async.operation import BoundCall, Effect, Operation, Page, Pager, Shape

EVERY = pytest.mark.parametrize("operation", OPERATIONS.values(), ids=lambda operation: operation.name)
KINDS = {"string", "integer", "identifier", "boolean", "decimal", "date", "date-time"}


class TestValues:
    def test_operations_calls_and_pages_are_values(self) -> None:
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


@EVERY
class TestGenerated:
    def test_its_definition_agrees(self, operation: Any) -> None:
        assert OPERATIONS[operation.name] is operation
        assert isinstance(operation, Operation)
        namespace, method = operation.name.split(".")
        assert namespace.isidentifier()
        assert method.isidentifier()
        in_path = [parameter for parameter in operation.parameters if parameter.location == "path"]
        places = [name for _, name, _, _ in string.Formatter().parse(operation.path) if name is not None]
        assert [parameter.wire for parameter in in_path] == places
        assert all(parameter.required and not parameter.array for parameter in in_path)
        assert operation.path.startswith("/")
        assert not operation.path.endswith("/")
        for parameter in operation.parameters:
            assert parameter.kind in KINDS
            assert parameter.location in {"path", "query"}
            assert parameter.name.isidentifier()
            assert (parameter.array and not parameter.joined) == parameter.wire.endswith("[]")
        assert len({parameter.name for parameter in operation.parameters}) == len(operation.parameters)
        assert len({parameter.wire for parameter in operation.parameters}) == len(operation.parameters)
        known = {parameter.wire for parameter in operation.parameters}
        for rule in operation.rules:
            assert addresses(rule) <= known
        if operation.method == "GET":
            assert operation.effect is Effect.READ
            assert operation.body is None
        if operation.method in ("PUT", "PATCH", "DELETE"):
            assert operation.effect is Effect.MUTATE
        if operation.path.endswith("/dry-run"):
            assert operation.effect is Effect.PREFLIGHT
        assert operation.scope in ({"read", "trade"} if operation.path != "/oauth/token" else {None})
        if operation.effect is Effect.MUTATE:
            assert operation.scope == "trade"
        assert (operation.result is None) == (operation.shape is Shape.NONE)
        assert operation.status != 204 or operation.shape is Shape.NONE
        assert operation.status in {200, 201, 204}
        assert operation.body is None or operation.body in REQUEST_MODELS


def addresses(rule: Any) -> Any:
    named = {*rule.when, *rule.unless, *rule.require, *rule.forbid, *rule.require_value, *rule.exclusive}
    if rule.distinct is not None:
        named.add(rule.distinct)
    named.update(rule.require_any)
    named.update(limit[0] for limit in (rule.max_items, rule.min_items) if limit is not None)
    named.update(rule.max_total[0] if rule.max_total is not None else ())
    if rule.span is not None:
        named |= {rule.span[0], rule.span[1]}
    return named


@pytest.mark.parametrize("model", REQUEST_MODELS, ids=lambda model: model.__name__)
class TestRequestModels:
    def test_its_fields_and_rules_agree(self, model: Any) -> None:
        described = {field.name for field in REQUEST_MODELS[model].fields}
        assert described == {attribute.name for attribute in attrs.fields(model)} - {"extra"}
        for field in REQUEST_MODELS[model].fields:
            assert field.kind in KINDS | {"object"}
            assert field.model is None or field.model in REQUEST_MODELS
            assert field.kind == "object" or field.model is None
        fields = {field.wire: field for field in REQUEST_MODELS[model].fields}
        for rule in REQUEST_MODELS[model].rules:
            assert rule.message
            for address in addresses(rule):
                owner, inside, leaf = address.partition("[].")
                assert owner in fields
                if inside:
                    assert fields[owner].array
                    assert leaf in {field.wire for field in REQUEST_MODELS[fields[owner].model].fields}
        for rule in REQUEST_MODELS[model].rules:
            demands = (rule.require, rule.forbid, rule.require_value, rule.exclusive, rule.positive, rule.not_negative)
            single = (rule.distinct, rule.max_items, rule.min_items, rule.max_total, rule.span, rule.require_any)
            several = [*filter(None, demands), *filter(None, single)]
            assert len(several) == 1
