"""Every decoder knows the models of another generated package, even a decoder made before its import."""

from pathlib import Path

from brokerage_async._generated.operations import REQUEST_MODELS
from brokerage_async.protocol.decoding.cattrs_converter import make_converter
from brokerage_async.protocol.registry import wires
from brokerage_async.protocol.validation.requests import problems_of
from tests.codegen.support import TOY, imported


def test_package_registers_its_models_when_it_is_imported(tmp_path: Path) -> None:
    converter = make_converter()
    before = len(wires())
    with imported(TOY, tmp_path) as garden:
        plant = garden.models.Plant
        assert wires()[plant] is garden.converters.PlantWire
        assert garden.models.NewPlant in REQUEST_MODELS
        assert converter.structure({"name": "Rosa", "rows": "3"}, plant) == plant(name="Rosa", rows=3)
        assert converter.unstructure(plant(name="Rosa")) == {"name": "Rosa"}
        assert [problem.domain for problem in problems_of(garden.models.NewPlant(name="Rosa", labels=[]))] == ["labels"]
    assert len(wires()) == before
