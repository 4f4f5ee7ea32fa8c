"""``brokerage-async conformance``: a report of where a service deviates from its description."""

import asyncio
import contextlib
import datetime as dt
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import typer

from brokerage_async import Limits
from brokerage_async._generated.behaviours import BEHAVIOURS, SWITCHES, UNASKED
from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.cli.command import Service, Target
from brokerage_async.cli.conformance import conformance, exit_code_of
from brokerage_async.conformance.probes import PROBES, VERSION, NotAskedError, Witness, examine
from brokerage_async.errors import OrderOutcomeUnknownError
from brokerage_async.observers import Attempt
from brokerage_async.operation import Effect
from brokerage_async.protocol.order_status import TERMINAL
from brokerage_async.protocol.response import Response
from brokerage_async.simulator import Simulator, faults
from brokerage_async.simulator.api.versions import VERSIONS
from tests.cli.conftest import parsed
from tests.partial_listings import altered
from tests.tables import lacks

pytestmark = pytest.mark.virtual_time

SIZES = {"equities": 200, "equity_options": 100, "chain_rows": 50}
EVENING = dt.datetime(2026, 6, 12, 22, tzinfo=dt.UTC)
"""A Friday after the close."""


def simulator(**options: Any) -> Simulator:
    return Simulator(**({"environment": "production", "versions": VERSIONS, **SIZES} | options))


async def report_of(simulator: Simulator, account: int = 1, observers: Any = (), **options: Any) -> dict[str, Any]:
    limits = Limits.published()
    async with simulator.client(transport=simulator.transport(), observers=observers, limits=limits) as client:
        return await examine(client, simulator.account_numbers[account], **options)


def by_state(states: dict[str, str], word: str) -> set[str]:
    return {name for name, state in states.items() if state.startswith(word)}


async def test_nothing_differs_on_the_simulator_and_entries_without_a_probe_say_why() -> None:
    assert BEHAVIOURS.keys() - PROBES.keys() == set(UNASKED)
    sent: list[Attempt] = []
    report = await report_of(simulator(rate_limit="published"), observers=[sent.append])
    assert (report["findings"], list(report)) == ([], ["findings", "operations", "behaviours", "versions"])
    assert (list(report["operations"]), list(report["behaviours"])) == (list(OPERATIONS), list(BEHAVIOURS))
    states = report["operations"]
    changing = {name for name, each in OPERATIONS.items() if each.effect is Effect.MUTATE}
    empty = {"watchlists.get", "backtests.get", "backtests.logs", "complex_orders.edit_pairs_dry_run", "oauth.token"}
    assert by_state(states, "not asked") == changing | empty
    assert by_state(states, "as described") == OPERATIONS.keys() - changing - empty
    assert {each.effect for each in sent} == {Effect.READ, Effect.PREFLIGHT}
    assert {each.status for each in sent if each.outcome == "throttled"} == set()
    assert len(sent) <= 115
    assert (states["orders.list"], report["versions"]["orders.list"]) == ("as described", VERSION)
    assert exit_code_of(report) == 0


async def asked(**options: Any) -> tuple[set[str], set[str]]:
    """Return the behaviours that the probes find as described, and those that differ."""
    server, described, different = simulator(**options), set[str](), set[str]()
    async with server.client(transport=server.transport(), limits=Limits.unlimited()) as client:
        await client.authorize()
        witness = Witness(client, server.account_numbers[1])
        for name, probe in PROBES.items():
            with contextlib.suppress(NotAskedError):
                (described if await probe(witness) is None else different).add(name)
    return described, different


@pytest.mark.slow
async def test_each_switch_of_the_list_is_named() -> None:
    """Turning off a switch changes its own probe at one of three moments, and never another probe."""
    moments: list[dict[str, Any]] = [{}, {"start": EVENING}, {"environment": "sandbox"}]
    wrong, named = [], set[str]()
    for options in moments:
        usual, different = await asked(**options)
        assert different == set()
        for name in (usual - named) & SWITCHES:
            _, found = await asked(without=[name], **options)
            named |= found & {name}
            if found - {name}:
                wrong.append((name, found))
    assert wrong == []
    assert (PROBES.keys() & SWITCHES) - named == set()


