"""Base of the wire structs."""

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from brokerage_async import _wire
from brokerage_async._wire import DecimalText, Moment, Shared, Wire, build_list, with_extra


class PlantWire(Wire):
    """Wire form of a plant."""

    height: DecimalText | None = None
    watered_at: Moment | None = None

    @staticmethod
    def build_all(wires: Iterable[Any]) -> list[Any]:
        return [wire.height for wire in wires]

    @staticmethod
    def of(model: Any) -> Any:
        return PlantWire(height=model)


def test_wire_rejects_unknown_keys_and_writes_extra_over_fields() -> None:
    assert msgspec.json.decode(b'{"height": "1.25"}', type=PlantWire).build() == "1.25"
    for body in (b'{"width": "1.25"}', b'{"watered_at": "2026-06-12T14:30:00"}', b'{"height": 1.25}'):
        with pytest.raises(msgspec.ValidationError):
            msgspec.json.decode(body, type=PlantWire)
    wire = PlantWire(height="1.25")
    assert with_extra(wire, {"height": "NaN", "pinned": True}) == {"height": "NaN", "pinned": True}
    assert with_extra(wire, {"weight": Decimal("2.5")}) == {"height": "1.25", "weight": Decimal("2.5")}


def test_a_list_of_structs_is_built_and_one_of_models_is_left_alone() -> None:
    wire = PlantWire(height="1.25")
    assert build_list([wire, wire]) == build_list(("1.25", "1.25")) == ("1.25", "1.25")
    assert SEEDS["1.25", "1.25"] == ("1.25", "1.25")
    assert build_list([]) == ()


class SeedWire(Wire, frozen=True):
    """Wire form of a seed, whose models are shared."""

    name: str | int | None = None

    @staticmethod
    def build_new(wires: Iterable[Any]) -> list[Any]:
        return [[wire.name] for wire in wires]

    @staticmethod
    def build_all(wires: Iterable[Any]) -> tuple[Any, ...]:
        return SEEDS[tuple(wires)]


SEEDS: Shared[Any] = Shared(SeedWire.build_new)


def test_equal_lists_of_shared_models_become_one_tuple_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = (SeedWire(name="a"), SeedWire(name="b")), (SeedWire(name="a"), SeedWire(name="b"))
    assert SEEDS[one] is SEEDS[other]
    assert SEEDS[one] == (["a"], ["b"])
    assert one[0].build() is other[0].build()
    assert SeedWire.build_new(one)[0] is not SeedWire.build_new(one)[0]
    assert SeedWire(name=1).build() != SeedWire(name="1").build()
    for long in ((SeedWire(name="a" * 65),), (SeedWire(name="a"),) * 65):
        assert SEEDS[long] == SEEDS[long]
        assert SEEDS[long] is not SEEDS[long]
    monkeypatch.setattr(_wire, "MAX_SHARED", 2)
    built = [SeedWire(name=f"full {number}").build() for number in range(3)]
    assert SeedWire(name="full 2").build() is built[2]
    assert SeedWire(name="full 0").build() is not built[0]
