from brokerage_async.simulator.control.reference import components_of, prose, provenance, resolve, type_text
from tests.tables import for_each

DOCUMENT = {
    "components": {
        "schemas": {
            "Bed": {"properties": {"plants": {"type": "array", "items": {"$ref": "#/components/schemas/Plant"}}}},
            "Plant": {"properties": {"bed": {"$ref": "#/components/schemas/Bed"}}},
            "Tool": {},
        }
    }
}


@for_each(
    "schema, expected",
    [
        ({"type": "string", "format": "date"}, "date"),
        ({"type": ["integer", "null"]}, "integer or null"),
        ({"type": "array", "items": {"$ref": "#/components/schemas/Bed"}}, 'array of <a href="#Bed">Bed</a>'),
        ({"anyOf": [{"type": "string"}, {"type": "string"}, {"type": "null"}]}, "string or null"),
        ({"type": "string", "enum": ["<a>"]}, "<code>&lt;a&gt;</code>"),
        ({}, "any JSON"),
    ],
)
def test_type_in_words(schema: dict[str, object], expected: str) -> None:
    assert type_text(schema) == expected


def test_components_references_provenance_and_prose() -> None:
    assert components_of(DOCUMENT, [None, {"$ref": "#/components/schemas/Bed"}]) == ["Bed", "Plant"]
    assert resolve(DOCUMENT, {"$ref": "#/components/schemas/Tool"}) == {}
    assert resolve(DOCUMENT, {"type": "null"}) == {"type": "null"}
    assert provenance({"x-provenance": "client"}, {"x-provenance": "recorded"}) == "client"
    assert provenance({}, {"x-provenance": "recorded"}) == "recorded"
    assert provenance({}) == "documented"
    assert prose("`Desc` < all") == "<code>Desc</code> &lt; all"
