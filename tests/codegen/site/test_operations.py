"""Pages of operations: every operation stands on one, with arguments, errors, provenance and wire form."""

from __future__ import annotations

import re

from codegen.site import operations
from codegen.spec import Spec


def section(page: str, name: str) -> str:
    return re.split(r"^## ", page, flags=re.MULTILINE)[[*re.findall(r"^## (\w+)$", page, re.MULTILINE)].index(name) + 1]


def test_every_operation_has_a_section_with_what_it_needs(spec: Spec) -> None:
    pages = operations.render(spec)
    headings = {name[:-3]: re.findall(r"^## (\w+)$", page, re.MULTILINE) for name, page in pages.items()}
    shown = {f"{namespace}.{name}" for namespace, names in headings.items() for name in names}
    assert shown == {each.name for each in spec.operations if each.namespace != "oauth"}
    assert len(shown) > 90
    submit = section(operations.render(spec)["orders.md"], "submit")
    assert "client.orders.submit(account_number: str, order: NewOrder) -> PlacedOrderResponse\n:async:" in submit
    assert "| Request | `POST /accounts/{account_number}/orders` |" in submit
    assert "| Scope | `trade` |" in submit
    assert "**changes something**; never repeated once it may have arrived" in submit
    assert "documented by the service, section Orders" in submit
    assert "- price is required for Limit and Stop Limit orders" in submit
    assert "greater than zero: the action of the leg sets the side. *(rule of this library)*" in submit
    assert "| no answer | {py:obj}`~brokerage_async.errors.ResponseLostError` |" in submit
    assert 'status 201, `{"data": {...}}`' in submit
    listed = section(operations.render(spec)["orders.md"], "list")
    assert ":async:" not in listed
    assert "| `statuses` | `status[]` in the query | array of {py:obj}`~brokerage_async.models.OrderStatus` |" in listed
    assert "integer (at least 1; at most 200)" in listed
    assert "Only orders up to this day, in US Eastern time." in listed
    assert "Rows are identified by `id`." in listed
    pairs = section(operations.render(spec)["complex_orders.md"], "edit_pairs")
    assert "| `ratio_price_threshold` | `ratio-price-threshold` | Decimal" in pairs
    margin = section(operations.render(spec)["margin.md"], "requirements")
    assert "| Environments | production only |" in margin
    assert "the client is one of a sandbox" in margin
