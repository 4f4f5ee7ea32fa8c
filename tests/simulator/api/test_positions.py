"""Positions after fills."""

from decimal import Decimal
from typing import Any

from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.protocol.decoding import codec
from tests.simulator.harness import Harness, leg, market
from tests.tables import for_each


def positions(harness: Harness, account: str, query: str = "") -> list[Any]:
    response = harness.ask("GET", f"/accounts/{account}/positions?{query}")
    return codec.decode(OPERATIONS["positions.list"], response.body, strict=True).value


def test_fills_open_and_close_a_position(harness: Harness) -> None:
    assert positions(harness, harness.account) == []
    harness.place(market(leg(quantity="30")))
    harness.wait(5)
    [held] = positions(harness, harness.account)
    booked = [row for row in harness.rows(f"/accounts/{harness.account}/transactions") if row.get("symbol")]
    assert (held.symbol, held.quantity, held.quantity_direction) == ("AAPL", 30, "Long")
    assert (held.average_open_price * 30).quantize(Decimal("0.01")) == sum(Decimal(row["value"]) for row in booked)
    assert held.updated_at is not None
    assert held.mark is None
    harness.place(market(leg(quantity="30", action="Sell to Close")))
    harness.wait(5)
    assert positions(harness, harness.account) == []
    harness.place(market(leg("/ESZ6", "1", "Buy", "Future")))
    harness.wait(5)
    [held] = positions(harness, harness.account, "underlying-product-code=ES")
    assert (held.symbol, held.multiplier) == ("/ESZ6", 50)
    assert positions(harness, harness.account, "underlying-product-code=NQ") == []


def test_short_option_is_unsigned_and_costs_a_debit(harness: Harness) -> None:
    shares, call = positions(harness, harness.accounts[1], "include-marks=true")
    assert (shares.quantity_direction, shares.cost_effect) == ("Long", "Credit")
    assert (call.quantity, call.quantity_direction, call.cost_effect) == (1, "Short", "Debit")
    assert call.mark == call.mark_price * call.quantity * call.multiplier
    assert call.expires_at is not None
    assert call.close_price > 0


@for_each(
    "query, count",
    [
        ("symbol=AAPL", 1),
        ("underlying-symbol[]=AAPL&underlying-symbol[]=MSFT", 2),
        ("underlying-symbol[]=MSFT", 0),
        ("instrument-type=Equity%20Option", 1),
        ("underlying-product-code=ES", 0),
        ("partition-keys[]=other", 0),
        ("net-positions=true", 2),
    ],
)
def test_filters(harness: Harness, query: str, count: int) -> None:
    assert len(positions(harness, harness.accounts[1], query)) == count


def test_position_expires_when_its_instrument_does(harness: Harness) -> None:
    option = harness.rows("/futures-option-chains/ES")[0]
    future = harness.get("/instruments/futures/ESU6")["data"]
    harness.place(market(leg(option["symbol"], "1", kind="Future Option")))
    harness.place(market(leg(future["symbol"], "1", kind="Future")))
    harness.wait(5)
    shown = {row["symbol"]: row["expires-at"] for row in harness.rows(f"/accounts/{harness.account}/positions")}
    assert shown == {row["symbol"]: row["expires-at"] for row in (option, future)}
