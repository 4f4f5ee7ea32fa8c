"""Base of the wire structs."""

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from brokerage_async._wire import DecimalText, Moment, Wire, build_list, with_extra
from tests.tables import for_each


class PlantWire(Wire):
    """Wire form of a plant."""

    height: DecimalText | None = None
    watered_at: Moment | None = None

    def build(self) -> Any:
        return self.height

    @staticmethod
    def of(model: Any) -> Any:
        return PlantWire(height=model)


def test_wire_rejects_unknown_keys_and_writes_extra_over_fields() -> None:
    assert msgspec.json.decode(b'{"height": "1.25"}', type=PlantWire).build_new() == "1.25"
    for body in (b'{"width": "1.25"}', b'{"watered_at": "2026-06-12T14:30:00"}', b'{"height": 1.25}'):
        with pytest.raises(msgspec.ValidationError):
            msgspec.json.decode(body, type=PlantWire)
    wire = PlantWire(height="1.25")
    assert with_extra(wire, {"height": "NaN", "pinned": True}) == {"height": "NaN", "pinned": True}
    assert with_extra(wire, {"weight": Decimal("2.5")}) == {"height": "1.25", "weight": Decimal("2.5")}


class SeedWire(Wire):
    """Wire form of a seed, built list by list."""

    name: str | None = None

    @staticmethod
    def build_all(wires: Iterable[Any]) -> list[Any]:
        return [wire.name for wire in wires]

    @staticmethod
    def of(model: Any) -> Any:
        return SeedWire(name=model)


@for_each("wire", [PlantWire(height="1.25"), SeedWire(name="1.25")])
def test_build_and_build_all_follow_from_each_other(wire: Wire) -> None:
    assert wire.build() == wire.build_new() == "1.25"
    assert wire.build_all([wire, wire]) == ["1.25", "1.25"]
    assert build_list([wire, wire]) == ("1.25", "1.25")
    assert build_list([]) == ()
