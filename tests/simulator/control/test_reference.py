"""Reference pages: every operation has one that is complete and loads nothing from other hosts."""

import re
from html import unescape
from html.parser import HTMLParser

from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.simulator.control import reference
from tests.schema import bundle
from tests.tables import for_each

VOID = {"meta", "link", "input"}


class Balance(HTMLParser):
    """Parser that compares opening and closing tags."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: set[str] = set()
        self.targets: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.ids.add(values.get("id") or "")
        self.targets.add(values.get("href") or "")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def parsed(page: str) -> Balance:
    parser = Balance()
    parser.feed(page)
    assert parser.open == []
    return parser


def page_of(name: str) -> str:
    page = reference.reference_page(name, "5WT777")
    assert page is not None
    return page


@for_each("name", OPERATIONS)
def test_page_has_parameters_fields_and_answers(name: str) -> None:
    page, operation = page_of(name), bundle.OPERATIONS[name]
    parser = parsed(page)
    assert {target[1:] for target in parser.targets if target.startswith("#")} <= parser.ids
    for parameter in map(bundle.resolved, operation.get("parameters", ())):
        assert f'name="{parameter["name"]}" data-in="{parameter["in"]}"' in page
    for status in operation["responses"]:
        assert f"<td>{status}</td>" in page
    success = bundle.success_schema(name)
    for schema in bundle.alternatives(success or {}):
        for field in bundle.resolved(schema).get("properties", {}):
            assert f"<code>{field}</code>" in page
    assert ("<textarea" in page) is ("requestBody" in operation)


def test_pages_are_complete_and_load_nothing_from_elsewhere() -> None:
    assert {f"/reference/{name}" for name in OPERATIONS} <= parsed(page_of("")).targets
    for name in ("", *OPERATIONS):
        page = page_of(name)
        assert not re.search(r"(src|href)=\"https?:|<script>|\son\w+=", page)
        assert reference.INVENTED_ACCOUNT not in page
    assert reference.reference_page("orders.lve", "5WT777") is None
    assert reference.reference_page("../page.css", "5WT777") is None
    (body,) = re.findall(r"<textarea[^>]*>(.*?)</textarea>", page_of("margin.dry_run"), re.DOTALL)
    assert '"account-number": "5WT777"' in unescape(body)
    assert '<td class="quiet">published</td>' in page_of("orders.list")
    assert '<td class="quiet">documented</td>' in page_of("orders.list")
    assert '<td class="quiet">documented</td>' not in page_of("backtests.get").partition("Answers")[0]


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
    assert reference.type_text(schema) == expected


def test_components_references_provenance_and_prose() -> None:
    assert reference.components_of(DOCUMENT, [None, {"$ref": "#/components/schemas/Bed"}]) == ["Bed", "Plant"]
    assert reference.resolve(DOCUMENT, {"$ref": "#/components/schemas/Tool"}) == {}
    assert reference.resolve(DOCUMENT, {"type": "null"}) == {"type": "null"}
    assert reference.provenance({"x-provenance": "client"}, {"x-provenance": "recorded"}) == "client"
    assert reference.provenance({}, {"x-provenance": "recorded"}) == "recorded"
    assert reference.provenance({}) == "documented"
    assert reference.prose("`Desc` < all") == "<code>Desc</code> &lt; all"
