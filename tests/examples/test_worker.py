"""Workers place the orders of a folder once each, whatever happens to answers and files."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from brokerage_async import models
from brokerage_async.tickets import buy_to_open, limit

from .conftest import Stage

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


async def test_workers_side_by_side_place_each_order_once(stage: Stage, inbox: Path) -> None:
    program = stage.load("worker")
    stage.simulator.faults.add("POST", "/accounts/[^/]+/orders$", "drop_after", times=1)  # an answer is lost
    await asyncio.gather(*(program.main([str(inbox), "--once"]) for _ in range(3)))
    await program.main([str(inbox), "--once"])
    assert names(inbox) == []
    assert names(inbox / "done") == ["first", "second", "third"]
    placed = [order.external_identifier for order in stage.orders()]
    assert sorted(placed) == ["first", "second", "third"]


async def test_invalid_files_are_set_aside(stage: Stage, inbox: Path) -> None:
    (inbox / "first.json").write_text("{")
    (inbox / "second.json").write_text(json.dumps({**ORDER, "prize": "2.00"}))
    (inbox / "third.json").write_text(json.dumps({**ORDER, "price": None}))
    (inbox / "fourth.json").write_text("[]")
    (inbox / "fifth.json").write_text("{}")
    await stage.load("worker").main([str(inbox), "--once"])
    assert names(inbox / "refused") == ["fifth", "first", "fourth", "second", "third"]
    assert not stage.orders()
    assert "second.json invalid: unknown keys prize" in stage.shown()
