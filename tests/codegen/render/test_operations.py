"""Generated operations and request bodies, as data."""

from __future__ import annotations

from brokerage_async._generated.models import BacktestLeg, NewOrder
from brokerage_async._generated.operations import REQUEST_MODELS
from brokerage_async.operation import Effect, Provenance, Shape
from codegen.read.load import load
from codegen.render.operations import result_type
from tests.codegen.support import TOY, Package
from tests.tables import for_each


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
