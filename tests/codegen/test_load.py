# ruff: noqa: E501
"""A schema folder as a Spec and as one document: every mistake is reported with its place.

Right schemas stand in the golden sample, and in the generated package, which ``python -m codegen --check`` compares.
"""

from pathlib import Path

import pytest

from codegen.read.load import load
from tests.codegen.support import document, edit, problems_of
from tests.tables import for_each

PLANT = "garden.yaml: $.schemas.Plant"
SEASON = "garden.yaml: $.schemas.Season"
PLANTS = "garden.yaml: $.paths.Plants.get"
BEDS = "garden.yaml: $.paths.Beds.get"


@pytest.mark.parametrize(
    ("file", "old", "new", "problem"),
    [
        # vocabulary
        ("garden.yaml", "x-scope: read", "x-scopes: read", f"{BEDS}: unknown key 'x-scopes': the x- keys are x-aliases, "),
        ("garden.yaml", "x-effect: mutate", "x-effect: change", "garden.yaml: $.paths.Bed.patch: x-effect must be one of read, preflight, mutate, got 'change'"),
        ("garden.yaml", "x-scope: trade", "x-scope: write", "garden.yaml: $.paths.Bed.patch: x-scope must be one of read, trade, got 'write'"),
        ("garden.yaml", "x-result: many", "x-result: all", f"{BEDS}: x-result must be one of one, many, got 'all'"),
        ("garden.yaml", "x-open-enum: true", "x-open-enum: false", f"{SEASON}: x-open-enum must be one of True, got False"),
        ("garden.yaml", "x-wire: [date-text, empty]", "x-wire: [date-text, roman]", f"{PLANT}.properties.sown: x-wire must list forms out of integer, number, string, epoch-ms, epoch-day, zero, nan, non-finite, empty, date-text, loose, minus-one, mapping, got 'roman'"),
        ("garden.yaml", "x-wire: [date-text, empty]", "x-wire: roman", f"{PLANT}.properties.sown: x-wire must list forms"),
        ("garden.yaml", "frost-days:", "frost_days:", f"{PLANT}.properties: property must be lower-case words joined by dashes, got 'frost_days'"),
        ("garden.yaml", "schemas:\n  Season:", "schemas:\n  season: {}\n  Season:", "garden.yaml: $.schemas: component name must be a class name such as OrderLeg, got 'season'"),
        ("garden.yaml", "to: sown-before", "to: sown-until", f"{PLANTS}.x-rules[0]: unknown field 'sown-until'"),
        ("garden.yaml", "properties:\n      text:", "properties:\n    text:", "garden.yaml: $.schemas.NewLabel.properties: must be an object, got None"),
        # components
        ("garden.yaml", "operationId: garden.plants", "operationId: orchard.plants", "openapi.yaml: $: tags must list 'orchard', the namespace of orchard.plants"),
        ("openapi.yaml", "    Harvest: {$ref", "    Yield: {$ref", "garden.yaml: $.schemas.Harvest: must be listed in openapi.yaml under its own name, got 'Yield'"),
        ("garden.yaml", "    description: Season of growth.\n", "", f"{SEASON}: description is missing"),
        ("garden.yaml", "    x-section: Plants\n    x-open-enum", "    x-open-enum", f"{SEASON}: x-section is missing: name the section of the service document"),
        ("garden.yaml", "    x-open-enum: true\n", "", f"{SEASON}: x-open-enum must be true: the service may send values that are not listed"),
        ("garden.yaml", "[SPRING, HIGH_SUMMER, UNKNOWN]", "[SPRING, HIGH_SUMMER]", f"{SEASON}: x-enum-varnames must have 3 names, got 2"),
        ("garden.yaml", "    x-enum-varnames: [SPRING, HIGH_SUMMER, UNKNOWN]\n", "", f"{SEASON}: value '?' does not yield a Python name: add x-enum-varnames"),
        ("garden.yaml", "x-observed: [\"?\"]", "x-observed: [Winter]", f"{SEASON}: x-observed must list values of enum, got 'Winter'"),
        ("garden.yaml", "enum: [Spring,", "enum: [High Summer,", f"{SEASON}: duplicate value 'High Summer'"),
        ("garden.yaml", "enum: [Spring, High Summer,", "x-ignore-case: true\n    enum: [HIGH summer, High Summer,", f"{SEASON}: duplicate value 'high summer'"),
        ("garden.yaml", "[SPRING, HIGH_SUMMER,", "[SPRING, SPRING,", f"{SEASON}: duplicate name 'SPRING'"),
        ("garden.yaml", "name: {type: string, description: \"Name of the plant, such as `Rosa  canina`.\"}", "name: {type: string}", f"{PLANT}.properties.name: description is missing"),
        ("garden.yaml", "rows: {type: integer, x-wire", "extra: {type: integer, x-wire", f"{PLANT}: a property yields the Python name 'extra', which the generated classes reserve"),
        ("garden.yaml", "rows: {type: integer, x-wire", "date: {type: integer, x-wire", f"{PLANT}: a property yields the Python name 'date', which the generated classes reserve"),
        ("garden.yaml", "required: [text]", "required: [words]", "garden.yaml: $.schemas.NewLabel: required must list properties, got 'words'"),
        ("garden.yaml", "many plants.\n", "many plants.\n    x-shared: true\n", "garden.yaml: $.schemas.Bed: x-shared requires fields without aliases, mappings, objects and decimals that may be numbers"),
        ("garden.yaml", "    x-provenance: client\n    x-shared: true\n", "    x-provenance: client\n", "openapi.yaml: $: x-shared of Harvest requires that the models in it are shared"),
        ("openapi.yaml", "{name: garden,", "{name: plant, description: \"Clash.\"}\n  - {name: garden,", "openapi.yaml: $: component 'Plant' has the name of the class of namespace 'plant'"),
        ("garden.yaml", "rows: {type: integer, ", "rows: {type: integer, x-always: true, ", f"{PLANT}.properties.rows: x-always requires a string that is neither required nor has aliases"),
        ("garden.yaml", "x-identity: [name, sown]", "x-identity: [name, number]", f"{PLANT}: x-identity must list scalar properties, got ['name', 'number']"),
        ("garden.yaml", "x-identity: [name, sown]", "x-identity: [neighbours]", f"{PLANT}: x-identity must list scalar properties, got ['neighbours']"),
        ("garden.yaml", "x-identity: [name, sown]", "x-identity: [{}]", f"{PLANT}: x-identity must list scalar properties, got [{{}}]"),
        ("garden.yaml", "x-identity: [name, sown]", "x-identity: name", f"{PLANT}: x-identity must list scalar properties, got 'name'"),
        ("garden.yaml", "    x-identity: [name, sown]\n", "", "garden.yaml: $.paths.Plants.get: Plant needs x-identity, because its lists come in pages: [] if nothing identifies a row"),
        ("garden.yaml", "fields: [season]", "names: [season]", "garden.yaml: $.schemas.BedEdit: x-restates must have the keys from and fields, got "),
        ("garden.yaml", "fields: [season]", "fields: [height]", "garden.yaml: $.schemas.BedEdit: x-restates must list properties, got 'height'"),
        ("garden.yaml", "fields: [season]", "fields: [width]", "openapi.yaml: $: x-restates of BedEdit: Plant has no width of that type"),
        ("garden.yaml", "from: [Plant, NewPlant]", "from: [Stone]", "openapi.yaml: $: x-restates of BedEdit: Stone has no season of that type"),
        ("garden.yaml", "Spring: {terms: [sown], ", "Winter: {terms: [sown], ", "openapi.yaml: $: x-takes of Season: 'Winter' must be a value of enum"),
        ("garden.yaml", "Spring: {terms: [sown], ", "Spring: {", "openapi.yaml: $: x-takes of Season: 'Spring' must have a meaning, and terms that are fields beside Season, got {'meaning'"),
        ("garden.yaml", "terms: [sown]", "terms: [sewn]", "openapi.yaml: $: x-takes of Season: 'Spring' must have a meaning, and terms that are fields beside Season, got {'terms': ['sewn'], "),
        ("garden.yaml", "  NewLabel:\n    type: object", "  NewLabel:\n    type: string", "garden.yaml: $.schemas.NewLabel: must be an enumeration or an object with properties"),
        ("garden.yaml", "#/schemas/Season\", x-wire", "#/schemas/Loop\", x-wire", f"{PLANT}.properties.season: $ref '#/schemas/Loop': 'Loop' not found in garden.yaml"),
        ("garden.yaml", "minimum: 1,", "minimum: 1.5,", "garden.yaml: $.paths.Plants.get.parameters[4].schema: unsupported bound minimum: 1.5"),
        # operations
        ("garden.yaml", "x-effect: read\n      x-scope: read\n      x-section: Beds", "x-scope: read\n      x-section: Beds", f"{BEDS}: x-effect is missing"),
        ("garden.yaml", "      summary: List the beds.\n", "", f"{BEDS}: summary is missing"),
        ("garden.yaml", "operationId: garden.plants", "operationId: listPlants", f"{PLANTS}: operationId must have the form namespace.method, got 'listPlants'"),
        ("garden.yaml", "operationId: garden.plants", "operationId: garden.list", f"{BEDS}: duplicate operationId 'garden.list'"),
        ("garden.yaml", "    delete:\n", "    trace:\n", "garden.yaml: $.paths.Bed: method must be one of get, post, put, patch, delete, got 'trace'"),
        ("garden.yaml", "- {name: sown-after, in: query", "- {name: sown-after, in: header", f"{PLANTS}.parameters[2]: in must be path or query, got 'header'"),
        ("garden.yaml", "name: \"season[]\"", "name: season", f"{PLANTS}.parameters[1]: name must end in [] for an array with a repeated key, and for nothing else"),
        ("garden.yaml", "style: form, explode: false, schema: {type: array, items: {type: string}}", "explode: false, schema: {type: string}", f"{PLANTS}.parameters[5]: explode: false requires an array in the query"),
        ("garden.yaml", "{name: rows, in: query, schema: {type: integer, minimum: 1, maximum: 40},", "{name: rows, in: query,", f"{PLANTS}.parameters[4]: schema is missing"),
        ("garden.yaml", "schema: {type: integer, minimum: 1, maximum: 40}, description: \"Only plants with this number of rows.\"", "schema: {type: integer}", f"{PLANTS}.parameters[4]: description is missing"),
        ("garden.yaml", "schema: {type: integer, minimum: 1, maximum: 40}", "schema: {type: object}", f"{PLANTS}.parameters[4].schema: unsupported kind object for a parameter"),
        ("garden.yaml", "        \"204\": {description: \"Bed removed.\"}", "        \"404\": {description: \"Gone.\"}", "garden.yaml: $.paths.Bed.delete: must have a success response"),
        ("garden.yaml", "        \"204\": {description: \"Bed removed.\"}", "        \"200\": {description: \"Bed removed.\", content: {}}\n        \"204\": {description: \"Bed removed.\"}", "garden.yaml: $.paths.Bed.delete: success responses must have the same content"),
        ("garden.yaml", "        \"204\": {description: \"Bed removed.\"}", "        \"200\": {description: \"Beds.\", content: {application/json: {schema: {type: array, items: {type: integer}}}}}", "garden.yaml: $.paths.Bed.delete.responses.200.content.application/json.schema: items must be a $ref to a component, or of type string"),
        ("garden.yaml", "      summary: List the beds.\n", "      summary: List the beds.\n      x-host: shed\n", f"{BEDS}: x-host must be listed in x-hosts of openapi.yaml, got 'shed'"),
        ("garden.yaml", "  Beds:\n", "  Beds:\n    x-path: /bed\n", "garden.yaml: $.paths.Beds: x-path must be '/beds', the path in openapi.yaml, got '/bed'"),
        ("garden.yaml", "      x-paginated: true\n", "", f"{PLANTS}: x-paginated and PageEnvelope must be used together"),
        ("garden.yaml", "      x-result: many\n", "", f"{BEDS}: x-result is missing: choose one or many for a response with alternatives"),
        ("garden.yaml", "properties: {data: {$ref: \"#/schemas/Bed\"}}\n  Bed:", "properties: {data: {$ref: \"#/schemas/Plant\"}}\n  Bed:", f"{BEDS}.responses.200.content.application/json.schema: alternatives must contain the same model"),
        ("garden.yaml", "requestBody: {required: true, content: {application/json: {schema: {$ref: \"#/schemas/NewPlant\"}}}}", "requestBody: {required: true, content: {application/json: {schema: {type: object}}}}", "garden.yaml: $.paths.Plants.post.requestBody: content.application/json.schema must be a $ref to a component"),
        ("garden.yaml", "{schema: {$ref: \"#/schemas/BedEdit\"}}", "{schema: {$ref: \"#/schemas/NewPlant\"}}", "garden.yaml: $.paths.Bed.patch: x-flatten-body requires optional fields only: NewPlant has required ones"),
        ("garden.yaml", "content: {application/json: {schema: {$ref: \"#/schemas/Plant\"}}}", "content: {application/json: {schema: {type: object}}}", "garden.yaml: $.paths.Plants.post.responses.201.content.application/json.schema: must be a component, or allOf one of ItemEnvelope, ListEnvelope, PageEnvelope with properties.data"),
        ("garden.yaml", "{data: {properties: {items: {items: {$ref: \"#/schemas/Plant\"}}}}}", "{data: {properties: {items: {items: {type: string}}}}}", f"{PLANTS}.responses.200.content.application/json.schema: data must contain a $ref to a component"),
        # the bundled document
        ("openapi.yaml", "    PageEnvelope: {$ref: \"common.yaml#/schemas/PageEnvelope\"}\n", "", "openapi.yaml: $: components.schemas must list 'PageEnvelope', used by answers with Plant"),
        ("openapi.yaml", "tags:", "x-examples: {name: Rosa, Plant.colour: red}\ntags:", "openapi.yaml: $: x-examples must list properties, components and parameters, got 'Plant.colour'"),
        ("common.yaml", "responses:\n  NotFound: {", "  Frost: {type: object}\nresponses:\n  NotFound: {content: {application/json: {schema: {$ref: \"#/schemas/Frost\"}}}, ", "openapi.yaml: $: components.schemas must list 'Frost', which the schema refers to"),
        ("openapi.yaml", "tags:", "x-links: [{from: garden.list, to: []}]\ntags:", "openapi.yaml: $.x-links[0]: must have the keys from, parameter, to, value, got from, to"),
        ("openapi.yaml", "tags:", "x-links: [{from: garden.list, value: /x, parameter: bed_number, to: [garden.sow]}]\ntags:", "openapi.yaml: $.x-links[0]: must name operations, got 'garden.sow'"),
        ("openapi.yaml", "tags:", "x-links: [{from: garden.list, value: /x, parameter: colour, to: [garden.remove]}]\ntags:", "openapi.yaml: $.x-links[0]: garden.remove must have the path parameter 'colour'"),
    ],
)  # fmt: skip
def test_load_invalid_schema_names_file_path_and_reason(file: str, old: str, new: str, problem: str, toy: Path) -> None:
    edit(toy / file, old, new)
    problems = problems_of(toy)
    assert [found for found in problems if found.startswith(problem)], problems


