"""Day trades and margin. `tests/proofs/books` computes fees, positions and balances again."""

from decimal import Decimal

from brokerage_async.simulator.trading.accounts import day_trade_count, requirement
from tests.simulator.harness import CALL, HIGHER_CALL, Harness, check_effect, leg, market, signed


def test_day_trades_are_counted_per_day_and_forgotten_after_a_week(harness: Harness) -> None:
    steps = [
        ("Buy to Open", "AAPL", 0),
        ("Sell to Close", "AAPL", 1),
        ("Buy to Open", "AAPL", 1),
        ("Sell to Close", "AAPL", 1),
        ("Buy to Open", "MSFT", 1),
        ("Sell to Close", "MSFT", 2),
        ("Buy to Open", "AAPL", 2),
    ]
    for action, symbol, expected in steps:
        harness.trade(market(leg(symbol, "2", action)))
        assert (action, symbol, day_trade_count(harness.own(), harness.now)) == (action, symbol, expected)
    harness.wait_until("2026-06-11T15:00:00+00:00")
    harness.trade(market(leg("AAPL", "2", "Sell to Close")))  # it was held overnight
    for day, expected in (("11", 2), ("16", 2), ("17", 0)):
        harness.wait_until(f"2026-06-{day}T15:01:00+00:00")
        assert (day, day_trade_count(harness.own(), harness.now)) == (day, expected)


def test_requirement_of_shares_options_spreads_and_covered_calls(harness: Harness) -> None:
    symbols = ("AAPL", CALL, HIGHER_CALL, "AAPL  260717P00190000", "AAPL  260717C00215000")
    share, low, high, put, higher = map(harness.instrument, symbols)
    worth = {share: Decimal(200), low: Decimal(12), high: Decimal(7), put: Decimal(6), higher: Decimal(5)}
    cases = (
        ([(share, 10)], 1_000),
        ([(share, -10)], 1_000),
        ([(low, 1)], 1_200),
        ([(low, -1)], 4_000),
        ([(low, 1), (high, -1)], 500),
        ([(low, -1), (high, 1)], 500),
        ([(low, 2), (high, -1)], 1_700),
        ([(share, 100), (high, -1)], 10_000),
        ([(high, -1), (share, 100)], 10_000),
        ([(share, 199), (high, -2)], 19_900 + 4_000),
        ([(share, 200), (high, -1), (higher, -1)], 20_000),
        ([(share, 100), (high, -2), (higher, 1)], 10_000 + 300),
        ([(share, 100), (put, -1)], 10_000 + 4_000),
        ([(share, -100), (high, -1)], 10_000 + 4_000),
    )
    found = []
    for holdings, _ in cases:
        positions = [(instrument, Decimal(quantity)) for instrument, quantity in holdings]
        found.append((holdings, requirement(positions, worth.__getitem__, Decimal(200), Decimal("0.5"))))
    assert found == list(cases)
    harness.trade(market(leg(quantity="100")))
    placed = harness.preview(market(leg(HIGHER_CALL, "1", "Sell to Open")))
    check_effect(placed)
    effect = placed["buying-power-effect"]
    assert effect["change-in-margin-requirement"] == "0.00"
    assert signed(effect, "isolated-order-margin-requirement") < 0
