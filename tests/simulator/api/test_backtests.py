"""Backtests over the interface: created, polled, cancelled, restarted. Past prices of a trade."""

import json
from decimal import Decimal
from typing import Any

from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.protocol.decoding import codec
from brokerage_async.simulator import faults
from tests.simulator.harness import Harness, option_leg, strategy

HOST = "/backtester"
PUT = "AAPL  260618P00190000"
SHARES = {"symbol": "AAPL", "direction": "long", "quantity": 100}
COVER = {"symbol": PUT, "direction": "short", "quantity": 1}
MORNING = {"startTime": "2026-06-08T13:30:00Z", "endTime": "2026-06-08T15:00:00Z"}


def trade(*legs: dict[str, Any], **change: Any) -> dict[str, Any]:
    """Build the body of a simulated trade. A change to None removes the key."""
    body = {"underlying": "AAPL", "legs": list(legs) or [SHARES], **MORNING, **change}
    return {key: value for key, value in body.items() if value is not None}


def simulated(harness: Harness, *legs: dict[str, Any], **change: Any) -> list[dict[str, Any]]:
    response = harness.ask("POST", f"{HOST}/simulate-trade", trade(*legs, **change))
    assert response.status == 200, response.body
    codec.decode(OPERATIONS["backtests.simulate_trade"], response.body, strict=True)
    rows: list[dict[str, Any]] = json.loads(response.body)
    return rows


def read(harness: Harness, identifier: str) -> dict[str, Any]:
    """Return a backtest after checking it against the schema."""
    harness.decoded("backtests.get", f"{HOST}/backtests/{identifier}")
    return dict(harness.get(f"{HOST}/backtests/{identifier}"))


def test_list_names_the_backtests_of_the_user(harness: Harness) -> None:
    created = [harness.backtest() for _ in range(2)]
    assert harness.get(f"{HOST}/backtests") == created
    [dates] = harness.get(f"{HOST}/available-dates")
    assert dates == {"symbol": "AAPL", "startDate": "2021-01-04", "endDate": "2026-06-09"}


def test_cancelled_backtest_is_gone(harness: Harness) -> None:
    for seconds in (0, 1.2):
        identifier = harness.backtest()
        harness.wait(seconds)
        statuses = [harness.ask("POST", f"{HOST}/backtests/{identifier}/cancel").status for _ in range(2)]
        assert statuses == [204, 404]
        assert harness.ask("GET", f"{HOST}/backtests/{identifier}").status == 404
        assert harness.get(f"{HOST}/backtests") == []


def test_complete_backtest_is_not_cancelled_and_a_short_one_complete_at_once(harness: Harness) -> None:
    identifier = harness.backtest()
    harness.wait(2)
    assert harness.ask("POST", f"{HOST}/backtests/{identifier}/cancel").status == 400
    assert read(harness, identifier)["status"] == "completed"
    for end, expected in (("2026-03-04", (200, "completed")), ("2026-03-27", (201, "pending"))):
        response = harness.ask("POST", f"{HOST}/backtests", strategy(endDate=end))
        assert (response.status, json.loads(response.body)["status"]) == expected


def test_backtest_of_another_customer_is_not_found() -> None:
    harness = Harness(customers=2).login()
    identifier = harness.backtest()
    harness.login(refresh_token=harness.sim.customers[1].refresh_token)
    for method, tail in (("GET", ""), ("POST", "/cancel")):
        assert harness.ask(method, f"{HOST}/backtests/{identifier}{tail}").status == 404
    assert harness.get(f"{HOST}/backtests") == []


def test_status_progress_and_results_follow_the_clock(harness: Harness) -> None:
    identifier, seen = harness.backtest(), []
    for seconds in (0, 0.99, 0.11, 0.2, 0.11, 97.59):
        harness.wait(seconds)
        backtest = read(harness, identifier)
        seen.append((backtest["status"], backtest["progress"], backtest["ETA"], "trials" in backtest))
    assert seen == [
        ("pending", 0, 1.4, False),
        ("pending", 0, 0.41, False),
        ("running", 0.25, 0.3, False),
        ("running", 0.75, 0.1, False),
        ("completed", 1, 0, True),
        ("completed", 1, 0, True),
    ]
    assert {name: backtest[name] for name in strategy()} == strategy()
    figures = {one["name"]: one["value"] for one in backtest["statistics"]}
    total = sum(Decimal(str(trial["profitLoss"])) for trial in backtest["trials"])
    assert Decimal(str(figures["Total profit"])) == total
    assert Decimal(str(backtest["snapshots"][-1]["profitLoss"])) == total
    assert figures["Number of trials"] == len(backtest["trials"]) == 19
    states = [read(harness, harness.backtest(endDate=f"2026-03-{day}"))["status"] for day in ("06", "09")]
    assert states == ["completed", "pending"]


def test_results_are_those_of_the_seed_at_the_creation(harness: Harness) -> None:
    def trials(harness: Harness) -> Any:
        identifier = harness.backtest()
        harness.wait(2)
        return identifier, read(harness, identifier)["trials"]

    _, before = trials(harness)
    harness.sim.set_price("AAPL", 1)
    assert trials(harness)[1] == before
    four, again, five = (trials(Harness(seed=seed).login()) for seed in (4, 4, 5))
    assert four == again != five
    symbols = [row["symbol"] for row in Harness(equity_options=5_000).login().get(f"{HOST}/available-dates")]
    assert symbols[:3] == ["AAPL", "SPY", "QQQ"]
    assert Harness(equity_options=0).login().get(f"{HOST}/available-dates") == []