def test_load_names_that_clash_across_files_are_problems(toy: Path) -> None:
    for path in (toy / "openapi.yaml", toy / "garden.yaml"):
        path.write_text(path.read_text().replace("Harvest", "PlantList"))
    other = "parameters:\n  BedNumber: {name: bed_number, in: path, required: true, description: B., schema: {type: string}}\n"
    edit(toy / "garden.yaml", "paths:\n", f"{other}paths:\n")
    edit(toy / "garden.yaml", "common.yaml#/parameters/BedNumber", "#/parameters/BedNumber")
    different, clash = problems_of(toy)
    assert clash == "openapi.yaml: $: component 'PlantList' has the name of the component of an answer"
    assert different.endswith("another file has different parameters of that name")


@pytest.mark.parametrize("name", ["frost-days", "frost_days", "class", "class-"])
def test_load_properties_with_one_python_name_are_a_problem(name: str, toy: Path) -> None:
    other = {"frost-days": "frost--days", "frost_days": "frost-days", "class": "class-", "class-": "class"}[name]
    properties = "".join(f'      {each}: {{type: string, description: "One."}}\n' for each in (name, other))
    edit(toy / "garden.yaml", "    properties:\n      text:", f"    properties:\n{properties}      text:")
    python = name.strip("-").replace("-", "_") + ("_" if "class" in name else "")
    assert f"garden.yaml: $.schemas.NewLabel: two properties yield the Python name {python!r}" in problems_of(toy)