async def test_switch_that_is_off_and_an_older_version_are_named_in_the_report() -> None:
    report = await report_of(simulator(without=["market_orders_are_never_gtc"]))
    (finding,) = report["findings"]
    assert (finding["operation"], finding["where"]) == ("behaviours", "market_orders_are_never_gtc")
    assert by_state(report["behaviours"], "differs") == {"market_orders_are_never_gtc"}
    assert exit_code_of(report) == 1
    report = await report_of(simulator(versions=["20250813"]))
    assert {"customer_live_list_in_pages", "order_searches_need_a_start"} <= by_state(report["behaviours"], "differs")


async def test_differences_of_a_server_are_named() -> None:
    """Renamed fields, another code and another version."""

    def renamed(document: Any) -> Any:
        for row in document["data"]["items"]:
            row["ticker"] = row.pop("symbol", None)
        return document

    server = simulator()
    odd: dict[str, Any] = {"/positions": altered("renamed", renamed), "/watchlists": "status(418)"}
    for path, fault in odd.items():
        server.faults.add("GET", path, fault, times=None)
    server.withdrawn_versions = {VERSION}
    report = await report_of(server)
    found = {(each["operation"], each["where"]): each["seen"] for each in report["findings"]}
    assert found["positions.list", "$.data.items[].ticker"] == "string"
    assert found["orders.list", "Accept-Version"] == "406"
    assert found["watchlists.list", "error.code"].startswith("418")
    states = report["operations"]
    assert states["positions.list"] == "differs"
    assert states["watchlists.list"].startswith("refused (418")
    assert states["orders.search"] == "refused (406, the version is not served)"
    assert exit_code_of(report) == 1


async def test_answers_that_cannot_be_read_are_findings() -> None:
    """No answer stops the run early."""
    for odd in (b"<html>", b"[]", b'{"data": 7}', b'{"data": {"items": [7, null, {}]}}', b""):
        server = simulator()
        server.faults.add("*", "^/(?!oauth|customers/me/accounts)", faults.body(odd), times=None)
        report = await report_of(server)
        assert report["operations"]["positions.list"] == "differs"
        assert report["operations"]["instruments.equity"] == "differs"
        assert exit_code_of(report) == 1


PRIVATE = ("jane", "quix", "5wt", "4711", "example", "zebra")


def planted(document: Any) -> Any:
    """Write private values into every field that is not needed to ask on, and into new keys."""
    kept = {"symbol", "account-number", "name", "id", "exchange", "code", "root-symbol", "status", "data", "items"}

    def plant(value: Any, key: str) -> Any:
        if isinstance(value, dict):
            more = {"Jane Quix": "Jane", "jane-quix": 4711, "5WT4711": {"zebra": 1}, "ZEBRA": 4711.25, "note": "zebra"}
            return {name: plant(each, name) for name, each in value.items()} | (more if key not in ("", "data") else {})
        if isinstance(value, list):
            return [plant(each, f"{key}[]") for each in value]
        if isinstance(value, str) and key not in kept:
            return "Jane Quix"
        return value

    return plant(document, "")


async def test_report_holds_nothing_of_its_owner() -> None:
    """Values that the simulator invents for its owner, values planted everywhere, and values in errors."""
    server = simulator()
    error = {"code": "jane_quix", "message": "5WT4711", "errors": [{"code": "ZEBRA"}, {"code": "of_jane"}]}
    answer = Response(status=422, headers={}, body=json.dumps({"error": error}).encode())
    server.faults.add("GET", "/transactions", faults.Fault(name="refused", answer=lambda _: answer), times=None)
    server.faults.add("*", "^/(?!oauth)", altered("planted", planted), times=None)
    report = json.dumps(await report_of(server))
    assert "no such field" in report
    assert [word for word in PRIVATE if word in report.lower()] == []


async def test_account_is_the_first_of_the_customer_unless_given() -> None:
    server = simulator()
    sent: list[Attempt] = []
    async with server.client(transport=server.transport(), observers=[sent.append]) as client:
        report = await examine(client)
    assert report["operations"]["positions.list"] == "as described"
    paths = [request.target.split("/") for request in server.ledger.requests]
    assert {path[2] for path in paths if path[1] == "accounts"} == {server.account_numbers[0]}
    server.faults.add("GET", "/accounts$", faults.body(b'{"data": {"items": []}}'), times=None)
    async with server.client(transport=server.transport()) as client:
        report = await examine(client)
    assert report["operations"]["positions.list"] == "not asked: the customer has no account"
    assert report["operations"]["instruments.equity"] == "as described"


