"""The site: Markdown pages, the reference of public names, and the pages that are generated."""

import re
import subprocess
import sys
import zlib
from pathlib import Path
from types import ModuleType

import attrs
import pytest

from brokerage_async import models
from codegen.site import copies, namespaces, pages, plain, public, signatures
from codegen.site.__main__ import main
from codegen.site.messages import Message, messages, render
from codegen.site.pages import ERRORS, ROOT
from codegen.site.screenshots import COMMANDS, FOLDER, picture
from codegen.spec import Spec
from tests.tables import lacks


def test_directives_become_what_they_stand_for() -> None:
    page = plain.render(
        "# Names\n\nSee {py:obj}`Client <brokerage_async.client.Client>` and {py:obj}`~brokerage_async.errors`.\n\n"
        "```{toctree}\n:hidden:\n\nstart\n```\n"
        "```{eval-rst}\n.. automodule:: brokerage_async.bulk\n```\n"
        "```{py:method} client.orders.live(customer_id)\n:async:\n```\n"
        "```python\nimport asyncio\n```\n"
    )
    assert page.startswith("# Names\n\nSee `brokerage_async.client.Client` and `brokerage_async.errors`.\n")
    blocks = [f"```python\n{code}\n```" for code in ("client.orders.live(customer_id)", "import asyncio")]
    assert lacks(page, "### `brokerage_async.bulk.Bulk.market_data(", *blocks) == []
    assert lacks(page, "toctree", "eval-rst") == ["toctree", "eval-rst"]


def test_signatures_show_values_instead_of_private_names() -> None:
    page = plain.render("```{eval-rst}\n.. automodule:: brokerage_async.config\n```\n")
    assert lacks(page, "config.Limits(*, reads: int | None = 32, ", "per_operation: Mapping[str, float] = {}") == []
    written = "f(a: float | ~types.EllipsisType | None = ..., retry: RetryPolicy = _RETRY)"
    assert signatures.plainly(written) == "f(a: float | None = ..., retry: RetryPolicy = RetryPolicy())"
    assert signatures.plainly("f(jitter: Jitter = <function chance at 0x7fa72bf94220>)") == "f(jitter: Jitter = chance)"


def test_list_of_pages_has_guides_first() -> None:
    titles = {"reference/bulk": "bulk", "start": "Start", "project/security": "Security"}
    lines = plain.index(titles, "A client\nof a service.").splitlines()
    assert lines[2] == "> A client of a service."
    order = [lines.index(line) for line in ("- [Start](start.md)", "- [Security](project/security.md)")]
    assert order == sorted(order)
    assert "- [bulk](reference/bulk.md)" in lines


def test_public_names_and_fields_are_documented() -> None:
    assert public.undocumented() == public.unexplained() == public.hidden() == []
    found = {each.full: each.doc for each in public.names()}
    assert len(found) > 450
    assert (found["brokerage_async.__version__"] or "").startswith("Version")  # in another module
    assert (found["brokerage_async.models.converter"] or "").startswith("Converter")  # under TYPE_CHECKING
    assert "brokerage_async.client.Client.with_options" in found


def test_names_without_docstring_field_or_page_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    here = {"__module__": "brokerage_async.new"}
    bare, inner = type("Bare", (), here), type("Inner", (), here)
    outer = type("Outer", (), {"__doc__": "Outer.", "__annotations__": {"inner": list[inner]}} | here)  # type: ignore[valid-type]
    pair = attrs.make_class("Pair", ["a", "b", "c"])
    pair.__doc__ = "Pair.\n\n    Attributes:\n        a, b: both of them.\n"
    names = {"LIMIT": 3, "Bare": bare, "Outer": outer, "Pair": pair}
    module = ModuleType("brokerage_async.new")
    vars(module).update(names, __all__=list(names), __file__=__file__)
    monkeypatch.setattr(public, "modules", lambda: [module])
    assert public.hidden() == ["brokerage_async.new.Outer: Inner"]
    assert public.unexplained() == ["brokerage_async.new.Pair.c"]
    assert public.undocumented() == ["brokerage_async.new.Bare", "brokerage_async.new.LIMIT"]
    listed = frozenset(f"brokerage_async.new.{name}" for name in ("LIMIT", "Outer", "Pair"))
    assert public.missing(listed) == ["brokerage_async.new.Bare"]


def test_every_public_module_has_a_page_of_the_reference() -> None:
    pages = "\n".join(page.read_text("utf-8") for page in (ROOT / "docs" / "reference").glob("*.md"))
    shown = set(re.findall(r"^\.\. automodule:: (\S+)$", pages, re.MULTILINE))
    assert shown == {module.__name__ for module in public.modules()}


