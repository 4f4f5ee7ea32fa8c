"""The spread is chosen by delta, shown first, and sold once a day within its caps."""

import re

from .conftest import Stage


async def test_delta_spread_is_shown_first_and_sold_once(stage: Stage) -> None:
    program = stage.load("delta_spread")
    before = len(stage.orders())
    await program.main(["AAPL"])
    shown = stage.shown()
    short, long = (abs(float(each)) for each in re.findall(r"delta (-0\.\d+)", shown))
    assert 0.1 < short < 0.22
    assert long < short
    assert "for a credit of" in shown
    assert len(stage.orders()) == before
    await program.main(["AAPL", "--send"])
    assert "placed" in stage.shown()
    assert len(stage.orders()) == before + 1
    await program.main(["AAPL", "--send"])
    assert len(stage.orders()) == before + 1
