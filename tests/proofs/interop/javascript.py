"""Calls of the official JavaScript client, which runs in Node and is pointed at the simulator by its configuration."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from brokerage_async.simulator import Simulator

from .results import CallResult, ClientRun, first_future_option, judge

PACKAGE = "@tastytrade/api"
SCRIPT = Path(__file__).with_name("javascript.mjs")


async def run(environment: str, folder: Path) -> ClientRun:
    """Make every call against a simulator of ``environment``; ``folder`` holds the client's ``node_modules``."""
    results: list[CallResult] = []
    async with (
        Simulator(environment=environment) as simulator,  # type: ignore[arg-type]
        node(SCRIPT, folder, settings_of(simulator)) as process,
    ):
        for name in await _answer(process):
            before = len(simulator.ledger.requests)
            process.stdin.write(f"{name}\n".encode())
            error = await _answer(process)
            results.append(judge(name, environment, simulator.ledger.requests[before:], error))
            simulator.clock.advance(5)
    package = json.loads((folder / "node_modules" / PACKAGE / "package.json").read_text("utf-8"))
    return ClientRun(
        client=f"npm `{PACKAGE}`", version=package["version"], environment=environment, results=tuple(results)
    )


@contextlib.asynccontextmanager
async def node(script: Path, folder: Path, settings: Mapping[str, Any]) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run a script until the end of the block; ``folder`` holds the client's ``node_modules``."""
    process = await asyncio.create_subprocess_exec(
        "node", str(script), str(folder), json.dumps(settings),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=1 << 20,
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def settings_of(simulator: Simulator) -> dict[str, Any]:
    catalogue = simulator.brokerage.state.catalogue
    return {
        "baseUrl": simulator.base_url,
        "clientSecret": simulator.client_secret,
        "refreshToken": simulator.refresh_token,
        "account": simulator.account_numbers[0],
        "rich": simulator.account_numbers[1],
        "option": catalogue.equity_options.definitions[0].symbol,
        "warrant": catalogue.warrants.definitions[0].symbol,
        "futureOption": first_future_option(simulator),
        "complexOrder": simulator.complex_order_ids["OTOCO"],
    }


async def _answer(process: asyncio.subprocess.Process) -> Any:
    line = await process.stdout.readline()
    if not line:
        raise RuntimeError("the script ended early; its errors are above")
    return json.loads(line)
