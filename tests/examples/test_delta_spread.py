"""The spread is chosen by delta, shown first, and sold once a day within its caps."""

import re

import pytest

from brokerage_async.simulator import Simulator

from .conftest import Load, Orders


async def test_delta_spread_is_shown_first_and_sold_once(
    brokerage: Simulator, orders: Orders, load: Load, capsys: pytest.CaptureFixture[str]
) -> None:
    program = load("delta_spread")
    before = len(orders())
    await program.main(["AAPL"])
    shown = capsys.readouterr().out
    short, long = (abs(float(each)) for each in re.findall(r"delta (-0\.\d+)", shown))
    assert 0.1 < short < 0.22
    assert long < short
    assert "for a credit of" in shown
    assert len(orders()) == before
    await program.main(["AAPL", "--send"])
    assert "placed" in capsys.readouterr().out
    assert len(orders()) == before + 1
    await program.main(["AAPL", "--send"])
    assert len(orders()) == before + 1