# --orders


def working(server: Simulator) -> list[str]:
    return [order.status for order in server.ledger.orders() if order.status not in TERMINAL]


async def test_orders_reads_the_echo_and_leaves_nothing() -> None:
    for without, state in (((), "as described"), (["external_identifier_echoed"], "differs")):
        server = simulator(environment="sandbox", without=without)
        before = len(working(server))
        report = await report_of(server, account=0, orders=True)
        assert report["behaviours"]["external_identifier_echoed"].startswith(state)
        assert (server.ledger.count("orders.submit"), server.ledger.count("orders.cancel")) == (1, 1)
        assert len(working(server)) == before
        (order,) = server.ledger.orders(account_number=server.account_numbers[0])
        assert order.status == "Cancelled"


@pytest.mark.slow
async def test_orders_interrupted_leave_nothing_working() -> None:
    """Interrupted after 0, 40, 80 … ms, from the submit on. A request takes 50 ms."""
    interrupted = 0
    for moment in range(8):
        server = simulator(environment="sandbox", latency=0.05)
        before = len(working(server))
        async with server.client(transport=server.transport()) as client:
            task = asyncio.ensure_future(examine(client, server.account_numbers[0], orders=True))
            while not server.ledger.count("orders.submit"):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.04 * moment)
            interrupted += task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert server.ledger.count("orders.submit") == 1
        assert len(working(server)) == before
    assert interrupted == 8


async def test_orders_that_cannot_be_cancelled_are_named() -> None:
    server = simulator(environment="sandbox")
    server.faults.add("DELETE", "/orders/", "status(503)", times=None)
    with pytest.raises(OrderOutcomeUnknownError, match="may still work: cancel it by hand"):
        await report_of(server, account=0, orders=True)
    server = simulator(environment="sandbox")
    server.faults.add("DELETE", "/orders/", "status(503)", times=3)
    await report_of(server, account=0, orders=True)
    assert [order.status for order in server.ledger.orders(account_number=server.account_numbers[0])] == ["Cancelled"]


async def exit_of(monkeypatch: pytest.MonkeyPatch, server: Simulator, orders: bool = False, **options: Any) -> int:
    """Return the exit code of the command that talks to a simulator as to a service."""

    @contextlib.asynccontextmanager
    async def connect(*, simulated: bool, environment: str, **options: Any) -> AsyncIterator[Service]:
        async with server.client(transport=server.transport(), **options) as client:
            yield Service(client)

    monkeypatch.setattr("brokerage_async.cli.conformance.connect", connect)
    with pytest.raises(typer.Exit) as left:
        await conformance(orders, target=Target(**options))
    return left.value.exit_code


async def test_command_exits_by_what_it_found(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.delenv("BROKERAGE_ACCOUNT", raising=False)
    assert await exit_of(monkeypatch, simulator()) == 0
    shown = capsys.readouterr().out
    assert lacks(shown, "Nothing differs: production, 1", "customer_is_me") == []
    assert await exit_of(monkeypatch, simulator(without=["customer_is_me"]), as_json=True) == 1
    report = json.loads(capsys.readouterr().out)
    assert [each["where"] for each in report["findings"]] == ["customer_is_me"]
    assert await exit_of(monkeypatch, simulator(), account="5WT00000", as_json=True) == 0
    assert json.loads(capsys.readouterr().out)["operations"]["positions.list"] == "refused (404 record_not_found)"


async def test_command_that_cannot_ask_exits_with_2(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    logged_out, production = simulator(), simulator()
    logged_out.revoke()
    assert await exit_of(monkeypatch, logged_out, as_json=True) == 2
    assert await exit_of(monkeypatch, production, orders=True, as_json=True) == 2
    assert production.ledger.requests == []
    output = capsys.readouterr()
    assert output.out == ""
    assert "outside of the sandbox" in output.err
    assert exit_code_of({"findings": [], "operations": {"a": "refused (401 unauthorized)", "b": "not asked: c"}}) == 2


@pytest.mark.slow
def test_command_reports_the_simulator_as_json() -> None:
    report = parsed("conformance", "--simulator", "--orders")
    assert (report["findings"], report["behaviours"]["external_identifier_echoed"]) == ([], "as described")