def test_last_day_is_that_of_the_last_close(harness: Harness) -> None:
    days = {"10T15:00:00": "2026-06-09", "10T19:59:59": "2026-06-09", "10T20:00:00": "2026-06-10"}
    for now, last in {**days, "14T15:00:00": "2026-06-12"}.items():
        harness.wait_until(f"2026-06-{now}Z")
        (row,) = harness.get(f"{HOST}/available-dates")
        assert (now, row["startDate"], row["endDate"]) == (now, "2021-01-04", last)


def test_invalid_backtest_is_refused(harness: Harness) -> None:
    legs = [option_leg(**change) for change in ({"delta": "20"}, {"delta": True}, {"delta": 1e300}, {"side": None})]
    changes: tuple[dict[str, Any], ...] = ({"endDate": "2026-02-01"}, {"legs": []}, {"entryConditions": None})
    cases = [(strategy(symbol="MSFT"), 404)]
    cases += [(body, 400) for body in (*map(strategy, legs), *(strategy(**change) for change in changes))]
    found = [(body, harness.ask("POST", f"{HOST}/backtests", body).status) for body, _ in cases]
    assert (found, harness.get(f"{HOST}/backtests")) == (cases, [])


def test_shares_are_priced_every_15_minutes_or_at_each_close(harness: Harness) -> None:
    rows = simulated(harness)
    assert [row["dateTime"][11:16] for row in rows] == ["13:30", "13:45", "14:00", "14:15", "14:30", "14:45", "15:00"]
    assert {(row["effect"], row["delta"]) for row in rows} == {("debit", "1.0000")}
    assert all(row["price"] == row["underlyingPrice"] for row in rows)
    assert len({row["price"] for row in rows}) > 1
    rows = simulated(harness, startTime="2026-01-01T00:00:00Z", endTime="2026-06-01T00:00:00Z")
    assert [row["dateTime"][:16] for row in rows[:2]] == ["2026-01-02T21:00", "2026-01-05T21:00"]
    assert len(rows) == 102
    expired = {"symbol": "AAPL  260515C00200000", "direction": "long", "quantity": 1}
    open_end = {"startTime": "2026-05-11T00:00:00Z", "endTime": None}
    assert simulated(harness, expired, COVER, **open_end)[-1]["dateTime"][:16] == "2026-05-15T20:00"
    assert simulated(harness, COVER, **open_end)[-1]["dateTime"][:16] == "2026-06-10T14:00"
    later = simulated(harness, COVER, startTime="2026-06-09T00:00:00Z", endTime="2030-01-01T00:00:00Z")
    assert later[-1]["dateTime"][:16] == "2026-06-10T14:00"
    rows = simulated(harness, startTime=None, endTime=None)
    assert (rows[0]["dateTime"][:10], rows[-1]["dateTime"][:10]) == ("2026-04-13", "2026-06-10")
    assert simulated(harness, startTime="1970-01-01T00:00:00Z")[0]["dateTime"][:10] == "2021-01-04"
    one = simulated(harness, SHARES, COVER)
    three = simulated(harness, {**SHARES, "quantity": 300}, {**COVER, "quantity": 3})
    assert one == three
    (put, *_), (both, *_) = simulated(harness, COVER), one
    assert (put["effect"], both["effect"]) == ("credit", "debit")
    assert Decimal(both["price"]) == Decimal(both["underlyingPrice"]) - Decimal(put["price"])
    assert 0 < Decimal(put["delta"]) < 1 < Decimal(both["delta"]) < 2


def test_invalid_trade_is_refused(harness: Harness) -> None:
    legs: tuple[dict[str, Any], ...] = (
        {"symbol": "MSFT"},
        {"symbol": "no symbol"},
        {"quantity": 0},
        {"direction": "up"},
    )
    changes: list[dict[str, Any]] = [{"underlying": "MSFT"}, {"legs": []}, *({"legs": [SHARES | one]} for one in legs)]
    changes += [{"startTime": "2026-06-11T00:00:00Z", "endTime": None}]
    changes += [{"endTime": "2019-01-01T00:00:00Z", "startTime": None}]
    statuses = [(one, harness.ask("POST", f"{HOST}/simulate-trade", trade(**one)).status) for one in changes]
    assert statuses == [(one, 400) for one in changes]


async def test_log_of_a_backtest_is_raw(harness: Harness) -> None:
    """Whatever form the service gives it, its bytes arrive."""
    identifier = harness.backtest()
    assert harness.ask("GET", f"/backtester/backtests/{identifier}/logs").status == 200
    assert harness.ask("GET", "/backtester/backtests/00000000000000000000000000000000/logs").status == 404
    for log in (b"09:30 opened\n", b'{"entries": []}', b""):
        harness.sim.faults.add("GET", "/logs$", faults.body(log))
        async with harness.sim.client(transport=harness.sim.transport()) as client:
            assert (await client.with_raw_response.backtests.logs(identifier)).body == log
            assert await client.backtests.logs(identifier) is None
