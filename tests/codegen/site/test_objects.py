"""Pages of objects: every exported model and enumeration stands on exactly one."""

from __future__ import annotations

import re

from brokerage_async import models
from codegen.site import objects
from codegen.spec import Spec


def test_objects_stand_on_one_page_with_keys_and_values(spec: Spec) -> None:
    pages = objects.render(spec)
    shown = [name for page in pages.values() for name in re.findall(r"^## (\w+)$", page, re.MULTILINE)]
    assert sorted(shown) == sorted(set(models.__all__) - {"Page", "Pager", "converter"})
    page = objects.render(spec)["orders.md"]
    assert ".. autoclass:: brokerage_async.models.NewOrder\n   :no-members:" in page
    assert ".. autoclass:: brokerage_async.models.OrderEdit\n   :members: of" in page
    assert re.search(
        r"\| `order_type` \| `order-type` \| \{py:obj\}`~brokerage_async.models.OrderType` \| Required\.", page
    )
    pages = objects.render(spec)
    page = next(page for page in pages.values() if "## PriceEffect\n" in page)
    assert "| `DEBIT` | `Debit` |  |" in page
    assert "| `NONE` | `None` | not documented |" in page
    found = objects.by_namespace(spec)
    assert "Order" in found["orders"]
    assert "Order" not in found["complex_orders"]
    assert "Pagination" in found[objects.SHARED]