@for_each(
    "content, problems",
    [
        ("", []),
        ("{}", []),
        ("just a string", ["openapi.yaml: $: must be an object, got 'just a string'"]),
        ("paths: 3", ["openapi.yaml: $.paths: must be an object, got 3"]),
        ("tags: 3", ["openapi.yaml: $.tags: must be an array, got 3"]),
        ("components: {schemas: 1}", ["openapi.yaml: $.components.schemas: must be an object, got 1"]),
        ("x-keys: spaces", ["openapi.yaml: $: x-keys must be one of dashes, underscores, camel-case, got 'spaces'"]),
        ('a: {$ref: "other.yaml#/b"}', ["openapi.yaml: $.a: $ref 'other.yaml#/b': unknown file other.yaml"]),
        ('a: {$ref: "#/a"}', ["openapi.yaml: $.a: $ref '#/a' is circular"]),
        ('a: [{b: {$ref: "#/b"}}]', ["openapi.yaml: $.a[0].b: $ref '#/b': 'b' not found in openapi.yaml"]),
    ],
)
def test_load_other_content_is_a_problem_or_an_empty_schema(content: str, problems: list[str], tmp_path: Path) -> None:
    document(tmp_path, content)
    assert problems_of(tmp_path) == problems
    if not problems:
        assert load(tmp_path).operations == ()


