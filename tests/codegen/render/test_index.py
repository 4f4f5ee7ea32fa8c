"""Index of the schema: the lines that new path items and components imply."""

from pathlib import Path

from codegen.read.load import load
from codegen.render.index import INDEX, render
from tests.codegen.support import TOY, edit, problems_of

SHED = """paths:
  Sheds:
    x-path: /sheds
    get:
      operationId: garden.sheds
      summary: List the sheds.
      x-effect: read
      x-section: Sheds
      responses:
        "200":
          description: Sheds.
          content: {application/json: {schema: {type: array, items: {$ref: "#/schemas/Shed"}}}}
schemas:
  Shed:
    type: object
    description: Shed of a garden.
    x-section: Sheds
    properties:
      width: {type: integer, description: "Width in metres."}
"""


def test_render_new_path_and_component_get_a_line_at_the_end_of_their_section(toy: Path) -> None:
    (toy / "sheds.yaml").write_text(SHED)
    before = (toy / INDEX).read_text().splitlines()
    made = render(toy)
    assert [line for line in made.splitlines() if line not in before] == [
        '  /sheds: {$ref: "sheds.yaml#/paths/Sheds"}',
        '    Shed: {$ref: "sheds.yaml#/schemas/Shed"}',
    ]
    (toy / INDEX).write_text(made)
    assert render(toy) == made
    spec = load(toy)
    assert (spec.operations[-1].path, list(spec.models)[-1]) == ("/sheds", "Shed")


def test_render_invalid_file_is_left_to_the_reader(toy: Path) -> None:
    edit(toy / "garden.yaml", "paths:\n", "paths: [\n")
    assert render(toy) == (TOY / INDEX).read_text()
    assert problems_of(toy)