def test_command_fails_for_a_name_that_the_site_lacks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def write_inventory(names: list[str]) -> None:
        lines = "".join(f"{name} py:class 1 page.html#$ -\n" for name in names) + "start std:doc -1 start.html Start\n"
        head = b"# Sphinx inventory version 2\n# Project: x\n# Version: 1\n# compressed with zlib\n"
        (tmp_path / "objects.inv").write_bytes(head + zlib.compress(lines.encode()))

    every = [each.full for each in public.names()]
    write_inventory(every)
    assert main([str(tmp_path)]) == 0
    write_inventory([name for name in every if name != "brokerage_async.bulk.Bulk"])
    assert main([str(tmp_path)]) == 1
    assert "missing from the reference: 1\n  brokerage_async.bulk.Bulk" in capsys.readouterr().out
    assert public.missing(frozenset(every) - {"brokerage_async.Client"}) == []  # an alias of a listed object


def test_every_page_is_made_and_ignored_by_git(spec: Spec) -> None:
    ignored = (pages.ROOT / ".gitignore").read_text("utf-8").splitlines()
    generated = [name for name in pages.GENERATED if not name.startswith("docs/project")]
    assert {f"/{name}" for name in [*generated, "docs/project/"]} <= set(ignored)
    assert all(f"/{page}" in ignored or page.startswith("docs/project/") for page in copies.COPIES.values())
    made = pages.render(spec)
    assert {"docs/reference/messages.md", "docs/reference/operations/orders.md", "docs/project/changelog.md"} <= {*made}
    assert all(page.startswith("# ") for page in made.values())


def pages_of(spec: Spec, folder: str) -> dict[str, str]:
    made = namespaces.render(spec)
    return {path.removeprefix(f"{folder}/"): page for path, page in made.items() if path.startswith(f"{folder}/")}


def headings(page: str) -> list[str]:
    return re.findall(r"^## (\w+)$", page, re.MULTILINE)


def test_every_operation_has_a_section_with_what_it_needs(spec: Spec) -> None:
    pages = pages_of(spec, "operations")
    shown = {f"{file.removesuffix('.md')}.{name}" for file, page in pages.items() for name in headings(page)}
    assert shown == {each.name for each in spec.operations if each.namespace != "oauth"}
    expected = {
        ("orders.md", "submit"): [
            "client.orders.submit(account_number: str, order: NewOrder) -> PlacedOrderResponse\n:async:",
            "| Request | `POST /accounts/{account_number}/orders` |",
            "| Scope | `trade` |",
            "**changes something**; never repeated once it may have arrived",
            "documented by the service, section Orders",
            "- gtc-date is required for time in force GTD",
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
    for (file, name), lines in expected.items():
        section = pages[file].partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        assert lacks(section, *lines) == []
        assert (":async:" in section) == (name != "list")


def test_objects_stand_on_one_page_with_keys_and_values(spec: Spec) -> None:
    pages = pages_of(spec, "objects")
    shown = [name for page in pages.values() for name in headings(page)]
    assert sorted(shown) == sorted(set(models.__all__) - {"Page", "Pager", "converter"})
    lines = [
        ".. autoclass:: brokerage_async.models.NewOrder\n   :no-members:",
        ".. autoclass:: brokerage_async.models.OrderEdit\n   :members: of",
        "| `order_type` | `order-type` | {py:obj}`~brokerage_async.models.OrderType` | Required.",
    ]
    assert lacks(pages["orders.md"], *lines) == []
    page = next(page for page in pages.values() if "## PriceEffect\n" in page)
    assert lacks(page, "| `DEBIT` | `Debit` |  |", "| `NONE` | `None` | not documented |") == []
    found = namespaces.by_namespace(spec)
    assert {namespace for namespace, names in found.items() if "Order" in names} == {"orders"}
    assert "Pagination" in found[namespaces.SHARED]


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
    closed = "| the client is closed | {py:obj}`~brokerage_async.errors.ConfigurationError` |"
    assert lacks(page, closed, "{py:obj}`~brokerage_async.journal.JournalError`") == []
    assert page.count("\n|") > 150


def test_every_command_has_a_picture_that_names_it_and_no_other_host() -> None:
    drawn = picture("brokerage-async demo", "\x1b[1mbold\x1b[0m & plain\r\n")
    assert "brokerage-async&#160;demo" in drawn or "brokerage-async demo" in drawn
    assert "bold" in drawn
    assert set(re.findall(r"https?://[\w.]+", drawn)) <= {"http://www.w3.org", "https://www.textualize.io"}
    assert "url(http" not in drawn
    assert {path.stem for path in FOLDER.glob("*.svg")} >= COMMANDS.keys()


def test_pages_are_made_without_the_generator_of_models() -> None:
    """The site's environments do not install it."""
    code = "import sys; sys.modules['datamodel_code_generator'] = None; import codegen.site.pages, codegen.site.public"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
