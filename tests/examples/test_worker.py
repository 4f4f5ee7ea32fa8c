"""Workers place the orders of a folder once each, whatever happens to answers and files."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from brokerage_async import models
from brokerage_async.simulator import Simulator
from brokerage_async.tickets import buy_to_open, limit

from .conftest import Load, Orders

ORDER: dict[str, Any] = models.converter.unstructure(limit(buy_to_open("AAPL", 1), price="1.00"))


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    folder = tmp_path / "inbox"
    folder.mkdir()
    for name in ("first", "second", "third"):
        (folder / f"{name}.json").write_text(json.dumps(ORDER))
    return folder


def names(folder: Path) -> list[str]:
    return sorted(path.stem for path in folder.glob("*.json"))


async def test_workers_side_by_side_place_each_order_once(
    brokerage: Simulator, orders: Orders, load: Load, inbox: Path
) -> None:
    program = load("worker")
    brokerage.faults.add("POST", "/accounts/[^/]+/orders$", "drop_after", times=1)  # an answer is lost
    await asyncio.gather(*(program.main([str(inbox), "--once"]) for _ in range(3)))
    await program.main([str(inbox), "--once"])
    assert names(inbox) == []
    assert names(inbox / "done") == ["first", "second", "third"]
    placed = [order.external_identifier for order in orders()]
    assert sorted(placed) == ["first", "second", "third"]


async def test_invalid_files_are_set_aside(
    orders: Orders, load: Load, inbox: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (inbox / "first.json").write_text("{")
    (inbox / "second.json").write_text(json.dumps({**ORDER, "prize": "2.00"}))
    (inbox / "third.json").write_text(json.dumps({**ORDER, "price": None}))
    (inbox / "fourth.json").write_text("[]")
    (inbox / "fifth.json").write_text("{}")
    await load("worker").main([str(inbox), "--once"])
    assert names(inbox / "refused") == ["fifth", "first", "fourth", "second", "third"]
    assert not orders()
    assert "second.json invalid: unknown keys prize" in capsys.readouterr().out
