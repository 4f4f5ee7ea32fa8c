"""Streamers of the official JavaScript client, unchanged in Node, against the streams of the simulator.

    python -m tests.proofs.interop.javascript_streams FOLDER

``FOLDER`` holds the client's ``node_modules``. It prints what each streamer received, and exits with 1 if anything is
missing.
"""

import asyncio
import contextlib
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from brokerage_async import Client, models, tickets
from brokerage_async.simulator import Simulator
from tests.stream.world import SMALL, buy

from .javascript import node, settings_of
from .python_streams import alert_on_spy

SCRIPT = Path(__file__).with_name("javascript_streams.mjs")
PATIENCE = 30.0
"""Seconds within which everything must have come: the client sends the market streamer's batches every 10."""

ANSWERS = ("connect", "quote-alerts-subscribe", "public-watchlists-subscribe")
EVENTS = ("Order", "ComplexOrder", "CurrentPosition", "AccountBalance", "OrderChain", "TradingStatus",
          "UnderlyingYearGainSummary", "ExternalTransaction", "QuoteAlert",
          "PublicWatchlists", "heartbeat")  # fmt: skip
MARKET = ("Quote", "Trade", "Summary", "Profile", "Greeks", "Underlying", "Candle")


async def main(folder: Path) -> int:
    found: dict[tuple[str, str], Any] = {}
    wanted = [("account", name) for name in (*ANSWERS, *EVENTS)] + [("quotes", name) for name in MARKET]
    without = ["candle_history_contract"]  # the SDK asks for candles under contract AUTO, without a history
    async with Simulator(**SMALL, without=without) as simulator, simulator.client() as client:
        since = round(simulator.clock.time.timestamp() * 1000) - 300_000
        settings = {"accountStreamerUrl": simulator.streamer_url, "candlesFrom": since}
        acting: asyncio.Task[None] | None = None
        async with node(SCRIPT, folder, settings_of(simulator) | settings) as process:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE):
                    while line := await process.stdout.readline():
                        event = json.loads(line)
                        found[event["streamer"], event["type"]] = event["data"]
                        if acting is None and all(("account", name) in found for name in ANSWERS):
                            acting = asyncio.create_task(act(simulator, client))
                        if all(each in found for each in wanted):
                            break
            if acting is not None:
                await acting
    for streamer, name in wanted:
        data = found.get((streamer, name))
        print(f"{'MISSING' if data is None else 'ok     '} {streamer} {name}: {described(data or {})}")
    return int(any(each not in found for each in wanted))


def described(data: Mapping[str, Any]) -> str:
    """Return the key that distinguishes one object from another."""
    keys = ("symbol", "status", "id", "name", "amount", "eventSymbol", "account-number")
    return ", ".join(f"{key} {data[key]}" for key in keys if key in data)


async def act(simulator: Simulator, client: Client) -> None:
    account = simulator.account_numbers[0]
    await client.orders.submit(account, buy("AAPL", 3))
    await asyncio.sleep(3)
    await client.orders.submit(account, tickets.market(tickets.sell_to_close("AAPL", 3)))
    pair = models.NewComplexOrder(
        type=models.ComplexOrderType.OTO, trigger_order=buy("KO", 1, "10.00"), orders=[buy("KO", 1, "9.00")]
    )
    await client.complex_orders.submit(account, pair)
    await alert_on_spy(simulator, client)
    simulator.move_cash(account, 100)
    simulator.publish_watchlist("Picks", ["AAPL"])


if __name__ == "__main__":
    sys.exit(asyncio.run(main(Path(sys.argv[1]).resolve())))
