"""Service of a command: the one that the environment names, or a requested simulator."""

from typing import Any

import pytest

from brokerage_async.cli.service import KNOWN, check_environment, connect
from brokerage_async.config import settings_from_env
from brokerage_async.errors import ConfigurationError

REQUIRED = ("BROKERAGE_BASE_URL", "BROKERAGE_CLIENT_SECRET", "BROKERAGE_REFRESH_TOKEN")


@pytest.fixture
def complete(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in REQUIRED:
        monkeypatch.setenv(name, "http://127.0.0.1:9")


@pytest.mark.usefixtures("complete")
async def test_connect_uses_the_service_of_the_environment_whose_account_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async with connect(simulated=False) as service:
        assert str(service) == "sandbox at http://127.0.0.1:9"
        assert service.simulator is None
        with pytest.raises(ConfigurationError, match="--account, or set BROKERAGE_ACCOUNT"):
            service.account(None)
        monkeypatch.setenv("BROKERAGE_ACCOUNT", "REAL")
        assert service.account(None) == "REAL"
    assert capsys.readouterr() == ("", "")


@pytest.mark.usefixtures("complete")
async def test_connect_simulates_when_asked_whatever_the_environment(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BROKERAGE_ACCOUNT", "REAL")
    async with connect(simulated=True) as service:
        assert str(service) == f"the simulator at {service.simulator.base_url}"
        assert await service.client.watchlists.list() is not None
        assert (service.account(None), service.account("X")) == (service.simulator.account_numbers[0], "X")
    output, errors = capsys.readouterr()
    assert output == ""
    assert "SIMULATED: an embedded simulator answers" in errors


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
