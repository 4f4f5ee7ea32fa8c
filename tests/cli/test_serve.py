"""`brokerage-async simulator` serves, ends on Ctrl-C, and is steered by `ctl`. `demo` runs on one, or on a service."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from types import MappingProxyType
from typing import Any

import pytest
import typer

from brokerage_async.cli.console import INTERRUPTED
from brokerage_async.cli.serve import request_of, steer
from brokerage_async.errors import ConfigurationError
from brokerage_async.simulator import Simulator
from tests.loops import ThreadLoop
from tests.protocol.values import raised
from tests.tables import lacks

from .conftest import invoke

needs_sigint = pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")


@contextmanager
def running(*arguments: str, count: int = 13, env: Any = MappingProxyType({})) -> Iterator[tuple[list[str], Any]]:
    """Run a command until it has printed some lines. Yield them and the variables that they export.

    Ctrl-C must end it without complaints.
    """
    command = subprocess.Popen(
        [sys.executable, "-u", "-X", "dev", "-W", "error", "-m", "brokerage_async", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **env},
    )  # fmt: skip
    try:
        lines = [command.stdout.readline() for _ in range(count)]
        yield lines, dict(re.findall(r"^export (\w+)=(\S+)$", "".join(lines), re.MULTILINE))
    finally:
        command.send_signal(signal.SIGINT)
        _, errors = command.communicate(timeout=30)
    assert (command.returncode, "interrupted" in errors) == (INTERRUPTED, True)
    assert [word for word in ("Traceback", "ResourceWarning") if word in errors] == []


@contextmanager
def environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set variables for commands in this process."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        yield


@contextmanager
def served(**options: Any) -> Iterator[Simulator]:
    """Serve a simulator from another thread, to commands in this one."""
    with ThreadLoop() as loop:
        simulator = loop.call(Simulator(**options).__aenter__)
        try:
            yield simulator
        finally:
            loop.call(simulator.__aexit__, None, None, None)


@needs_sigint
def test_simulator_prints_all_that_another_process_needs_and_starts_when_it_is_told() -> None:
    given = ("--environment", "production", "--seed", "3", "--start", "2031-07-07T10:30-04:00")
    with running("simulator", *given) as (lines, settings):
        assert len(settings) == 12
        assert lacks(lines[-1], settings["BROKERAGE_ACCOUNT"], "2031-07-07 14:30Z") == []
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(settings["BROKERAGE_BASE_URL"] + "/watchlists")
        with caught.value as answer:
            sent = parsedate_to_datetime(answer.headers["Date"])
        with environment(settings):
            assert invoke("call", "backtests.list").stdout.lstrip().startswith("[")
    assert timedelta() <= sent - datetime(2031, 7, 7, 14, 30, tzinfo=UTC) < timedelta(seconds=30)


@needs_sigint
def test_simulator_live_has_the_instruments_of_the_service_that_is_named() -> None:
    with (
        served(environment="production", start=datetime.now(UTC)) as service,
        running("simulator", "--live", count=14, env=service.environ) as (lines, settings),
        environment(settings),
    ):
        assert lines[0] == f"# prices and instruments of {service.base_url}; orders stay here\n"
        assert settings["BROKERAGE_BASE_URL"] != service.base_url
        assert json.loads(invoke("call", "instruments.equity", "--symbol", "KO").stdout)["symbol"] == "KO"


@pytest.fixture
def options(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return the options of the simulator that the command would serve."""
    seen: dict[str, Any] = {}

    def make(**options: Any) -> None:
        seen.update(options)
        raise typer.Exit

    monkeypatch.setattr("brokerage_async.simulator.Simulator", make)
    return seen


def test_simulator_options_reach_it(options: dict[str, Any]) -> None:
    invoke("simulator")
    assert (options["wire"], options["rate_limit"], "start" in options) == ("observed", None, False)
    given = ["--wire", "documented", "--rate-limit", "20", "--start", "2026-12-24T15:00Z"]
    invoke("simulator", *given)
    assert (options["wire"], options["rate_limit"]) == ("documented", 20)
    assert options["start"] == datetime(2026, 12, 24, 15, tzinfo=UTC)
    before = datetime.now(UTC)
    invoke("simulator", "--start", "now")
    assert before <= options["start"] <= datetime.now(UTC)


