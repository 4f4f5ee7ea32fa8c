"""Orders of an evening in New York, when it is the next day in UTC already."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from brokerage_async.journal import MemoryJournal
from brokerage_async.simulator import Simulator
from brokerage_async.simulator.api.versions import VERSIONS
from brokerage_async.tickets import buy_to_open, limit
from tests.trading import SMALL

pytestmark = pytest.mark.virtual_time

EVENING = datetime(2026, 6, 10, 20, 30, tzinfo=timezone(timedelta(hours=-4)))


async def test_order_placed_at_half_past_eight_is_found_under_every_version() -> None:
    for version in (None, "20250813", "20261012"):
        sim = Simulator(start=EVENING, versions=VERSIONS, **SMALL)  # type: ignore[arg-type]
        client, account = sim.client(accept_version=version), sim.account_numbers[0]
        async with client:
            entry = client.order_entry(MemoryJournal())
            sim.faults.add("POST", r"/orders$", "drop_after")
            ticket = limit(buy_to_open("AAPL", 1), price="1", time_in_force="GTC")
            order_id = (await entry.place(account, ticket, allow_warnings=True)).require().order_id
            for days in range(3):
                found = [
                    await client.orders.list(account).collect(),
                    await client.orders.search("me", [account]).collect(),
                    await client.orders.search("me", [account], start_date=EVENING.date()).collect(),
                    await client.orders.live("me", [account]),
                    await client.orders.list_live(account, underlying_symbol="AAPL").collect(),
                ]
                assert [[order.id for order in orders] for orders in found] == [[order_id]] * 5, (version, days)
                sim.clock.advance(86_400)
            assert found[0][0].received_at.astimezone(UTC).date() > EVENING.date()
            await client.orders.cancel(account, str(order_id))
            sim.clock.advance(2 * 86_400)
            assert await client.orders.live("me", [account]) == []
            assert (await client.watch.order("me", account, str(order_id))).status == "Cancelled"
