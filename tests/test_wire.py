"""Base of the wire structs."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import msgspec
import pytest

from brokerage_async._wire import DecimalText, Moment, Wire, with_extra


class PlantWire(Wire):
    """Wire form of a plant."""

    height: DecimalText | None = None
    watered_at: Moment | None = None

    def build(self) -> Any:
        return self.height

    @staticmethod
    def of(model: Any) -> Any:
        return PlantWire(height=model)


def test_wire_rejects_unknown_keys_and_naive_times() -> None:
    assert msgspec.json.decode(b'{"height": "1.25"}', type=PlantWire).build_new() == "1.25"
    for body in (b'{"width": "1.25"}', b'{"watered_at": "2026-06-12T14:30:00"}', b'{"height": 1.25}'):
        with pytest.raises(msgspec.ValidationError):
            msgspec.json.decode(body, type=PlantWire)


def test_with_extra_writes_raw_json_over_the_fields() -> None:
    wire = PlantWire(height="1.25")
    assert with_extra(wire, {"height": "NaN", "pinned": True}) == {"height": "NaN", "pinned": True}
    assert with_extra(wire, {"weight": Decimal("2.5")}) == {"height": "1.25", "weight": Decimal("2.5")}
