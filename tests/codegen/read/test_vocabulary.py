"""Vocabulary of the schema files: unknown keys, values outside their set, invalid names."""

from __future__ import annotations

from pathlib import Path

import pytest

from codegen.read.document import Document
from codegen.read.vocabulary import check_vocabulary
from tests.codegen.support import TOY, edit


def problems_with(folder: Path) -> list[str]:
    """Return the problems that the vocabulary check alone finds."""
    document = Document(folder)
    check_vocabulary(document)
    return document.problems


def test_check_vocabulary_toy_schema_has_no_problems() -> None:
    assert problems_with(TOY) == []


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("x-scope: read", "x-scopes: read", "$.paths.Beds.get: unknown key 'x-scopes': the x- keys are x-aliases, "),
        ("x-effect: mutate", "x-effect: change",
         "$.paths.Bed.patch: x-effect must be one of read, preflight, mutate, got 'change'"),
        ("x-scope: trade", "x-scope: write", "$.paths.Bed.patch: x-scope must be one of read, trade, got 'write'"),
        ("x-result: many", "x-result: all", "$.paths.Beds.get: x-result must be one of one, many, got 'all'"),
        ("x-open-enum: true", "x-open-enum: false", "$.schemas.Season: x-open-enum must be one of True, got False"),
        ("x-wire: [date-text, empty]", "x-wire: [date-text, roman]",
         "$.schemas.Plant.properties.sown: x-wire must list forms out of integer, number, string, epoch-ms, "
         "epoch-day, zero, nan, non-finite, empty, date-text, loose, minus-one, mapping, got 'roman'"),
        ("x-wire: [date-text, empty]", "x-wire: roman", "$.schemas.Plant.properties.sown: x-wire must list forms"),
        ("frost-days:", "frostDays:",
         "$.schemas.Plant.properties: property must be lower-case words joined by dashes, got 'frostDays'"),
        ("frost-days:", "frost_days:",
         "$.schemas.Plant.properties: property must be lower-case words joined by dashes, got 'frost_days'"),
        ("schemas:\n  Season:", "schemas:\n  season: {}\n  Season:",
         "$.schemas: component name must be a class name such as OrderLeg, got 'season'"),
    ],
)  # fmt: skip
def test_check_vocabulary_unknown_word_is_a_problem(old: str, new: str, problem: str, toy: Path) -> None:
    edit(toy / "garden.yaml", old, new)
    assert [found for found in problems_with(toy) if found.startswith(f"garden.yaml: {problem}")]


@pytest.mark.parametrize(
    ("keys", "fitting", "other", "form"),
    [
        ("dashes", "expires-in", "access_token", "lower-case words joined by dashes"),
        ("underscores", "access_token", "expires-in", "lower-case words joined by underscores"),
        ("camel-case", "expiresIn", "expires-in", "words joined by capitals"),
    ],
)
def test_check_vocabulary_keys_of_a_file_decide_on_its_property_names(
    keys: str, fitting: str, other: str, form: str, tmp_path: Path
) -> None:
    (tmp_path / "openapi.yaml").write_text("{}")
    (tmp_path / "a.yaml").write_text(
        f"x-keys: {keys}\nschemas: {{Token: {{properties: {{{fitting}: {{}}, {other}: {{}}}}}}}}"
    )
    assert problems_with(tmp_path) == [f"a.yaml: $.schemas.Token.properties: property must be {form}, got {other!r}"]


def test_check_vocabulary_unknown_keys_of_a_file_are_a_problem(tmp_path: Path) -> None:
    (tmp_path / "openapi.yaml").write_text("x-keys: spaces")
    assert problems_with(tmp_path) == [
        "openapi.yaml: $: x-keys must be one of dashes, underscores, camel-case, got 'spaces'"
    ]


def test_check_vocabulary_dangling_reference_anywhere_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "openapi.yaml").write_text('a: [{b: {$ref: "#/nowhere"}}]')
    assert problems_with(tmp_path) == ["openapi.yaml: $.a[0].b: $ref '#/nowhere': 'nowhere' not found in openapi.yaml"]
