"""``brokerage-async doctor`` on a machine that is ready and on others; the service that a command takes."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from email.utils import formatdate
from pathlib import Path
from ssl import PROTOCOL_TLS_SERVER, SSLContext
from typing import Any

import pytest
import trustme
import typer

from brokerage_async.cli.command import KNOWN, check_environment, connect
from brokerage_async.cli.doctor import CHECKS, doctor, examine
from brokerage_async.config import settings_from_env
from brokerage_async.errors import ConfigurationError
from brokerage_async.journal import EntryKey, SqliteJournal
from brokerage_async.simulator import Simulator
from tests.http.calls import raised_by
from tests.raw_server import RawServer, answer
from tests.trading import SMALL

CLOSED = "127.0.0.1:1"
UNAUTHORIZED = b'{"error": {"code": "token_invalid", "message": "no token"}}'


@pytest.fixture
async def simulator(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> AsyncIterator[Simulator]:
    """A service that the environment names, all well."""
    for name in (*KNOWN, "REDIS_URL"):
        monkeypatch.delenv(name, raising=False)
    async with Simulator(environment="production", **SMALL) as simulator:
        for name, value in {**simulator.environ, "BROKERAGE_JOURNAL": str(tmp_path / "orders.journal")}.items():
            monkeypatch.setenv(name, value)
        yield simulator


async def test_machine_that_is_ready_is_told_so(simulator: Simulator, capsys: pytest.CaptureFixture[str]) -> None:
    found = await examine()
    assert {name: finding.state for name, finding in found.items()} == dict.fromkeys(CHECKS, "ok")
    await doctor(as_json=True)
    assert list(json.loads(capsys.readouterr().out)) == list(CHECKS)
    changed = [each.target for each in simulator.ledger.requests if each.method != "GET"]
    assert {path.rpartition("/")[2] for path in changed} == {"token", "dry-run"}


async def test_each_misconfiguration_is_named(
    simulator: Simulator, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("brokerage_async.cli.doctor.PATIENCE", 2.0)
    tls = SSLContext(PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(tls)
    late = f"Date: {formatdate(time.time() - 3_600, usegmt=True)}"
    broken = tmp_path / "not-a.journal"
    broken.write_text("These are not the orders that you are looking for. " * 100)
    async with (
        RawServer(answer(b"<html>Welcome</html>", 200)) as other,
        RawServer(answer(UNAUTHORIZED, 401), tls=tls) as untrusted,
        RawServer(answer(UNAUTHORIZED, 401, late)) as behind,
        RawServer(answer(b"", 407, 'Proxy-Authenticate: Basic realm="x"')) as proxy,
    ):
        cases: list[tuple[str, str, str, str]] = [
            ("BROKERAGE_CLIENT_SECRET", "", "variables", "BROKERAGE_CLIENT_SECRET: is required"),
            ("BROKERAGE_REFRESH_TOKKEN", "x", "variables", "probably a typing error for BROKERAGE_REFRESH_TOKEN"),
            ("BROKERAGE_BASE_URL", f"http://{CLOSED}", "address", "could not reach"),
            ("BROKERAGE_BASE_URL", other.url, "address", "unlike the service"),
            ("BROKERAGE_BASE_URL", untrusted.url, "address", "certificate of 127.0.0.1 is not trusted"),
            ("BROKERAGE_PROXY", proxy.url, "address", "asks for a user name and password (407)"),
            ("BROKERAGE_BASE_URL", behind.url, "clock", "s ahead of the service"),
            ("BROKERAGE_CLIENT_SECRET", "s3cret-of-another", "token", "refused the credentials"),
            ("BROKERAGE_ACCEPT_VERSION", "20200101", "version", "does not serve version 20200101"),
            ("BROKERAGE_ACCOUNT", "5WT99999", "accounts", "BROKERAGE_ACCOUNT is none of them"),
            ("BROKERAGE_STREAMER_URL", f"ws://{CLOSED}", "streams", "account stream"),
            ("BROKERAGE_JOURNAL", str(broken), "journal", "not-a.journal"),
            ("BROKERAGE_JOURNAL", f"postgresql://{CLOSED}/orders", "journal", ""),
            ("REDIS_URL", f"redis://{CLOSED}/0", "Redis", "does not answer"),
        ]
        missed = []
        for name, value, check, named in cases:
            with monkeypatch.context() as patch:
                patch.setenv(name, value)
                with pytest.raises(typer.Exit) as left:
                    await doctor(as_json=True)
            printed = capsys.readouterr().out
            findings = json.loads(printed)
            first = next(name for name, finding in findings.items() if finding["state"] == "mend")
            told = first == check and named in findings[check]["found"] and findings[check]["remedy"]
            hidden = "s3cret" not in printed and simulator.refresh_token not in printed
            if not told or not hidden or left.value.exit_code != 1:
                missed.append((name, value, findings[check], first, hidden))
        assert missed == []
        assert [b"Authorization" in each for each in other.requests] == [False] * len(other.requests)
        assert not any(b"/oauth/token" in each for each in other.requests)


async def test_notes_do_not_fail(simulator: Simulator, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A grant that only reads, an account that is not named, an order of unknown outcome."""
    monkeypatch.setenv("BROKERAGE_SCOPE", "read")
    monkeypatch.delenv("BROKERAGE_ACCOUNT")
    key = EntryKey(simulator.base_url, "production", simulator.account_numbers[0], "mine")
    async with SqliteJournal(tmp_path / "orders.journal") as journal:
        await journal.open(key, b"{}", owner="crashed", lease=30)
    findings = await examine()
    assert {name for name, finding in findings.items() if finding.state == "note"} == {"token", "accounts", "journal"}
    assert "1 order of unknown outcome" in findings["journal"].found
    await doctor()


