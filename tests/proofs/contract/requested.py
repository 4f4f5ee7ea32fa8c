"""Requests made on purpose: each operation as the vectors call it, then with everything that may be wrong with it.

The tests of the simulator make the same requests. Here they go over real HTTP, and schemathesis checks the answers.
Besides, it generates some: examples, boundaries, random ones, and sequences along the links.
"""

import asyncio
import contextlib
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import requests
import schemathesis
from schemathesis.checks import load_all_checks
from schemathesis.specs.openapi import checks
from urllib3.util.request import SKIP_HEADER, SKIPPABLE_HEADERS

from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.protocol.request import Request
from brokerage_async.protocol.response import Response
from brokerage_async.simulator import Simulator
from tests.documents import ROOT
from tests.loops import ThreadLoop
from tests.schema.bundle import SOURCE
from tests.simulator.harness import Harness
from tests.simulator.test_statuses import Abuse
from tests.simulator.test_vectors import NOT_AN_EQUITY, staged, translated
from tests.vectors import EXCHANGES

Statuses = dict[str, Counter[int]]
"""How often each status was answered, by operation."""

CHECKS = [
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]


FROM_GATEWAY = (401, "text/html"), (429, "")
"""Answers before a request reaches the service, as recorded: one without `User-Agent`, and one too many."""


class Contract:
    """Schema, and the failures and statuses of the answers that it was held against."""

    def __init__(self) -> None:
        load_all_checks()
        self._schema = schemathesis.openapi.from_dict(document(Simulator(environment="production")))
        self.failures: list[str] = []
        self.statuses: Statuses = {name: Counter() for name in OPERATIONS}

    def check(self, method: str, path: str, response: requests.Response) -> None:
        """Hold an answer against the schema of its operation, if the address has one."""
        operation = self._schema.find_operation_by_path(method, path)
        if operation is None:
            return
        self.statuses[operation.definition.raw["operationId"]][response.status_code] += 1
        kind = response.headers.get("Content-Type", "").partition(";")[0]
        if (response.status_code, kind) in FROM_GATEWAY:
            return
        case = operation.Case(path_parameters=dict.fromkeys(re.findall(r"\{(\w+)\}", operation.path), "x"))
        try:
            case.validate_response(response, checks=CHECKS)
        except (AssertionError, BaseExceptionGroup) as failure:
            self.failures.append(f"{method} {path}: {failure}")


class ServedHarness(Harness):
    """Harness whose requests go over HTTP, to a simulator whose clock stands still between them."""

    def __init__(self, loop: ThreadLoop, contract: Contract, **options: Any) -> None:
        super().__init__(**options)
        self.headers = {"User-Agent": USER_AGENT}
        self._loop, self._contract = loop, contract
        self._http = requests.Session()
        loop.call(self.sim.__aenter__)

    def stop(self) -> None:
        self._http.close()
        self._loop.call(self.sim.__aexit__, None, None, None)

    def ask(self, method: str, target: str, body: Any = None, **headers: str | None) -> Response:
        changed = {name.replace("_", "-").title(): value for name, value in headers.items()}
        sent = {"Accept": None, "Accept-Encoding": None, "User-Agent": None, **self.headers, **changed}
        content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        response = self._send(method, target, content, sent)
        self._contract.check(method, target.partition("?")[0], response)
        return Response(status=response.status_code, headers=dict(response.headers), body=response.content)

    def _send(
        self, method: str, target: str, content: bytes | None, headers: dict[str, str | None]
    ) -> requests.Response:
        request = self._http.prepare_request(requests.Request(method, self.sim.base_url, data=content))
        request.url = f"{self.sim.base_url}{target}"  # not normalized
        for name, value in headers.items():
            if value is not None:
                request.headers[name] = value
            elif name.lower() in SKIPPABLE_HEADERS:  # it would be set by default
                request.headers[name] = SKIP_HEADER
            else:
                request.headers.pop(name, None)
        return self._http.send(request, timeout=30, allow_redirects=False)

    def wait(self, seconds: float) -> None:
        self._loop.call(self.sim.clock.advance, seconds)
        self._loop.call(self.sim.settle)


def run() -> Contract:
    contract = Contract()
    with ThreadLoop() as loop:
        for exchange in EXCHANGES:
            if str(exchange) != NOT_AN_EQUITY:
                with serving(loop, contract) as make:
                    harness = staged(exchange, make)
                    harness.ask(exchange.method, *translated(exchange, harness))
        for operation in OPERATIONS.values():
            with serving(loop, contract) as make:
                abuse = Abuse(operation, make)
                for _ in abuse.statuses():
                    pass
                abuse.harness.sim.rate_limit = None
                abuse.harness.sim.faults.add("*", ".*", "status(503)")
                abuse.ask()
    return contract


@contextlib.contextmanager
def serving(loop: ThreadLoop, contract: Contract) -> Iterator[Callable[..., ServedHarness]]:
    with contextlib.ExitStack() as stack:

        def make(**options: Any) -> ServedHarness:
            harness = ServedHarness(loop, contract, **options)
            stack.callback(harness.stop)
            return harness

        yield make


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


async def run_schemathesis(simulator: Simulator, token: str, folder: Path, *, examples: int, seed: int) -> int:
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
