"""A simulated brokerage in memory, which every example takes for the service of its environment."""

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from brokerage_async import Client
from brokerage_async.simulator import Simulator
from brokerage_async.simulator.ledger import OrderRecord

from ..documents import ROOT

FOLDER = ROOT / "examples"
Load = Callable[[str], ModuleType]
Orders = Callable[[], list[OrderRecord]]


@pytest.fixture
def brokerage(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Simulator:
    simulator = Simulator(environment="production", equities=50, equity_options=1_000, chain_rows=20)
    monkeypatch.setattr(Client, "from_env", simulator.client)
    monkeypatch.setenv("BROKERAGE_ACCOUNT", simulator.account_numbers[0])
    monkeypatch.chdir(tmp_path)
    return simulator


@pytest.fixture
def orders(brokerage: Simulator) -> Orders:
    """Return the orders of the account, oldest first."""
    return lambda: brokerage.ledger.orders(account_number=brokerage.account_numbers[0])


@pytest.fixture
def load() -> Load:
    """Import an example by name, as a fresh module."""

    def load(name: str) -> ModuleType:
        specification = importlib.util.spec_from_file_location(f"example_{name}", FOLDER / f"{name}.py")
        module = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(module)
        return module

    return load
