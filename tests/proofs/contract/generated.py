"""Requests that schemathesis generates: examples, boundaries, random ones, and sequences along the links."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from brokerage_async.protocol.request import Request
from brokerage_async.simulator import Simulator
from tests.documents import ROOT
from tests.schema.bundle import SOURCE

USER_AGENT = "contract-tests/1.0"


def document(simulator: Simulator) -> dict[str, Any]:
    """Return the bundled schema with the address of a simulator, and with its names for the invented examples."""
    source = SOURCE
    names = {
        "5WT00001": simulator.account_numbers[0],
        "invented-refresh": simulator.refresh_token,
        "invented-secret": simulator.client_secret,
    }
    for theirs, ours in names.items():
        source = source.replace(f'"{theirs}"', f'"{ours}"')
    schema: dict[str, Any] = json.loads(source)
    paths: dict[str, dict[str, Any]] = {}
    for path, item in schema["paths"].items():
        for method, operation in item.items():
            host = operation.pop("x-host", None)
            operation.pop("servers", None)
            paths.setdefault(path if host is None else f"/{host}{path}", {})[method] = operation
    return {**schema, "servers": [{"url": simulator.base_url}], "paths": paths}


def access_token(simulator: Simulator) -> str:
    body = {
        "grant_type": "refresh_token",
        "refresh_token": simulator.refresh_token,
        "client_secret": simulator.client_secret,
    }
    headers = {"User-Agent": USER_AGENT, "Content-Type": "application/json"}
    request = Request(method="POST", url="/oauth/token", headers=headers, body=json.dumps(body).encode())
    response = simulator.brokerage.handle(request, simulator.clock.now())
    token: str = json.loads(response.body)["access_token"]
    return token


async def run(simulator: Simulator, token: str, folder: Path, *, examples: int, seed: int) -> int:
    file = folder / "openapi.json"
    file.write_text(json.dumps(document(simulator)), "utf-8")
    process = await asyncio.create_subprocess_exec(
        str(Path(sys.executable).parent / "schemathesis"),
        "--config-file", str(Path(__file__).with_name("schemathesis.toml")),
        "run", str(file), "--url", simulator.base_url, "--no-color",
        "--header", f"Authorization: Bearer {token}", "--header", f"User-Agent: {USER_AGENT}",
        "--seed", str(seed), "--max-examples", str(examples),
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT), "SCHEMATHESIS_HOOKS": "tests.proofs.contract.checks"},
    )  # fmt: skip
    return await process.wait()
