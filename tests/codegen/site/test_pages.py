"""Generated pages of the site: operations, objects, messages, pictures."""

import re
from pathlib import Path

from brokerage_async import models
from codegen.site import copies, objects, operations, pages
from codegen.site.messages import Message, messages, render
from codegen.site.pages import ERRORS, ROOT
from codegen.site.screenshots import COMMANDS, FOLDER, picture
from codegen.spec import Spec


def test_every_page_is_made_and_ignored_by_git(spec: Spec) -> None:
    ignored = (pages.ROOT / ".gitignore").read_text("utf-8").splitlines()
    generated = [name for name in pages.GENERATED if not name.startswith("docs/project")]
    assert {f"/{name}" for name in [*generated, "docs/project/"]} <= set(ignored)
    assert all(f"/{page}" in ignored or page.startswith("docs/project/") for page in copies.COPIES.values())
    made = pages.render(spec)
    assert {"docs/reference/messages.md", "docs/reference/operations/orders.md", "docs/project/changelog.md"} <= set(
        made
    )
    assert all(page.startswith("# ") for page in made.values())


def section(page: str, name: str) -> str:
    return re.split(r"^## ", page, flags=re.MULTILINE)[[*re.findall(r"^## (\w+)$", page, re.MULTILINE)].index(name) + 1]


def test_every_operation_has_a_section_with_what_it_needs(spec: Spec) -> None:
    pages = operations.render(spec)
    headings = {name[:-3]: re.findall(r"^## (\w+)$", page, re.MULTILINE) for name, page in pages.items()}
    shown = {f"{namespace}.{name}" for namespace, names in headings.items() for name in names}
    assert shown == {each.name for each in spec.operations if each.namespace != "oauth"}
    expected = {
        ("orders.md", "submit"): [
            "client.orders.submit(account_number: str, order: NewOrder) -> PlacedOrderResponse\n:async:",
            "| Request | `POST /accounts/{account_number}/orders` |",
            "| Scope | `trade` |",
            "**changes something**; never repeated once it may have arrived",
            "documented by the service, section Orders",
            "- price is required for Limit and Stop Limit orders",
            "greater than zero: the action of the leg sets the side. *(rule of this library)*",
            "| no answer | {py:obj}`~brokerage_async.errors.ResponseLostError` |",
            'status 201, `{"data": {...}}`',
        ],
        ("orders.md", "list"): [
            "| `statuses` | `status[]` in the query | array of {py:obj}`~brokerage_async.models.OrderStatus` |",
            "integer (at least 1; at most 200)",
            "Only orders up to this day, in US Eastern time.",
            "Rows are identified by `id`.",
        ],
        ("complex_orders.md", "edit_pairs"): ["| `ratio_price_threshold` | `ratio-price-threshold` | Decimal"],
        ("margin.md", "requirements"): ["| Environments | production only |", "the client is one of a sandbox"],
    }
    sections = {(page, name): section(pages[page], name) for page, name in expected}
    assert [(place, line) for place, lines in expected.items() for line in lines if line not in sections[place]] == []
    assert ":async:" not in sections["orders.md", "list"]


def test_objects_stand_on_one_page_with_keys_and_values(spec: Spec) -> None:
    pages = objects.render(spec)
    shown = [name for page in pages.values() for name in re.findall(r"^## (\w+)$", page, re.MULTILINE)]
    assert sorted(shown) == sorted(set(models.__all__) - {"Page", "Pager", "converter"})
    for line in (
        ".. autoclass:: brokerage_async.models.NewOrder\n   :no-members:",
        ".. autoclass:: brokerage_async.models.OrderEdit\n   :members: of",
        "| `order_type` | `order-type` | {py:obj}`~brokerage_async.models.OrderType` | Required.",
    ):
        assert line in pages["orders.md"]
    page = next(page for page in pages.values() if "## PriceEffect\n" in page)
    assert "| `DEBIT` | `Debit` |  |" in page
    assert "| `NONE` | `None` | not documented |" in page
    found = objects.by_namespace(spec)
    assert "Order" in found["orders"]
    assert "Order" not in found["complex_orders"]
    assert "Pagination" in found[objects.SHARED]


SOURCE = """
def work(name, count):
    raise ConfigurationError(f"{name} must be at least {count}, got " + str(count))
    raise errors.ConfigurationError("the client is closed")
    raise ConfigurationError(f"{name}: {count}")
    raise ValueError("of Python")
    yield ErrorDetail("missing", "is required", name)
"""


def test_messages_of_a_package_are_read_from_its_code(tmp_path: Path) -> None:
    for folder in ("http", "cli"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").write_text(SOURCE)
    (tmp_path / "top.py").write_text('ConfigurationError("the client is closed")')
    assert messages(tmp_path, frozenset({"ConfigurationError", "ErrorDetail"})) == [
        Message("is required", "ErrorDetail", ("http",)),
        Message("… must be at least …, got …", "ConfigurationError", ("http",)),
        Message("the client is closed", "ConfigurationError", ("http", "top")),
    ]
    page = render(ROOT / "brokerage_async", ERRORS)
    assert "| the client is closed | {py:obj}`~brokerage_async.errors.ConfigurationError` |" in page
    assert "{py:obj}`~brokerage_async.journal.JournalError`" in page
    assert page.count("\n|") > 150


def test_every_command_has_a_picture_that_names_it_and_no_other_host() -> None:
    drawn = picture("brokerage-async demo", "\x1b[1mbold\x1b[0m & plain\r\n")
    assert "brokerage-async&#160;demo" in drawn or "brokerage-async demo" in drawn
    assert "bold" in drawn
    assert set(re.findall(r"https?://[\w.]+", drawn)) <= {"http://www.w3.org", "https://www.textualize.io"}
    assert "url(http" not in drawn
    assert {path.stem for path in FOLDER.glob("*.svg")} >= COMMANDS.keys()
