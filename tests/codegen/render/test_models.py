"""Generated models and enumerations."""

from __future__ import annotations

import inspect
from datetime import date
from pathlib import Path
from types import ModuleType
from typing import Any, get_type_hints

import attrs
import pytest

from codegen.read.load import load
from codegen.render.models import render
from tests.codegen.support import Package, edit
from tests.tables import for_each


@pytest.fixture
def models(garden: Package) -> ModuleType:
    return garden.models


def test_models_have_the_fields_of_the_schema(models: ModuleType) -> None:
    plant = models.Plant(name="Rose")
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        plant.name = "Rye"
    with pytest.raises(TypeError):
        models.Plant("Rose")
    assert not hasattr(plant, "__dict__")
    hints = get_type_hints(models.Plant)
    assert [field.name for field in attrs.fields(models.Plant)] == [
        "name", "season", "height", "price", "weight", "rows", "perennial", "sown", "frost_days", "watered_at",
        "weeded_at", "pruned_at", "frozen_at", "neighbours", "harvests", "secret_recipe", "extra",
    ]  # fmt: skip
    assert hints["season"] == models.Season | None
    assert hints["frost_days"] == tuple[date, ...] | None
    assert hints["harvests"] == tuple[models.Harvest, ...] | None
    required = {field.name for field in attrs.fields(models.NewPlant) if field.default is attrs.NOTHING}
    assert required == {"name", "labels"}
    assert all(field.default is not attrs.NOTHING for field in attrs.fields(models.Plant))
    bed, harvest = (inspect.getdoc(model) or "" for model in (models.Bed, models.Harvest))
    assert bed == ("Bed of a garden.\n\nA bed holds many plants.\n\nSee section Beds of the service document.")
    assert harvest == (
        "Harvest of a plant.\n\nSee section Plants of the service document. "
        "Recorded from the service, not described there."
    )
    source = inspect.getsource(models.Plant)
    assert '    secret_recipe: str | None = attrs.field(default=None, repr=False)\n    """Secret recipe."""' in source
    assert '"""Harvests of the plant. Recorded, not documented."""' in source
    spring, summer = models.Season.SPRING, models.Season.HIGH_SUMMER
    rose = models.Plant(name="Rose", season=spring)
    assert models.BedEdit.of(rose) == models.BedEdit(season=spring)
    assert models.BedEdit.of(rose, season=summer) == models.BedEdit(season=summer)
    assert models.BedEdit.of(models.NewPlant(name="Rose", labels=[])) == models.BedEdit()
    assert not hasattr(models.NewPlant, "of")
    assert [(member.name, member.value) for member in models.Season] == [
        ("SPRING", "Spring"), ("HIGH_SUMMER", "High Summer"), ("UNKNOWN", "?"),
    ]  # fmt: skip
    assert not models.Season("Monsoon").is_known
    assert "Not in the service document: `?`." in (inspect.getdoc(models.Season) or "")


@for_each("sequence", [list, tuple, iter])
def test_model_array_is_stored_as_a_tuple(sequence: Any, models: ModuleType) -> None:
    assert models.Plant(neighbours=sequence(["a", "b"])).neighbours == ("a", "b")
    assert models.Plant(neighbours=None).neighbours is None


def test_enumeration_that_ignores_case_reads_known_values_in_any_case(toy: Path) -> None:
    edit(toy / "garden.yaml", "    x-open-enum: true\n", "    x-open-enum: true\n    x-ignore-case: true\n")
    source = render(load(toy), "")
    assert "class Season(AnyCaseStrEnum):" in source
    assert "(OpenStrEnum)" not in source
