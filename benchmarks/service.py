"""The simulated brokerage in a separate process, so that only the client's work is measured."""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from brokerage_async import Client, Environment, RefreshToken
from brokerage_async.simulator import Simulator

SYMBOLS = 10_000
SPAWN = multiprocessing.get_context("spawn")


def serve(orders: Connection, equities: int) -> None:
    logging.getLogger("aiohttp.server").setLevel(logging.CRITICAL)  # killed clients hang up in mid-answer
    asyncio.run(serve_until_told(orders, equities))


async def serve_until_told(orders: Connection, equities: int) -> None:
    async with Simulator(equities=equities) as sim:
        table = sim.brokerage.state.catalogue.equities
        symbols = [row.symbol for row in table.definitions[:SYMBOLS]]
        table.rows(range(min(equities, SYMBOLS)))  # written once, before anybody measures
        orders.send((sim.base_url, sim.client_secret, sim.refresh_token, symbols))
        loop = asyncio.get_running_loop()
        while True:
            name, value = await loop.run_in_executor(None, orders.recv)
            if name == "stop":
                return
            if name == "write_symbols":
                Path(value).write_text("\n".join(row.symbol for row in table.definitions))  # noqa: ASYNC240
                orders.send(None)
            elif name == "count":
                orders.send(sum(entry.operation == value for entry in sim.ledger.requests))
                sim.ledger.requests.clear()
            else:
                setattr(sim, name, value)
                orders.send(None)


class Service:
    """The other process, and how to reach it."""

    def __init__(self, equities: int = SYMBOLS) -> None:
        self._orders, theirs = SPAWN.Pipe()
        self._process = SPAWN.Process(target=serve, args=(theirs, equities), daemon=True)
        self._process.start()
        self.base_url, self.client_secret, self.refresh_token, self.symbols = self._orders.recv()

    def tell(self, name: str, value: Any) -> Any:
        self._orders.send((name, value))
        return self._orders.recv()

    def client(self, **options: Any) -> Client:
        credentials = RefreshToken(client_secret=self.client_secret, refresh_token=self.refresh_token)
        return Client(Environment.sandbox(self.base_url), credentials, **options)

    @property
    def variables(self) -> dict[str, str]:
        return {
            "BROKERAGE_BASE_URL": self.base_url,
            "BROKERAGE_CLIENT_SECRET": self.client_secret,
            "BROKERAGE_REFRESH_TOKEN": self.refresh_token,
        }

    def stop(self) -> None:
        self._orders.send(("stop", None))
        self._process.join(5)
        self._process.terminate()
