"""Generated models and operations, and how files are written."""

import inspect
from datetime import date
from pathlib import Path
from types import ModuleType
from typing import Any, get_type_hints

import attrs
import pytest

from brokerage_async._generated.models import BacktestLeg, NewOrder
from brokerage_async._generated.operations import REQUEST_MODELS
from brokerage_async.operation import Effect, Provenance, Shape
from codegen.read.load import load
from codegen.render.models import render
from codegen.render.operations import result_type
from codegen.render.write import formatted, stale_files, write
from tests.codegen.support import TOY, Package, edit
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


def test_operation_holds_the_data_of_the_schema(garden: Package) -> None:
    operations = garden.operations
    assert list(operations.OPERATIONS) == [
        "garden.plants", "garden.plant", "garden.edit_bed", "garden.remove", "garden.list",
    ]  # fmt: skip
    plants = operations.OPERATIONS["garden.plants"]
    assert (plants.effect, plants.shape, plants.scope) == (Effect.READ, Shape.PAGE, "read")
    assert [(each.name, each.wire, each.kind, each.array) for each in plants.parameters] == [
        ("bed_number", "bed_number", "identifier", False),
        ("seasons", "season[]", "string", True),
        ("sown_after", "sown-after", "date", False),
        ("sown_before", "sown-before", "date", False),
        ("rows", "rows", "integer", False),
        ("colours", "colours", "string", True),
    ]
    assert plants.parameters[1].choices is garden.models.Season
    assert [(each.minimum, each.maximum) for each in plants.parameters] == [(None, None)] * 4 + [(1, 40), (None, None)]
    assert [each.wire for each in plants.parameters if each.joined] == ["colours"]
    assert plants.rules[1].max_total == (("season[]", "colours"), 9)
    assert plants.identity == ("name", "sown")
    assert operations.GARDEN_LIST.identity == operations.GARDEN_PLANT.identity == ()
    assert plants.rules[0].span == ("sown-after", "sown-before", 3)
    assert operations.GARDEN_PLANT.production_only
    assert operations.GARDEN_EDIT_BED.provenance is Provenance.RECORDED
    assert plants.provenance is Provenance.DOCUMENTED
    body = operations.REQUEST_MODELS[garden.models.NewPlant]
    labels = {field.wire: field for field in body.fields}["labels"]
    assert (labels.required, labels.min_items, labels.model) == (True, 1, garden.models.NewLabel)
    assert [rule.message for rule in body.rules] == [
        "sown is required for Spring: set the date of sowing.",
        "text must be distinct for each label: remove duplicates.",
    ]
    fields = REQUEST_MODELS[BacktestLeg].fields
    numbers = [field.wire for field in fields if field.number]
    assert numbers == ["delta", "percentageOTM", "currentPriceOffset", "premium"]
    assert not any(field.number for field in REQUEST_MODELS[NewOrder].fields)


@for_each(
    "name, annotation",
    [
        ("garden.plants", "list[Plant]"),
        ("garden.list", "list[Bed]"),
        ("garden.plant", "Plant"),
        ("garden.edit_bed", "Bed"),
        ("garden.remove", "None"),
    ],
)
def test_result_type_follows_the_shape(name: str, annotation: str) -> None:
    [operation] = [operation for operation in load(TOY).operations if operation.name == name]
    assert result_type(operation) == annotation


def test_formatted_sorts_formats_and_rejects_invalid_source() -> None:
    source = "import sys\nimport os\nfrom datetime import date, datetime\nx = [os.name,sys.path,   date]\n"
    assert formatted(source) == ("import os\nimport sys\nfrom datetime import date\n\nx = [os.name, sys.path, date]\n")
    with pytest.raises(RuntimeError, match="ruff rejected the generated code: "):
        formatted("def broken(:\n")


def test_formatted_ignores_the_settings_of_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ruff.toml").write_text("line-length = 40\n")
    monkeypatch.chdir(tmp_path)
    line = "x = [" + ", ".join(f'"{number}"' for number in range(15)) + "]\n"
    assert formatted(line) == line


def test_stale_files_reports_different_missing_and_left_over_files(tmp_path: Path) -> None:
    for name in ("same.py", "different.py", "left_over.py", "notes.md"):
        (tmp_path / name).write_text(name)
    files = {"same.py": "same.py", "different.py": "new", "missing.py": ""}
    assert stale_files(files, tmp_path) == ["different.py", "missing.py", "left_over.py"]
    assert stale_files(files, tmp_path, whole_folder=False) == ["different.py", "missing.py"]


def test_write_leaves_exactly_the_generated_files(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    files = {"a.py": "a\n", "b.py": "b\n"}
    assert write(files, folder) == ["a.py", "b.py"]
    (folder / "b.py").write_text("edited")
    (folder / "c.py").write_text("left over")
    assert write(files, folder, whole_folder=False) == ["b.py"]
    assert (folder / "c.py").exists()
    assert write(files, folder) == ["c.py"]
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {"a.py": b"a\n", "b.py": b"b\n"}
    assert write(files, folder) == []
