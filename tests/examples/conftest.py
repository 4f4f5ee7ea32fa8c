"""A simulated brokerage in memory, which every example takes for the service of its environment."""

import importlib.util
from types import ModuleType

import pytest

from brokerage_async import Client
from brokerage_async.simulator import Simulator
from brokerage_async.simulator.ledger import OrderRecord

from ..documents import ROOT

FOLDER = ROOT / "examples"


class Stage:
    """A brokerage for one example in an empty folder, and what the example writes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.simulator = Simulator(environment="production", equities=50, equity_options=1_000, chain_rows=20)
        self.account = self.simulator.account_numbers[0]
        self.patch = monkeypatch
        self._capsys = capsys
        monkeypatch.setattr(Client, "from_env", self.simulator.client)
        monkeypatch.setenv("BROKERAGE_ACCOUNT", self.account)

    def load(self, name: str) -> ModuleType:
        specification = importlib.util.spec_from_file_location(f"example_{name}", FOLDER / f"{name}.py")
        module = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(module)
        return module

    def orders(self) -> list[OrderRecord]:
        return self.simulator.ledger.orders(account_number=self.account)

    def shown(self) -> str:
        """Return what the example has written since the last call."""
        return self._capsys.readouterr().out

    def complaints(self) -> str:
        """Return what the example has written to the stream of errors since the last call."""
        return self._capsys.readouterr().err


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: object) -> Stage:
    monkeypatch.chdir(str(tmp_path))
    return Stage(monkeypatch, capsys)
