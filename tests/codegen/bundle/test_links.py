"""Links of the toy schema: parameters that come from answers."""

from pathlib import Path
from typing import Any

import pytest

from codegen.bundle.document import bundle
from codegen.read.document import Document, SchemaError
from tests.codegen.support import edit


def linked(toy: Path, *links: str) -> dict[str, Any]:
    lines = "".join(f"  - {{{link}}}\n" for link in links)
    edit(toy / "openapi.yaml", "tags:", f"x-links:\n{lines}tags:")
    return bundle(Document(toy))


def test_link_names_the_operation_and_the_value(toy: Path) -> None:
    value = "/data/items/0/number"
    link = f"from: garden.list, value: {value}, parameter: bed_number, to: [garden.remove]"
    links = linked(toy, link)["paths"]["/beds"]["get"]["responses"]["200"]["links"]
    parameters = {"bed_number": f"$response.body#{value}"}
    assert links == {"garden.remove": {"operationId": "garden.remove", "parameters": parameters}}


@pytest.mark.parametrize(
    ("link", "problem"),
    [
        ("from: garden.list, to: []", "must have the keys from, parameter, to, value, got from, to"),
        ("from: garden.sow, value: /x, parameter: bed_number, to: []", "must name operations, got 'garden.sow'"),
        (
            "from: garden.list, value: /x, parameter: colour, to: [garden.remove]",
            "garden.remove must have the path parameter 'colour'",
        ),
    ],
)
def test_invalid_link_is_a_problem(toy: Path, link: str, problem: str) -> None:
    with pytest.raises(SchemaError, match=problem):
        linked(toy, link)
