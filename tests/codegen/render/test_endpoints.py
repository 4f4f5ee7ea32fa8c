"""Generated endpoints: signatures, docstrings, arguments of the executor, and a new endpoint."""

import inspect
from pathlib import Path
from typing import Any

from brokerage_async.operation import BoundCall, Pager
from tests.codegen.support import Package, edit, imported


class Recorder:
    """Executor that records its calls."""

    def __init__(self) -> None:
        self.calls: list[BoundCall[Any]] = []

    async def execute(self, call: BoundCall[Any]) -> str:
        self.calls.append(call)
        return "the result"

    def paginate(self, call: BoundCall[Any]) -> str:
        self.calls.append(call)
        return "the pager"


async def test_method_passes_arguments_by_wire_name(garden: Package) -> None:
    recorder = Recorder()
    beds = garden.endpoints.Endpoints(recorder).garden
    assert beds.plants(7, seasons=["Spring"]) == "the pager"
    assert await beds.list() == "the result"
    assert await beds.remove("7") == "the result"
    new = garden.models.NewPlant(name="Rose", labels=[garden.models.NewLabel(text="red")])
    await beds.plant(7, new)
    await beds.edit_bed(7, season="Spring")
    operations = garden.operations
    edit = garden.models.BedEdit(season=garden.models.Season.SPRING)
    assert recorder.calls == [
        BoundCall(operations.GARDEN_PLANTS, path={"bed_number": 7}, query={"season[]": ["Spring"]}),
        BoundCall(operations.GARDEN_LIST),
        BoundCall(operations.GARDEN_REMOVE, path={"bed_number": "7"}),
        BoundCall(operations.GARDEN_PLANT, path={"bed_number": 7}, body=new),
        BoundCall(operations.GARDEN_EDIT_BED, path={"bed_number": 7}, body=edit),
    ]


async def test_method_takes_filters_by_keyword_and_returns_a_pager(garden: Package) -> None:
    parameters = inspect.signature(garden.endpoints.Garden.plants).parameters
    kinds = {name: parameter.kind for name, parameter in parameters.items()}
    assert kinds["bed_number"] is inspect.Parameter.POSITIONAL_OR_KEYWORD
    assert {kinds[name] for name in ("seasons", "sown_after", "sown_before")} == {inspect.Parameter.KEYWORD_ONLY}
    assert (
        inspect.signature(garden.endpoints.Garden.plants, eval_str=True).return_annotation == Pager[garden.models.Plant]
    )
    assert not inspect.iscoroutinefunction(garden.endpoints.Garden.plants)
    assert inspect.iscoroutinefunction(garden.endpoints.Garden.list)
    recorder = Recorder()
    beds = garden.endpoints.Endpoints(recorder).garden
    for given in (None, 5, "Spring", "Monsoon"):
        await beds.edit_bed(7, season=given)
    seasons = [call.body.season for call in recorder.calls]
    assert seasons == [None, 5, garden.models.Season.SPRING, "Monsoon"]
    assert [isinstance(season, garden.models.Season) for season in seasons] == [False, False, True, True]


ANIMALS_PATHS = """\
  Animals:
    get:
      operationId: garden.animals
      summary: List the animals of the garden.
      x-effect: read
      x-scope: read
      x-section: Animals
      parameters:
        - {name: legs, in: query, required: true, schema: {type: integer}, description: "Number of legs."}
      responses:
        "200":
          description: Animals of the garden.
          content:
            application/json:
              schema:
                allOf: [{$ref: "common.yaml#/schemas/ListEnvelope"}]
                properties: {data: {properties: {items: {items: {$ref: "#/schemas/Animal"}}}}}
"""
ANIMALS_SCHEMAS = """\
  Animal:
    type: object
    description: Animal of the garden.
    x-section: Animals
    properties:
      name: {type: string, description: "Name of the animal."}
      seen-at: {type: string, format: date-time, description: "Time of the sighting."}
"""


async def test_render_new_path_in_the_schema_adds_an_endpoint(toy: Path, tmp_path: Path) -> None:
    edit(toy / "garden.yaml", "paths:\n", f"paths:\n{ANIMALS_PATHS}")
    edit(toy / "garden.yaml", "\nschemas:\n", f"\nschemas:\n{ANIMALS_SCHEMAS}")
    edit(toy / "openapi.yaml", "paths:\n", 'paths:\n  /animals: {$ref: "garden.yaml#/paths/Animals"}\n')
    edit(toy / "openapi.yaml", "  schemas:\n", '  schemas:\n    Animal: {$ref: "garden.yaml#/schemas/Animal"}\n')

    with imported(toy, tmp_path) as package:
        recorder = Recorder()
        assert await package.endpoints.Endpoints(recorder).garden.animals(4) == "the result"
        [call] = recorder.calls
        operation = call.operation
        assert (operation.method, operation.path, operation.result) == ("GET", "/animals", package.models.Animal)
        assert (call.path, call.query, call.body) == ({}, {"legs": 4}, None)
        row = package.converters.AnimalWire(name="Fox").build()
        assert row == package.models.Animal(name="Fox")
