"""Links of pages that stand elsewhere in the repository lead to the right place of the site."""

from __future__ import annotations

from codegen.site.copies import COPIES, relink
from codegen.site.pages import ROOT
from tests.tables import for_each


@for_each(
    "source, page, link, expected",
    [
        ("CHANGELOG.md", "docs/project/changelog.md", "[a](docs/bulk.md#pages)", "[a](../bulk.md#pages)"),
        ("CONTRIBUTING.md", "docs/project/contributing.md", "[a](schema/README.md)", "[a](../design/schema.md)"),
        ("schema/README.md", "docs/design/schema.md", "[a](orders.yaml)", "a (`schema/orders.yaml`)"),
        ("docs/bulk.md", "docs/bulk.md", "[a](../schema/README.md#x)", "[a](design/schema.md#x)"),
        ("docs/bulk.md", "docs/bulk.md", "[a](watching.md)", "[a](watching.md)"),
        ("docs/bulk.md", "docs/bulk.md", "[`noxfile.py`](../noxfile.py)", "`noxfile.py`"),
        ("docs/bulk.md", "docs/bulk.md", "[a](https://example.org/b)", "[a](https://example.org/b)"),
        ("docs/bulk.md", "docs/bulk.md", "[a](#pages)", "[a](#pages)"),
    ],
)
def test_relink_fits_links_to_the_page(source: str, page: str, link: str, expected: str) -> None:
    assert relink(f"see {link}.", source, page) == f"see {expected}."


def test_every_source_of_a_copy_exists() -> None:
    assert all((ROOT / source).exists() for source in COPIES)
