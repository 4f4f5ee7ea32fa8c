"""Backtests: bare bodies with camelCase keys, on a host of their own."""

import datetime as dt
from decimal import Decimal

from brokerage_async import models
from tests.vectors.exchange import Exchange

STRATEGY = """
"symbol": "QNTX", "startDate": "2024-01-02", "endDate": "2024-12-31",
"legs": [{"type": "equity-option", "direction": "short", "side": "put", "quantity": 1, "strikeSelection": "delta",
          "delta": 20, "daysUntilExpiration": 45}],
"entryConditions": {"frequency": "every day", "maximumActiveTrials": 1, "maximumActiveTrialsBehavior": "don't enter"},
"exitConditions": {"takeProfitPercentage": 50, "atDaysToExpiration": 21}
"""

SHORT = models.BacktestDirection.SHORT

SHORT_PUT = models.BacktestLeg(
    type=models.BacktestLegType.EQUITY_OPTION,
    direction=SHORT,
    side=models.BacktestSide.PUT,
    quantity=1,
    strike_selection=models.StrikeSelection.DELTA,
    delta=Decimal(20),
    days_until_expiration=45,
)

NEW = models.NewBacktest(
    symbol="QNTX",
    start_date=dt.date(2024, 1, 2),
    end_date=dt.date(2024, 12, 31),
    legs=[SHORT_PUT],
    entry_conditions=models.EntryConditions(
        frequency=models.EntryFrequency.EVERY_DAY,
        maximum_active_trials=1,
        maximum_active_trials_behavior=models.MaximumTrialsBehavior.DO_NOT_ENTER,
    ),
    exit_conditions=models.ExitConditions(take_profit_percentage=50, at_days_to_expiration=21),
)

EXCHANGES = (
    Exchange(
        name="days of each symbol",
        operation="backtests.available_dates",
        target="/available-dates",
        answer='[{"symbol": "QNTX", "startDate": "2013-01-02", "endDate": "2026-11-20"}, {"symbol": "SPY"}]',
        facts={
            "#": 2,
            "[0].symbol": "QNTX",
            "[0].start_date": dt.date(2013, 1, 2),
            "[0].end_date": dt.date(2026, 11, 20),
            "[1].end_date": None,
        },
    ),
    Exchange(
        name="identifiers",
        operation="backtests.list",
        target="/backtests",
        answer='["bt-0a1", "bt-0a2"]',
        facts={"#": 2, "[0]": "bt-0a1", "[1]": "bt-0a2"},
    ),
    Exchange(
        name="complete at once",
        operation="backtests.create",
        arguments=(NEW,),
        method="POST",
        target="/backtests",
        sent=f"{{{STRATEGY}}}",
        answer=f"""
        {{
          "id": "bt-0a1", {STRATEGY}, "status": "completed", "ETA": 0, "progress": 1,
          "statistics": [{{"name": "Total profit", "value": 812.5}}],
          "trials": [{{"openDateTime": "2024-01-02T15:30:00Z", "closeDateTime": "2024-01-26T15:30:00Z",
                       "profitLoss": -41.25}}],
          "snapshots": [{{"dateTime": "2024-01-02T15:30:00Z", "profitLoss": 0, "underlyingPrice": 49.75}}],
          "notices": ["Prices of one day are missing."]
        }}
        """,
        facts={
            "id": "bt-0a1",
            "start_date": dt.date(2024, 1, 2),
            "legs.#": 1,
            "legs[0].direction": "short",
            "legs[0].delta": Decimal(20),
            "entry_conditions.frequency": "every day",
            "exit_conditions.take_profit_percentage": 50,
            "status": models.BacktestStatus.COMPLETED,
            "eta": Decimal(0),
            "statistics.#": 1,
            "trials[0].profit_loss": Decimal("-41.25"),
            "trials[0].close_date_time": dt.datetime(2024, 1, 26, 15, 30, tzinfo=dt.UTC),
            "snapshots[0].underlying_price": Decimal("49.75"),
            "notices.#": 1,
        },
    ),
    Exchange(
        name="pending",
        operation="backtests.create",
        arguments=(NEW,),
        method="POST",
        target="/backtests",
        sent=f"{{{STRATEGY}}}",
        status=201,
        answer='{"id": "bt-0a2", "status": "pending", "ETA": 31.5, "progress": 0.0}',
        facts={"id": "bt-0a2", "status": "pending", "eta": Decimal("31.5"), "progress": Decimal(0), "trials": None},
    ),
    Exchange(
        name="under way",
        operation="backtests.get",
        arguments=("bt-0a2",),
        target="/backtests/bt-0a2",
        answer='{"id": "bt-0a2", "status": "running", "ETA": 12, "progress": 0.4, "notices": []}',
        facts={"id": "bt-0a2", "status": models.BacktestStatus.RUNNING, "progress": Decimal("0.4"), "notices": ()},
    ),
    Exchange(
        name="its log, in whatever form",
        operation="backtests.logs",
        arguments=("bt-0a2",),
        target="/backtests/bt-0a2/logs",
    ),
    Exchange(
        name="cancelled",
        operation="backtests.cancel",
        arguments=("bt-0a2",),
        method="POST",
        target="/backtests/bt-0a2/cancel",
        status=204,
    ),
    Exchange(
        name="a short put and its shares",
        operation="backtests.simulate_trade",
        arguments=(
            models.SimulatedTrade(
                underlying="QNTX",
                start_time=dt.datetime(2024, 1, 2, 14, 30, tzinfo=dt.UTC),
                legs=[
                    models.SimulatedTradeLeg(symbol="QNTX  240216P00045000", direction=SHORT, quantity=1),
                    models.SimulatedTradeLeg(symbol="QNTX", direction=models.BacktestDirection.LONG, quantity=100),
                ],
            ),
        ),
        method="POST",
        target="/simulate-trade",
        sent="""
        {
          "underlying": "QNTX", "startTime": "2024-01-02T14:30:00Z",
          "legs": [{"symbol": "QNTX  240216P00045000", "direction": "short", "quantity": 1},
                   {"symbol": "QNTX", "direction": "long", "quantity": 100}]
        }
        """,
        answer="""
        [
          {"dateTime": "2024-01-02T14:30:00Z", "price": "48.10", "effect": "debit", "underlyingPrice": "49.75",
           "delta": "1.21"},
          {"dateTime": "2024-01-02T14:45:00Z", "price": 0.5, "effect": "credit"}
        ]
        """,
        facts={
            "#": 2,
            "[0].date_time": dt.datetime(2024, 1, 2, 14, 30, tzinfo=dt.UTC),
            "[0].price": Decimal("48.10"),
            "[0].effect": models.SimulatedEffect.DEBIT,
            "[0].delta": Decimal("1.21"),
            "[1].price": Decimal("0.5"),
            "[1].underlying_price": None,
        },
    ),
)
