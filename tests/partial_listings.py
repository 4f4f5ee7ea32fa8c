"""Faults of lists that show complex orders in part: components, identifiers or links are missing."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import attrs

from brokerage_async.protocol.response import Response
from brokerage_async.simulator import faults

Order = dict[str, Any]


def altered(name: str, change: Callable[[Any], Any]) -> faults.Fault:
    """Process the request, and change the JSON of the answer."""

    def answer(response: Response | None) -> Response:
        if response.status >= 300:
            return response
        return attrs.evolve(response, body=json.dumps(change(json.loads(response.body))).encode())

    return faults.Fault(name=name, answer=answer)


def components(document: Any) -> Iterator[Order]:
    """Yield the orders in an answer, also those within complex orders."""
    data = document["data"]
    for row in data["items"] if "items" in data else [data.get("complex-order", data)]:
        if "type" in row and "orders" in row:
            yield from row["orders"]
            if "trigger-order" in row:
                yield row["trigger-order"]
        else:
            yield row


def hiding(*tags: str) -> faults.Fault:
    """Leave out the components whose tag ends with one of these."""

    def is_hidden(order: Order) -> bool:
        return str(order.get("complex-order-tag", "")).endswith(tags)

    def change(document: Any) -> Any:
        data = document["data"]
        rows = data.get("items", [data])
        for row in rows:
            if "orders" in row:
                row["orders"] = [order for order in row["orders"] if not is_hidden(order)]
                if is_hidden(row.get("trigger-order", {})):
                    del row["trigger-order"]
        if "items" in data:
            data["items"] = [row for row in rows if not is_hidden(row)]
            hidden = len(rows) - len(data["items"])
            for count in ("total-items", "current-item-count") if "pagination" in document else ():
                document["pagination"][count] -= hidden
        return document

    return altered(f"hiding {tags}", change)


def unnamed(*tags: str) -> faults.Fault:
    """Show the components whose tag ends with one of these without their external identifier. By default all."""

    def change(document: Any) -> Any:
        for order in components(document):
            if str(order.get("complex-order-tag", "")).endswith(tags or ("",)):
                order.pop("external-identifier", None)
        return document

    return altered(f"unnamed {tags}", change)


def emptied() -> faults.Fault:
    def change(document: Any) -> Any:
        data = document["data"]
        for row in data.get("items", [data]):
            row.update({"orders": [], "trigger-order": None})
        return document

    return altered("emptied", change)


def unlinked() -> faults.Fault:
    """Show orders without the complex order that they belong to."""

    def change(document: Any) -> Any:
        for order in components(document):
            order.pop("complex-order-id", None)
        return document

    return altered("unlinked", change)


def oldest_first() -> faults.Fault:
    def change(document: Any) -> Any:
        document["data"]["items"].reverse()
        return document

    return altered("oldest first", change)
