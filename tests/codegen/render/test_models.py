"""Generated models and operations, and how files are written."""

from datetime import date
from pathlib import Path
from types import ModuleType
from typing import Any, get_type_hints

import attrs
import pytest

from brokerage_async._generated.models import BacktestLeg, NewOrder
from brokerage_async._generated.operations import REQUEST_MODELS
from codegen.read.load import load
from codegen.render.models import render
from codegen.render.write import formatted, stale_files, write
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


@for_each("sequence", [list, tuple, iter])
def test_model_array_is_stored_as_a_tuple(sequence: Any, models: ModuleType) -> None:
    assert models.Plant(neighbours=sequence(["a", "b"])).neighbours == ("a", "b")
    assert models.Plant(neighbours=None).neighbours is None


def test_enumeration_that_ignores_case_reads_known_values_in_any_case(toy: Path) -> None:
    edit(toy / "garden.yaml", "    x-open-enum: true\n", "    x-open-enum: true\n    x-ignore-case: true\n")
    source = render(load(toy), "")
    assert "class Season(AnyCaseStrEnum):" in source
    assert "(OpenStrEnum)" not in source


def test_numbers_of_a_request_model_are_known() -> None:
    fields = REQUEST_MODELS[BacktestLeg].fields
    numbers = [field.wire for field in fields if field.number]
    assert numbers == ["delta", "percentageOTM", "currentPriceOffset", "premium"]
    assert not any(field.number for field in REQUEST_MODELS[NewOrder].fields)


def test_formatted_ignores_local_settings_and_rejects_invalid_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ruff.toml").write_text("line-length = 40\n")
    monkeypatch.chdir(tmp_path)
    line = "x = [" + ", ".join(f'"{number}"' for number in range(15)) + "]\n"
    assert formatted(line) == line
    source = "import sys\nimport os\nfrom datetime import date, datetime\nx = [os.name,sys.path,   date]\n"
    assert formatted(source) == ("import os\nimport sys\nfrom datetime import date\n\nx = [os.name, sys.path, date]\n")
    with pytest.raises(RuntimeError, match="ruff rejected the generated code: "):
        formatted("def broken(:\n")


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
