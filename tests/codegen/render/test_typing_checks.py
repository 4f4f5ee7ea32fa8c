"""Type checks of all model fields."""

from __future__ import annotations

import ast
from pathlib import Path

from codegen.read.load import load
from codegen.render.write import render_typing_checks
from tests.codegen.support import TOY, edit


def test_render_asserts_the_type_of_every_field() -> None:
    spec = load(TOY)
    source = render_typing_checks(spec)["every_field.py"]
    functions = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    assert {function.name: len(function.body) for function in functions} == {
        f"check_{name}": len(model.fields) + 1
        for name, model in zip(
            ("pagination", "bed", "gardener", "plant", "harvest", "new_plant", "new_label", "bed_edit"),
            spec.models.values(),
            strict=True,
        )
    }
    for line in (
        "assert_type(it.frost_days, tuple[date, ...] | None)",
        "assert_type(it.season, models.Season | None)",
        "assert_type(it.labels, tuple[models.NewLabel, ...])",
        "assert_type(it.width, Decimal | None)",
    ):
        assert line in source


def test_render_follows_the_type_in_the_schema(toy: Path) -> None:
    edit(toy / "garden.yaml", "rows: {type: integer,", "rows: {type: boolean,")
    assert "assert_type(it.rows, bool | None)" in render_typing_checks(load(toy))["every_field.py"]
