"""Options of a simulator: wrong ones are refused before anything is made."""

from pathlib import Path
from typing import Any

import pytest

from brokerage_async.simulator import PricePath, RandomWalk, Simulator
from tests.tables import for_each

GOOD: dict[str, Any] = {
    "environment": "sandbox",
    "seed": 0,
    "wire": "observed",
    "equities": 0,
    "equity_options": 0,
    "chain_rows": 0,
    "warrants": 0,
    "cash": 1e6,
    "rate_limit": None,
    "prices": {"AAPL": RandomWalk(), "MSFT": PricePath([(0, 1)])},
}


def test_good_options_pass_and_wrong_ones_leave_no_state_file(tmp_path: Path) -> None:
    Simulator(**GOOD)
    Simulator(**{**GOOD, "rate_limit": 0, "prices": None, "wire": "documented", "environment": "production"})
    with pytest.raises(ValueError, match="seed must be"):
        Simulator(seed="1", state=tmp_path / "state")  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


@for_each(
    "name, value",
    [
        ("environment", "live"),
        ("seed", "1"),
        ("seed", 1.5),
        ("seed", True),
        ("seed", None),
        ("wire", "real"),
        ("cash", "much"),
        ("cash", float("nan")),
        ("rate_limit", -1),
        ("rate_limit", "20"),
        ("rate_limit", float("nan")),
        ("prices", {"AAPL": 5}),
    ],
)
def test_wrong_option_is_named(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"^{name}.* must be "):
        Simulator(**{**GOOD, name: value})


@for_each("name", ["equities", "equity_options", "chain_rows", "warrants"])
@for_each("size", [-1, "9", 1.0])
def test_size_is_a_whole_number(name: str, size: Any) -> None:
    with pytest.raises(ValueError, match=f"{name} must be a whole number of rows"):
        Simulator(**{name: size})