async def test_findings_fit_the_terminal_and_the_remedy_fits_the_cause(
    simulator: Simulator, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("BROKERAGE_BASE_URL", f"{simulator.base_url}/of/another")
    await raised_by(doctor(), typer.Exit)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert "…" not in "".join(lines)
    (first,) = (number for number, line in enumerate(lines) if line.startswith("token"))
    told = " ".join(" ".join(lines[first : first + 4]).split())
    assert "check base_url, which has the path '/of/another'" in told
    assert "make a grant" not in told
    assert "BROKERAGE_BASE_URL" in told


async def test_engine_that_a_fleet_cannot_use_is_named(simulator: Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    async def sentinel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while command := await reader.read(4096):
            known = {b"PING": b"+PONG\r\n", b"CLIENT": b"+OK\r\n+OK\r\n"}
            writer.write(next((known[name] for name in known if name in command), b"-ERR unknown command\r\n"))
        writer.close()

    async with await asyncio.start_server(sentinel, "127.0.0.1", 0) as server:
        monkeypatch.setenv("REDIS_URL", f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}/0?protocol=2")
        finding = (await examine())["Redis"]
    assert finding.state == "mend"
    assert "or a Sentinel, in whose place the primary belongs" in finding.found


REQUIRED = ("BROKERAGE_BASE_URL", "BROKERAGE_CLIENT_SECRET", "BROKERAGE_REFRESH_TOKEN")


async def test_connect_uses_the_service_of_the_environment_or_simulates_when_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in REQUIRED:
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with connect(simulated=False) as service:
        assert str(service) == "sandbox at http://127.0.0.1:9"
        assert service.simulator is None
        with pytest.raises(ConfigurationError, match="--account, or set BROKERAGE_ACCOUNT"):
            service.account(None)
        monkeypatch.setenv("BROKERAGE_ACCOUNT", "REAL")
        assert service.account(None) == "REAL"
    assert capsys.readouterr() == ("", "")
    async with connect(simulated=True) as service:
        assert str(service) == f"the simulator at {service.simulator.base_url}"
        assert await service.client.watchlists.list() is not None
        assert (service.account(None), service.account("X")) == (service.simulator.account_numbers[0], "X")
    output, errors = capsys.readouterr()
    assert output == ""
    assert "SIMULATED: an embedded simulator answers" in errors


def test_check_environment_refuses_misspelt_variables_and_warns_of_unknown_ones(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table = {
        "BROKERAGE_BASEURL": "BROKERAGE_BASE_URL",
        "BROKERAGE_ENVIROMENT": "BROKERAGE_ENVIRONMENT",
        "BROKERAGE_JOURNL": "BROKERAGE_JOURNAL",
        **dict.fromkeys(["BROKERAGE_ACCOUNTS", "brokerage_account", "BROKERGE_ACCOUNT"], "BROKERAGE_ACCOUNT"),
    }
    for name, meant in table.items():
        with monkeypatch.context() as patch:
            patch.setenv(name, "s3cret")
            with pytest.raises(ConfigurationError) as caught:
                check_environment()
        assert f"{name}: unknown variable, probably a typing error for {meant}" in str(caught.value)
        assert "s3cret" not in str(caught.value)
    for name in KNOWN:
        monkeypatch.setenv(name, "x")
    check_environment()
    assert capsys.readouterr() == ("", "")
    monkeypatch.setenv("BROKERAGE_ZZ", "s3cret")
    check_environment()
    assert capsys.readouterr().err == "BROKERAGE_ZZ: unknown variable, without effect\n"


def test_known_variables_are_those_that_configure_a_client() -> None:
    read: set[str] = set()

    class Recording(dict[str, str]):
        def get(self, name: str, default: Any = None) -> Any:
            read.add(name)
            return super().get(name, default)

    settings_from_env(Recording(dict.fromkeys(REQUIRED, "https://a.example")))
    assert read <= set(KNOWN)
    assert set(KNOWN) - read == {
        "BROKERAGE_ACCOUNT", "BROKERAGE_JOURNAL", "BROKERAGE_CONTROL_URL", "BROKERAGE_CONTROL_TOKEN",
        "BROKERAGE_REDIRECT_URI",
    }  # fmt: skip
