"""The converter, and the models of another generated package, which even a decoder made before its import knows."""

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import attrs
import cattrs

from brokerage_async import errors, models
from brokerage_async._generated.operations import REQUEST_MODELS
from brokerage_async.protocol.decoding import cattrs_converter
from brokerage_async.protocol.decoding.cattrs_converter import make_converter
from brokerage_async.protocol.registry import wires
from brokerage_async.protocol.validation.requests import problems_of
from tests.codegen.support import TOY, imported
from tests.protocol.values import raised


def test_dicts_and_models() -> None:
    assert isinstance(models.converter, cattrs.Converter)
    assert models.converter is models.converter
    assert cattrs_converter.make_converter() is not models.converter
    raw = {"id": 7, "order-type": "Limit", "price": "1.10", "legs": [{"quantity": 1}], "new": [1.5]}
    order = models.converter.structure(raw, models.Order)
    legs = [models.OrderLeg(quantity=Decimal(1))]
    assert order == models.Order(id="7", order_type="Limit", price=Decimal("1.10"), legs=legs, extra={"new": [1.5]})
    assert order.order_type is models.OrderType.LIMIT
    assert models.converter.unstructure(order) == raw | {"id": "7", "legs": [{"quantity": "1"}]}


def test_lists_of_models_and_models_inside_of_other_classes() -> None:
    @attrs.frozen
    class Portfolio:
        orders: list[models.Order]
        first: models.Order | None
        day: models.SortOrder
        limits: dict[str, Decimal]

    raw = {"orders": [{"id": 1}, {"id": 2}], "first": {"id": 1}, "day": "Asc", "limits": {"a": "1.50"}}
    portfolio = models.converter.structure(raw, Portfolio)
    assert portfolio.orders == [models.Order(id="1"), models.Order(id="2")]
    assert portfolio.first == models.Order(id="1")
    assert portfolio.day is models.SortOrder.ASC
    assert models.converter.unstructure(portfolio) == raw | {"orders": [{"id": "1"}, {"id": "2"}], "first": {"id": "1"}}
    assert models.converter.structure(({"id": 1} for _ in range(2)), list[models.Order]) == [models.Order(id="1")] * 2


def test_structure_takes_python_values_and_objects_and_reports_others(caplog: Any) -> None:
    dividend = models.converter.structure({"occurred-date": date(2026, 1, 2), "amount": 0.25}, models.Dividend)
    assert dividend == models.Dividend(occurred_date=date(2026, 1, 2), amount=Decimal("0.25"))
    for value in (None, 7, "text", []):
        raised(errors.ResponseDecodeError, models.converter.structure, value, models.Order, match="expected an object")
    assert models.converter.structure({"price": ["?"]}, models.Order).extra == {"price": ["?"]}
    assert "Order: $.price: expected decimal, got a list" in caplog.text


def test_decimals_keep_their_digits_and_what_is_no_number_or_no_list_is_rejected() -> None:
    for value, digits in (("1.10", "1.10"), (7, "7"), (0.1, "0.1"), (Decimal("1.10"), "1.10")):
        assert str(models.converter.structure(value, Decimal)) == digits
    converter = cattrs_converter.make_converter()
    assert converter.unstructure([Decimal("1.50"), {"limit": Decimal("1E+2")}]) == ["1.50", {"limit": "100"}]
    for value in (True, None, [], {}, "x", "1_0", float("nan"), float("inf"), Decimal("NaN")):
        raised((TypeError, ValueError), models.converter.structure, value, Decimal, match="decimal")
    for other in ("text", {"id": 1}, 5, None):
        raised(TypeError, models.converter.structure, other, list[models.Order], match="expected a list")


def test_values_of_open_enums_are_taken_known_or_not() -> None:
    assert models.converter.structure("Filled", models.OrderStatus) is models.OrderStatus.FILLED
    unknown = models.converter.structure("Paused", models.OrderStatus)
    assert (str(unknown), unknown.is_known) == ("Paused", False)


def test_package_registers_its_models_when_it_is_imported(tmp_path: Path) -> None:
    converter = make_converter()
    before = len(wires())
    with imported(TOY, tmp_path) as garden:
        plant = garden.models.Plant
        assert wires()[plant] is garden.converters.PlantWire
        assert garden.models.NewPlant in REQUEST_MODELS
        assert converter.structure({"name": "Rosa", "rows": "3"}, plant) == plant(name="Rosa", rows=3)
        assert converter.unstructure(plant(name="Rosa")) == {"name": "Rosa"}
        assert [problem.domain for problem in problems_of(garden.models.NewPlant(name="Rosa", labels=[]))] == ["labels"]
    assert len(wires()) == before
