"""The generated endpoints: their signatures, what they hand to the executor, and how one is added."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

from brokerage_async.operation import Effect, Pager, Shape
from tests.codegen.support import Package, garden, imported, toy  # noqa: F401


class Recorder:
    """An executor that only remembers what it was asked."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, dict[str, Any]]] = []

    async def execute(self, operation: Any, **arguments: Any) -> str:
        self.calls.append((operation, arguments))
        return "the result"

    def paginate(self, operation: Any, **arguments: Any) -> str:
        self.calls.append((operation, arguments))
        return "the pager"


async def test_arguments_reach_the_executor_under_their_wire_names(garden: Package) -> None:  # noqa: F811
    recorder = Recorder()
    beds = garden.endpoints.Endpoints(recorder).garden
    assert beds.plants(7, seasons=["Spring"]) == "the pager"
    assert await beds.list() == "the result"
    assert await beds.remove("7") == "the result"
    new = garden.models.NewPlant(name="Rose", labels=[garden.models.NewLabel(text="red")])
    await beds.plant(7, new)
    await beds.edit_bed(7, season="Spring")
    operations = garden.operations
    assert recorder.calls == [
        (operations.GARDEN_PLANTS, {
            "path": {"bed_number": 7},
            "query": {"season[]": ["Spring"], "sown-after": None, "sown-before": None, "rows": None},
        }),
        (operations.GARDEN_LIST, {}),
        (operations.GARDEN_REMOVE, {"path": {"bed_number": "7"}}),
        (operations.GARDEN_PLANT, {"path": {"bed_number": 7}, "body": new}),
        (operations.GARDEN_EDIT_BED, {
            "path": {"bed_number": 7},
            "body": garden.models.BedEdit(season=garden.models.Season.SPRING),
        }),
    ]  # fmt: skip


async def test_only_text_becomes_a_member_and_the_rest_is_left_to_validation(garden: Package) -> None:  # noqa: F811
    recorder = Recorder()
    beds = garden.endpoints.Endpoints(recorder).garden
    for given in (None, 5, "Spring", "Monsoon"):
        await beds.edit_bed(7, season=given)
    seasons = [arguments["body"].season for _, arguments in recorder.calls]
    assert seasons == [None, 5, garden.models.Season.SPRING, "Monsoon"]
    assert [isinstance(season, garden.models.Season) for season in seasons] == [False, False, True, True]


def test_filters_are_keyword_only_and_the_documentation_says_it_all(garden: Package) -> None:  # noqa: F811
    plants = garden.endpoints.Garden.plants
    kinds = {name: parameter.kind for name, parameter in inspect.signature(plants).parameters.items()}
    assert kinds["bed_number"] is inspect.Parameter.POSITIONAL_OR_KEYWORD
    assert {kinds[name] for name in ("seasons", "sown_after", "sown_before")} == {inspect.Parameter.KEYWORD_ONLY}
    text = inspect.getdoc(plants) or ""
    for expected in (
        "List the plants",
        "seasons: Only plants of these",
        "NotFoundError: 404",
        "GET /beds/{bed_number}/plants",
    ):
        assert expected in text
    assert "Observed on the wire" in (inspect.getdoc(garden.endpoints.Garden.edit_bed) or "")


def test_operations_are_data(garden: Package) -> None:  # noqa: F811
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
    ]
    assert plants.parameters[1].choices is garden.models.Season
    assert [(each.minimum, each.maximum) for each in plants.parameters] == [(None, None)] * 4 + [(1, 40)]
    assert plants.rules[0].span == ("sown-after", "sown-before", 3)
    assert operations.GARDEN_PLANT.production_only
    assert operations.GARDEN_EDIT_BED.observed
    body = operations.REQUEST_MODELS[garden.models.NewPlant]
    labels = {field.wire: field for field in body.fields}["labels"]
    assert (labels.required, labels.min_items, labels.model) == (True, 1, garden.models.NewLabel)
    assert [rule.message for rule in body.rules] == ["In spring say when it is sown.", "Two labels are alike."]


ANIMALS_PATHS = """\
  Animals:
    get:
      operationId: garden.animals
      summary: List the animals seen in the garden.
      x-effect: read
      x-scope: read
      x-section: Animals
      parameters:
        - {name: legs, in: query, required: true, schema: {type: integer}, description: "Number of legs."}
      responses:
        "200":
          description: The animals.
          content:
            application/json:
              schema:
                allOf: [{$ref: "common.yaml#/schemas/ListEnvelope"}]
                properties: {data: {properties: {items: {items: {$ref: "#/schemas/Animal"}}}}}
"""
ANIMALS_SCHEMAS = """\
  Animal:
    type: object
    description: An animal.
    x-section: Animals
    properties:
      name: {type: string, description: "Its name."}
      seen-at: {type: string, format: date-time, description: "When it was seen."}
"""


async def test_an_endpoint_is_added_by_editing_the_schema_alone(toy: Path, tmp_path: Path) -> None:  # noqa: F811
    garden_file, root = toy / "garden.yaml", toy / "openapi.yaml"
    text = garden_file.read_text().replace("paths:\n", f"paths:\n{ANIMALS_PATHS}", 1)
    garden_file.write_text(text.replace("\nschemas:\n", f"\nschemas:\n{ANIMALS_SCHEMAS}", 1))
    listed = root.read_text().replace("paths:\n", 'paths:\n  /animals: {$ref: "garden.yaml#/paths/Animals"}\n', 1)
    root.write_text(
        listed.replace("  schemas:\n", '  schemas:\n    Animal: {$ref: "garden.yaml#/schemas/Animal"}\n', 1)
    )

    with imported(toy, tmp_path) as package:
        recorder = Recorder()
        assert await package.endpoints.Endpoints(recorder).garden.animals(4) == "the result"
        [(operation, arguments)] = recorder.calls
        assert (operation.method, operation.path, operation.result) == ("GET", "/animals", package.models.Animal)
        assert arguments == {"query": {"legs": 4}}
        row = package.converters.AnimalWire(name="Fox").build()
        assert row == package.models.Animal(name="Fox")


def test_a_paginated_endpoint_is_typed_as_a_pager(garden: Package) -> None:  # noqa: F811
    assert (
        inspect.signature(garden.endpoints.Garden.plants, eval_str=True).return_annotation == Pager[garden.models.Plant]
    )
    assert not inspect.iscoroutinefunction(garden.endpoints.Garden.plants)
    assert inspect.iscoroutinefunction(garden.endpoints.Garden.list)
