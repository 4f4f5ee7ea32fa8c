"""Service of a command: the one that the environment names, or a requested simulator."""

from typing import Any

import pytest

from brokerage_async.cli.service import KNOWN, check_environment, connect
from brokerage_async.config import Environment, settings_from_env
from brokerage_async.errors import ConfigurationError
from brokerage_async.simulator import Simulator

REQUIRED = ("BROKERAGE_BASE_URL", "BROKERAGE_CLIENT_SECRET", "BROKERAGE_REFRESH_TOKEN")


@pytest.fixture
def complete(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in REQUIRED:
        monkeypatch.setenv(name, "http://127.0.0.1:9")


async def test_connect_never_simulates_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise AssertionError("a simulator was made")

    monkeypatch.setattr(Simulator, "__init__", fail)
    with pytest.raises(ConfigurationError, match="pass --simulator") as caught:
        async with connect(simulated=False):
            pass
    assert [(problem.code, problem.domain) for problem in caught.value.errors] == [
        ("missing", name) for name in REQUIRED
    ]


@pytest.mark.usefixtures("complete")
async def test_connect_uses_the_service_of_the_environment(capsys: pytest.CaptureFixture[str]) -> None:
    async with connect(simulated=False) as service:
        assert str(service) == "sandbox at http://127.0.0.1:9"
        assert service.simulator is None
    assert capsys.readouterr() == ("", "")


@pytest.mark.usefixtures("complete")
async def test_connect_without_base_url_takes_the_named_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BROKERAGE_BASE_URL")
    with pytest.raises(ConfigurationError, match="BROKERAGE_BASE_URL: is required, unless BROKERAGE_ENVIRONMENT"):
        check_environment()
    for name in ("sandbox", "production"):
        monkeypatch.setenv("BROKERAGE_ENVIRONMENT", name)
        async with connect(simulated=False) as service:
            assert service.client.environment == getattr(Environment, name)()


@pytest.mark.usefixtures("complete")
async def test_connect_simulates_when_asked_whatever_the_environment(capsys: pytest.CaptureFixture[str]) -> None:
    async with connect(simulated=True) as service:
        assert str(service) == f"the simulator at {service.simulator.base_url}"
        assert await service.client.watchlists.list() is not None
    output, errors = capsys.readouterr()
    assert output == ""
    assert "SIMULATED: an embedded simulator answers" in errors


async def test_account_without_a_number_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROKERAGE_ACCOUNT", "REAL")
    async with connect(simulated=True) as service:
        assert service.account(None) == service.simulator.account_numbers[0]
        assert service.account("X") == "X"


@pytest.mark.usefixtures("complete")
async def test_account_real_service_must_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    async with connect(simulated=False) as service:
        with pytest.raises(ConfigurationError, match="--account, or set BROKERAGE_ACCOUNT"):
            service.account(None)
        monkeypatch.setenv("BROKERAGE_ACCOUNT", "REAL")
        assert service.account(None) == "REAL"


@pytest.mark.usefixtures("complete")
def test_check_environment_misspelt_variable_is_refused() -> None:
    table = {
        "BROKERAGE_BASEURL": "BROKERAGE_BASE_URL",
        "BROKERAGE_ENVIROMENT": "BROKERAGE_ENVIRONMENT",
        "BROKERAGE_JOURNL": "BROKERAGE_JOURNAL",
        "BROKERAGE_ACCOUNTS": "BROKERAGE_ACCOUNT",
        "brokerage_account": "BROKERAGE_ACCOUNT",
        "BROKERGE_ACCOUNT": "BROKERAGE_ACCOUNT",
    }
    for name, meant in table.items():
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(name, "s3cret")
            with pytest.raises(ConfigurationError) as caught:
                check_environment()
        assert f"{name}: unknown variable, probably a typing error for {meant}" in str(caught.value)
        assert "s3cret" not in str(caught.value)


@pytest.mark.usefixtures("complete")
def test_check_environment_warns_of_unknown_variables_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
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
