"""Pages of objects: every exported model and enumeration stands on exactly one."""

from __future__ import annotations

import re

from brokerage_async import models
from codegen.site import objects
from codegen.spec import Spec


def test_every_exported_object_stands_on_one_page(spec: Spec) -> None:
    pages = objects.render(spec)
    shown = [name for page in pages.values() for name in re.findall(r"^## (\w+)$", page, re.MULTILINE)]
    assert sorted(shown) == sorted(set(models.__all__) - {"Page", "Pager", "converter"})


def test_model_shows_json_keys_and_required_fields(spec: Spec) -> None:
    page = objects.render(spec)["orders.md"]
    assert ".. autoclass:: brokerage_async.models.NewOrder\n   :no-members:" in page
    assert ".. autoclass:: brokerage_async.models.OrderEdit\n   :members: of" in page
    assert re.search(
        r"\| `order_type` \| `order-type` \| \{py:obj\}`~brokerage_async.models.OrderType` \| Required\.", page
    )


def test_enumeration_shows_its_values_and_which_are_not_documented(spec: Spec) -> None:
    pages = objects.render(spec)
    page = next(page for page in pages.values() if "## PriceEffect\n" in page)
    assert "| `DEBIT` | `Debit` |  |" in page
    assert "| `NONE` | `None` | not documented |" in page


def test_namespace_takes_only_objects_that_no_earlier_one_uses(spec: Spec) -> None:
    found = objects.by_namespace(spec)
    assert "Order" in found["orders"]
    assert "Order" not in found["complex_orders"]
    assert "Pagination" in found[objects.SHARED]
