"""An account whose lists a test writes page by page."""

from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from brokerage_async._generated.models import ComplexOrder, Order, Pagination
from brokerage_async.errors import BrokerageError
from brokerage_async.operation import BoundCall, Page
from brokerage_async.order_entry.lists import OrderLists, Sighting, Window

NOW = datetime(2026, 6, 10, 14, tzinfo=UTC)
COUNTED = Pagination(total_items=0)


def order(name: str, *, days_ago: float | None = 0) -> Order:
    received = None if days_ago is None else NOW - timedelta(days=days_ago)
    return Order(id=f"id of {name}", external_identifier=name, received_at=received)


class Account:
    """An executor that answers both lists page by page. An exception in place of a page is raised."""

    def __init__(self, live: list[Any], everything: list[Any], complex_orders: Any = ()) -> None:
        self._lists = {"orders.list_live": live, "orders.list": everything, "complex_orders.list": complex_orders}
        self.read: list[str] = []
        self.queries: dict[str, Mapping[str, object]] = {}
        self.wholes: dict[str, ComplexOrder | BrokerageError] = {}

    async def execute(self, call: BoundCall[Any]) -> Any:
        whole = self.wholes[str(call.path["id"])]
        if isinstance(whole, BrokerageError):
            raise whole
        return whole

    def paginate(self, call: BoundCall[list[Order]]) -> Any:
        operation = call.operation
        assert call.path == {"account_number": "A1"}
        self.queries[operation.name] = call.query
        account = self

        class Lists:
            async def pages(self) -> AsyncIterator[Page[Order]]:
                for number, page in enumerate(account._lists[operation.name]):
                    account.read.append(f"{operation.name} {number}")
                    if isinstance(page, BrokerageError):
                        raise page
                    yield page if isinstance(page, Page) else Page(tuple(page), COUNTED, number)

        return Lists()


async def poll(account: Account, *wanted: str, opened_at: datetime = NOW) -> Sighting:
    lists = OrderLists(account, "A1")  # type: ignore[arg-type]
    return await lists.poll(set(wanted), Window.since(opened_at, NOW), by=lambda each: each.external_identifier)
