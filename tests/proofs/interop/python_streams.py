"""Streamers of the SDK ``tastytrade`` from PyPI, unchanged, against the streams of the simulator.

    python -m tests.proofs.interop.python_streams

It prints what each streamer received, and exits with 1 if anything is missing.
"""

import asyncio
import os
import sys
from datetime import timedelta
from decimal import Decimal
from typing import Any

from brokerage_async import Client
from brokerage_async.simulator import Simulator
from tests.stream.world import SMALL, alert, buy

from .python_sdk import module, session_of

SYMBOLS, OPTION = ["AAPL", "SPY"], ".AAPL260717C200"
EVENTS = ("Quote", "Trade", "Summary", "Profile", "Greeks", "TimeAndSale", "TheoPrice")


async def main() -> int:
    os.environ["NO_PROXY"] = "127.0.0.1"
    missing: list[str] = []
    # The SDK asks for candles under contract AUTO. The service was recorded sending an empty history for it.
    without = ["candle_history_contract"]
    async with Simulator(**SMALL, without=without) as simulator, session_of(simulator) as session:
        async with asyncio.timeout(60):
            for streamer, receive in (("AlertStreamer", _account), ("DXLinkStreamer", _market)):
                received = await receive(simulator, session)
                for name, found in received.items():
                    print(f"{'ok     ' if found else 'MISSING'} {streamer} {name}: {found}")
                missing += [name for name, found in received.items() if not found]
    return 1 if missing else 0


async def _account(simulator: Simulator, session: Any) -> dict[str, str]:
    """Connect, place an order, and return the types of the events that came."""
    streamer_module, account_module, order_module = map(module, ("streamer", "account", "order"))
    streamer = streamer_module.AlertStreamer(session)
    streamer.base_url = simulator.streamer_url
    number = simulator.account_numbers[0]
    account = account_module.Account.model_construct(account_number=number)
    kinds = (
        order_module.PlacedOrder, account_module.CurrentPosition, account_module.AccountBalance,
        streamer_module.UnderlyingYearGainSummary, streamer_module.QuoteAlert,
    )  # fmt: skip
    found = {kind.__name__: "" for kind in kinds}
    async with streamer:
        await streamer.subscribe_accounts([account])
        await streamer.subscribe_quote_alerts()
        await asyncio.sleep(0.2)
        async with simulator.client() as client:
            await client.orders.submit(number, buy())
            await alert_on_spy(simulator, client)
        for kind in kinds:
            async with asyncio.timeout(15):
                event = await anext(streamer.listen(kind))
                found[kind.__name__] = str(getattr(event, "symbol", None) or getattr(event, "status", "") or "received")
    return found


async def alert_on_spy(simulator: Simulator, client: Client) -> None:
    await client.quote_alerts.create(alert("SPY", 5000))
    simulator.set_price("SPY", 5001)


async def _market(simulator: Simulator, session: Any) -> dict[str, str]:
    """Subscribe to every type of event, and return the symbols of the events that came."""
    streamer_module, dxfeed = module("streamer"), module("dxfeed")
    found: dict[str, str] = {}
    async with streamer_module.DXLinkStreamer(session) as streamer:
        for name in EVENTS:
            kind = getattr(dxfeed, name)
            await streamer.subscribe(kind, [OPTION] if name in ("Greeks", "TheoPrice") else SYMBOLS)
            async with asyncio.timeout(15):
                found[name] = str((await streamer.get_event(kind)).event_symbol)
        start = simulator.clock.time - timedelta(minutes=5)
        await streamer.subscribe_candle(SYMBOLS, "1m", start)
        async with asyncio.timeout(15):
            found["Candle"] = str((await streamer.get_event(dxfeed.Candle)).event_symbol)
        simulator.set_price("AAPL", Decimal("123.45"))
        async with asyncio.timeout(15):
            while (quote := await streamer.get_event(dxfeed.Quote)).bid_price > 123.45 or quote.event_symbol != "AAPL":
                pass
            found["Quote after a change of the price"] = str(quote.bid_price)
    return found


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