def test_simulator_impossible_options_are_refused() -> None:
    zone = "ISO 8601 time with a zone"
    table: list[tuple[str, str, int, str]] = [
        *(("--start", wrong, 2, zone) for wrong in ("2026-06-10T14:00", "2026-06-10", "yesterday", "")),
        *(("--port", wrong, 2, "--port") for wrong in ("-1", "65536")),
        *(("--latency", wrong, 2, "--latency") for wrong in ("-1", "nan")),
        ("--rate-limit", "0", 2, "--rate-limit"),
        ("--speed", "-1", 2, "--speed"),
        *(("--environment", "staging", 2, known) for known in ("sandbox", "production")),
        ("--start", "1960-01-01T00:00Z", 1, "ConfigurationError: start must be in the years 1972 to 2190, got 1960-01"),
        ("--fault", "nonsense", 1, "ConfigurationError"),
        ("--live", "--live", 1, "BROKERAGE_"),  # no service is named
        ("--live", "--speed=2", 1, "--speed must be 1"),
    ]
    said = [(invoke("simulator", option, wrong, code=code).output, told) for option, wrong, code, told in table]
    assert [pair for pair in said if pair[1] not in " ".join(pair[0].split())] == []


def test_simulator_address_that_is_taken_is_one_message() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        result = invoke("simulator", "--port", str(taken.getsockname()[1]), code=1, width=1_000)
    assert result.stderr.startswith("ConfigurationError: cannot listen there: ")
    assert "choose another --host or --port" in result.stderr
    assert "Traceback" not in result.output


@needs_sigint
def test_ctl_steers_a_running_simulator(monkeypatch: pytest.MonkeyPatch) -> None:
    ctl = ("simulator", "ctl")
    given = ("--speed", "0", "--fault", "GET /watchlists$ status(503)")
    with running("simulator", *given) as (_, settings), environment(settings):
        changed = invoke(*ctl, "set-price", "symbol=AAPL", "price=150.25")
        assert json.loads(changed.stdout)["last"] == "150.25"
        state = json.loads(invoke(*ctl, "state").stdout)
        assert (state["clock"]["speed"], state["faults"][0]["fault"]) == (0, "status(503)")
        assert "fill-order: unknown order 7" in invoke(*ctl, "fill-order", "order_id=7", code=1).stderr
        monkeypatch.setenv("BROKERAGE_CONTROL_TOKEN", "x")
        assert "send the printed token" in invoke(*ctl, "state", code=1, width=1_000).stderr


def test_request_of_arguments_become_a_request_or_are_named() -> None:
    hang = b'{"fault":"hang","method":"*","path":"/a=b","times":3}'
    table: dict[tuple[str, ...], tuple[str, str, bytes | None]] = {
        ("state",): ("GET", "/state", None),
        ("set-price", "symbol=BRK/B", "price=1.50"): ("PUT", "/prices/BRK%2FB", b'{"price":"1.50"}'),
        ("set-price", "symbol=AAPL", "price=null"): ("PUT", "/prices/AAPL", b'{"price":null}'),
        ("change-clock", "advance=60"): ("PATCH", "/clock", b'{"advance":60.0,"speed":null}'),
        ("fill-order", "order_id=7"): ("POST", "/orders/7/fill", b'{"quantity":null,"price":null}'),
        ("add-fault", "fault=hang", "times=3", "path=/a=b"): ("POST", "/faults", hang),
    }
    assert {(name, *given): request_of(name, given) for name, *given in table} == table
    refused = {
        ("zap",): "unknown operation zap; use one of state, clock, change-clock",
        ("fill-order",): "fill-order needs order_id=..., got none",
        ("state", "x=1"): "state does not take x",
        ("change-clock", "60"): "change-clock needs key=value arguments, got 60",
        ("change-clock", "advance=soon"): "change-clock: Expected",
        ("change-clock", "advanced=6"): "change-clock: Object contains unknown field `advanced`",
    }
    for (name, *given), message in refused.items():
        raised(ConfigurationError, request_of, name, given, match=message)


def test_steer_calls_only_a_loopback_simulator_that_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    addresses = ("", "https://127.0.0.1:1", "http://example.com:80", "http://127.0.0.1:1@a.example")
    said = dict.fromkeys(addresses, "must name a running simulator")
    said["http://127.0.0.1:1"] = r"no simulator answers at http://127\.0\.0\.1:1"
    monkeypatch.setenv("BROKERAGE_CONTROL_TOKEN", "made-up")
    for address, message in said.items():
        monkeypatch.setenv("BROKERAGE_CONTROL_URL", address)
        raised(ConfigurationError, steer, "state", [], match=message)


def test_demo_ends_with_a_filled_order_and_its_tables() -> None:
    output = invoke("demo").stdout
    expected = ("all equities", "10,000", "futures option chain", "20,000", "buying power after", "Filled", "fees")
    assert lacks(output, *expected) == []


def test_demo_on_a_service_runs_only_the_reading_parts() -> None:
    with served() as brokerage, environment(brokerage.environ):
        assert "No order was sent" in invoke("demo").output
        assert all(record.method == "GET" or record.operation == "oauth.token" for record in brokerage.ledger.requests)


@needs_sigint
def test_demo_ctrl_c_leaves_cleanly() -> None:
    with running("demo", count=1):  # the simulator is up
        time.sleep(0.1)
