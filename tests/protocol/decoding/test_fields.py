"""The fields of wire structs, read from the structs themselves."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import attrs

from brokerage_async._generated import converters
from brokerage_async._generated.converters import WIRES, Wire
from brokerage_async.protocol.decoding.fields import forms, wire_fields
from tests.tables import for_each

ORDER, OPTION = wire_fields(converters.OrderWire), wire_fields(converters.EquityOptionWire)


@for_each("model, wire", WIRES.items())
def test_wire_fields_are_those_of_the_struct_and_of_the_model(model: type[Any], wire: type[Wire]) -> None:
    fields, names = wire_fields(wire), {field.name for field in attrs.fields(model)}
    assert [field.attribute for field in fields.values()] == list(wire.__struct_fields__)
    assert list(fields) == list(wire.__struct_encode_fields__)
    for key, field in fields.items():
        assert field.key == key
        assert field.target in names
        assert field.alias_of is None or fields[field.alias_of].target == field.target
        assert not (field.many and field.child is None)


@for_each(
    "fields, key, expected",
    [
        (ORDER, "price", {"scalars": {"decimal"}, "settled": False}),
        (ORDER, "gtc-date", {"scalars": {"date"}, "settled": True}),
        (ORDER, "cancellable", {"scalars": {"bool"}, "settled": True}),
        (ORDER, "status", {"scalars": set(), "settled": True}),
        (ORDER, "updated-at", {"scalars": {"datetime", "int"}}),
        (ORDER, "legs", {"child": converters.OrderLegWire, "many": True, "array": False}),
        (ORDER, "order-rule", {"child": converters.OrderRuleWire, "many": False, "alias_of": None}),
        (ORDER, "rules", {"child": converters.OrderRuleWire, "target": "order_rule", "alias_of": "order-rule"}),
        (OPTION, "days-to-expiration", {"scalars": {"int"}, "settled": True}),
        (OPTION, "strike-price", {"settled": False}),
    ],
)
def test_fields_know_their_types(fields: Any, key: str, expected: dict[str, Any]) -> None:
    assert {name: getattr(fields[key], name) for name in expected} == expected


MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
NAIVE = MOMENT.replace(tzinfo=None)


@for_each(
    "field, raw, expected",
    [
        *((ORDER["price"], number, [str(number)]) for number in (5, 0.1, Decimal("1.10"))),
        (ORDER["received-at"], "2026-01-01T00:00:00", ["2026-01-01T00:00:00Z"]),
        (ORDER["received-at"], NAIVE, [MOMENT]),
        (ORDER["received-at"], MOMENT, []),
        (ORDER["price"], NAIVE, []),
        (OPTION["days-to-expiration"], "-7", [-7]),
        (OPTION["days-to-expiration"], Decimal("7.0"), [7]),
        *((OPTION["days-to-expiration"], raw, []) for raw in ("7.0", 7.5, Decimal("1E+400"), True, None)),
        (ORDER["cancellable"], "true", []),
        (ORDER["legs"], {}, []),
    ],
)
def test_equivalents_lose_and_guess_nothing(field: Any, raw: Any, expected: list[Any]) -> None:
    assert list(forms(field, raw)) == [raw, *expected]


def test_an_alias_names_the_proper_key_and_an_array_is_never_settled() -> None:
    aliases = {key: field.alias_of for key, field in ORDER.items() if field.alias_of is not None}
    assert aliases == {"rules": "order-rule"}
    months = wire_fields(converters.FutureProductWire)["listed-months"]
    assert (months.array, months.settled, months.scalars) == (True, False, {"str"})
