"""The whole simulator, used as in tests of a program: its options, its first state."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from brokerage_async import models
from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.config import settings_from_env
from brokerage_async.simulator import PricePath, RandomWalk, Simulator
from brokerage_async.simulator.api.brokerage import HANDLERS
from brokerage_async.tickets import buy_to_open, limit
from tests.simulator.harness import Harness
from tests.tables import for_each
from tests.trading import SMALL


async def test_client_over_http() -> None:
    async with Simulator(**SMALL) as sim, sim.client() as client:
        placed = await client.orders.submit(sim.account_numbers[0], limit(buy_to_open("AAPL", 3), price="250.00"))
        sim.clock.advance(30)
        (live,) = await client.orders.live(sim.customer_id, [sim.account_numbers[0]])
        assert (live.id, live.status) == (placed.order.id, models.OrderStatus.FILLED)
        assert sim.environment.hosts == {"backtester": f"{sim.base_url}/backtester"}
        assert settings_from_env(sim.environ) == {"environment": sim.environment, "credentials": sim.credentials}
        assert await client.backtests.list() == []
        record = sim.ledger.requests[-1]
    assert (record.operation, record.target) == ("backtests.list", "/backtester/backtests")


@for_each("year", [1972, 2190])
async def test_service_answers_at_the_ends_of_the_range_of_starts(year: int) -> None:
    day = date(year, 12, 31)
    async with Simulator(start=datetime(year, 12, 31, 23, tzinfo=UTC), **SMALL).client() as client:
        (current,) = await client.market_time.current_sessions(["Equity"])
        assert current.next_session.session_date is not None
        assert current.next_session.session_date > day
        assert await client.market_time.sessions(day + timedelta(days=9), from_date=day)
        assert await client.instruments.futures_option_chain("ES")
        assert await client.market_metrics.earnings_reports("AAPL", day - timedelta(days=400))


SIZES = ("equities", "equity_options", "chain_rows", "warrants")
GOOD: dict[str, Any] = {"environment": "sandbox", "seed": 0, "wire": "observed", "cash": 1e6, "rate_limit": None}
GOOD |= {**dict.fromkeys(SIZES, 0), "prices": {"AAPL": RandomWalk(), "MSFT": PricePath([(0, 1)])}}


def test_good_options_pass_and_wrong_ones_leave_no_state_file(tmp_path: Path) -> None:
    assert Simulator(**GOOD, start=datetime(2027, 1, 4, 15, tzinfo=UTC)).clock.time.year == 2027
    Simulator(**{**GOOD, "rate_limit": 0, "prices": None, "wire": "documented", "environment": "production"})
    with pytest.raises(ValueError, match="seed must be"):
        Simulator(seed="1", state=tmp_path / "state")  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


WRONG: dict[str, tuple[Any, ...]] = {
    "seed": ("1", 1.5, True, None),
    **dict.fromkeys(("environment", "wire"), ("live",)),
    "start": ("2026-06-10",),
    "cash": ("much", float("nan")),
    "rate_limit": (-1, "unpublished", float("nan")),
    "prices": ({"AAPL": 5},),
    **dict.fromkeys(SIZES, (-1, "9", 1.0)),
}


@for_each("name, value", [(name, value) for name, values in WRONG.items() for value in values])
def test_wrong_option_is_named(name: str, value: Any) -> None:
    rule = "a whole number of rows" if name in SIZES else ""
    with pytest.raises(ValueError, match=f"^{name}.* must be {rule}"):
        Simulator(**{**GOOD, name: value})


def test_initial_accounts_and_their_orders() -> None:
    harness = Harness(cash=5_000)
    first, account, third = owned = harness.state.own_accounts
    assert first.cash == third.cash == 5_000
    assert [len(each.positions) for each in owned] == [0, 2, 0]
    assert len(harness.state.accounts.of(harness.state.other_customer)) == 1
    shares, call = account.positions.values()
    assert (shares.quantity, call.quantity * call.instrument.multiplier) == (100, -100)
    price = harness.state.prices.price(shares.instrument, harness.now)
    required = harness.state.margin_calculator.total_required(account, harness.now)
    assert required == (shares.quantity * price / 2).quantize(Decimal("0.01"))


def test_operation_without_a_handler_is_named_with_its_file(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {name.partition(".")[0] for name in OPERATIONS} == set(HANDLERS)
    monkeypatch.delattr(HANDLERS["orders"], "cancel")
    with pytest.raises(NotImplementedError, match=r"operation orders\.cancel: add cancel\(\) to .*orders\.py"):
        Simulator()