@for_each(
    "keys, fit, other, form",
    [
        ("dashes", "expires-in", "access_token", "lower-case words joined by dashes"),
        ("underscores", "access_token", "expires-in", "lower-case words joined by underscores"),
        ("camel-case", "expiresIn", "expires-in", "words joined by capitals"),
    ],
)
def test_load_keys_decide_on_property_names(keys: str, fit: str, other: str, form: str, tmp_path: Path) -> None:
    document(tmp_path, "{}", a=f"x-keys: {keys}\nschemas: {{A: {{properties: {{{fit}: {{}}, {other}: {{}}}}}}}}")
    assert problems_of(tmp_path) == [f"a.yaml: $.schemas.A.properties: property must be {form}, got {other!r}"]


@for_each(
    "name, key, problem",
    [
        ("frost", "", None),
        ("frost", "id: thaw, ", "frost: unknown key 'id': the key of the entry is its id"),
        (r"frost\n", "", "frost\n: id must be lower-case words joined by underscores, got 'frost\\n'"),
        ("1", "", "1: id must be lower-case words joined by underscores, got '1'"),
        ("frost", "seen: 1, ", "frost: Object contains unknown field `seen`"),
    ],
)
def test_load_entry_of_recorded_behaviour_has_its_key_for_an_id(
    name: str, key: str, problem: str | None, toy: Path
) -> None:
    entry = f"{{{key}statement: It kills., grade: recorded, source: garden, test: here.py::test_frost}}"
    (toy.parent / "here.py").touch()
    (toy / "behaviours.yaml").write_text(f'behaviours: {{"{name}": {entry}}}')
    assert problems_of(toy) == ([] if problem is None else [f"behaviours.yaml: $.behaviours.{problem}"])


def test_load_path_and_parameters_must_agree(toy: Path) -> None:
    edit(toy / "openapi.yaml", "/beds/{bed_number}:", "/beds/{bed}:")
    assert problems_of(toy) == [
        f"garden.yaml: $.paths.Bed.{method}: {name!r} must be both in the path /beds/{{bed}} and among its parameters"
        for method in ("delete", "patch")
        for name in ("bed", "bed_number")
    ]


def test_load_models_in_use_must_be_listed(toy: Path) -> None:
    for name in ("Bed", "Harvest"):
        edit(toy / "openapi.yaml", f'    {name}: {{$ref: "garden.yaml#/schemas/{name}"}}\n', "")
    used = [("Bed", "garden.edit_bed"), ("Bed", "garden.list"), ("Harvest", "Plant")]
    missing = [f"openapi.yaml: $: components.schemas must list {name!r}, used by {user}" for name, user in used]
    assert problems_of(toy) == missing
