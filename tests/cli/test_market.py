"""Accounts, positions, balances, quotes, searches and chains of the console, on a simulator."""

import re
from decimal import Decimal

import attrs
import pytest

from brokerage_async import Client, tickets
from brokerage_async.cli.accounts import figures, position_row
from brokerage_async.cli.market import price_of, quote_row
from brokerage_async.models import AccountBalance, MarketDataSnapshot, Position, PriceEffect, QuantityDirection
from brokerage_async.simulator import Simulator
from tests.tables import lacks, misses
from tests.trading import SMALL

from .conftest import ConnectTo, cells, invoke, parsed


@pytest.fixture(scope="module")
def running() -> Simulator:
    return Simulator(environment="production", **SMALL | {"equity_options": 2_000, "chain_rows": 2_000})


@pytest.fixture
def service(running: Simulator, connect_to: ConnectTo) -> Simulator:
    connect_to(running.client)
    return running


def test_quote_shows_each_symbol_and_names_those_that_are_unknown_or_failed(service: Simulator) -> None:
    output = invoke("quote", "AAPL", "/ESU6", "BTC/USD", "--index", "SPX", width=140).stdout
    assert lacks(output, "AAPL", "Equity", "/ESU6", "Future", "BTC/USD", "Cryptocurrency", "SPX", "Index") == []
    result = invoke("quote", "NOPE", "AAPL", code=1)
    assert "unknown to the service: NOPE" in result.stderr
    assert "AAPL" in result.stdout
    assert invoke("quote", "NOPE", code=1).stdout == ""
    assert "failed: A,B: " in invoke("quote", "A,B", "AAPL", "--json", code=1).stderr
    assert [row["symbol"] for row in parsed("quote", "A,B", "AAPL", code=1)] == ["AAPL"]
    (row,) = parsed("quote", "AAPL")
    assert {"symbol", "bid", "ask", "prev-close", "updated-at", "summary-date"} <= set(row)
    symbol = service.brokerage.state.catalogue.equity_options.definitions[0].symbol
    assert lacks(invoke("quote", symbol, "BTC/USD", width=76).stdout, symbol, "No room for: type, at") == []


def test_search_finds_by_words_and_type(service: Simulator) -> None:
    assert "Apple Inc." in invoke("search", "apple").stdout
    assert len(parsed("search", "a", "--limit", "3")) == 3
    assert "Nothing was found for 'zzzz'." in invoke("search", "zzzz").stdout
    assert parsed("search", "a", "--type", "Future") == []


def test_change_is_that_since_the_previous_close_and_the_price_the_first_there_is() -> None:
    row = quote_row("X", MarketDataSnapshot(last=Decimal("9.9"), prev_close=Decimal("10.0"), volume=Decimal("12345.0")))
    assert (row["change"], row["%"], row["volume"]) == ("-0.1", "-1.00", "12,345")
    assert quote_row("X", MarketDataSnapshot(last=Decimal(1), prev_close=Decimal(0)))["%"] == ""
    assert quote_row("X", MarketDataSnapshot())["change"] == ""
    rows = [MarketDataSnapshot(), MarketDataSnapshot(mid=Decimal(2), close=Decimal(3)), MarketDataSnapshot(last=4)]
    assert price_of(rows) == 2
    assert price_of([]) is None


def test_chain_lists_the_expirations_of_a_known_underlying(service: Simulator) -> None:
    output = invoke("chain", "AAPL").stdout
    assert output.splitlines()[0].strip() == "Expirations"
    assert lacks(output, "2026-07-17", "Regular") == []
    (chain,) = parsed("chain", "AAPL")
    assert chain["expirations"][0]["strikes"][0]["strike-price"]
    assert "NotFoundError" in invoke("chain", "NOPE", code=1).stderr
    assert "it lists" in invoke("chain", "AAPL", "--on", "2026-07-16", code=1).stderr


def test_chain_near_a_day_shows_strikes_around_the_money_with_prices(service: Simulator) -> None:
    output = invoke("chain", "AAPL", "--near", "2026-07-17", "--strikes", "4", width=110).stdout
    title, *rows = output.splitlines()
    assert re.match(r"AAPL 2026-07-17 PM of AAPL around \d+\.\d\d ", title)
    strikes = [line for line in rows if "AAPL  260717C" in line]
    assert len(strikes) == 4
    for line in strikes:
        call, bid, ask, strike, put_bid, put_ask, put = cells(line)
        assert call.replace("C", "P") == put.replace("C", "P")
        assert float(bid) < float(ask)
        assert float(put_bid) < float(put_ask)
        assert float(call[-8:]) / 1000 == float(strike)
    found = parsed("chain", "AAPL", "--days", "37", "--around", "150", "--strikes", "2")
    assert (found["underlying-symbol"], found["around"]) == ("AAPL", "150")
    strikes = found["expiration"]["strikes"]
    assert [set(strike) >= {"call", "put", "call-streamer-symbol"} for strike in strikes] == [True, True]
    symbols = {strike[side] for strike in strikes for side in ("call", "put")}
    assert {price["symbol"] for price in found["prices"]} == symbols


def test_chain_of_futures_is_that_of_a_product_or_of_one_future_around_its_price(service: Simulator) -> None:
    assert lacks(invoke("chain", "/ES").stdout, "ES2", "ES4", "/ESM6", "/ESU6") == []
    assert "/ESM6" not in invoke("chain", "/ESU6").stdout
    assert "ES4" not in invoke("chain", "/ES", "--root", "ES2").stdout
    title, *rows = invoke("chain", "/ES", "--days", "2", "--strikes", "2", width=110).stdout.splitlines()
    assert re.match(r"ES2 2026-06-12 PM of /ESM6 around 6000\.\d\d ", title)
    (line,) = (row for row in rows if "C6000" in row)
    _, bid, ask, strike, *_ = cells(line)
    assert (strike, 0 < float(bid) < float(ask)) == ("6000", True)


def test_chain_without_prices_needs_a_price_to_be_around(service: Simulator) -> None:
    service.faults.add("GET", "/market-data", "status(403)", times=None)
    result = invoke("chain", "/ES", "--days", "2", code=1)
    assert "the service gives no price of /ESM6: pass --around PRICE" in result.stderr
    result = invoke("chain", "/ES", "--days", "2", "--around", "6100", "--strikes", "1", width=110)
    service.faults.clear()
    assert "PermissionDeniedError" in result.stderr
    assert "./ESM6 ES2M6 260612C6100" in result.stdout


def test_chain_words_that_do_not_go_together_are_refused(service: Simulator) -> None:
    refused = {
        ("AAPL", "--around", "5"): "a list of expirations does not go together with --around",
        ("AAPL", "--strikes", "5"): "a list of expirations does not go together with --strikes",
        ("AAPL", "--days", "5", "--around", "5%"): "--around must be a plain number such as 187.50, got '5%'",
        ("/ES", "--days", "5", "--on", "2026-06-12"): "exactly one of near, on and days",
        ("/ES", "--days", "5", "--root", "XX"): "must list an expiration to choose",
    }
    assert misses(refused, lambda words: invoke("chain", *words, code=1, width=1_000).stderr) == {}


def test_positions_accounts_and_balances_show_figures_that_matter(
    connect_to: ConnectTo, monkeypatch: pytest.MonkeyPatch
) -> None:
    seller = Simulator(**SMALL)

    async def sell(client: Client) -> None:
        await client.orders.submit(seller.account_numbers[0], tickets.market(tickets.sell_to_open("AAPL", 5)))
        seller.clock.advance(5)

    connect_to(seller.client, sell)
    monkeypatch.setenv("BROKERAGE_ACCOUNT", seller.account_numbers[0])
    (line,) = (line for line in invoke("positions", width=110).stdout.splitlines() if "AAPL" in line)
    assert cells(line)[:3] == ["AAPL", "Equity", "-5"]
    assert cells(line)[5].startswith("-")
    (row,) = parsed("positions")
    assert (row["symbol"], row["quantity-direction"]) == ("AAPL", "Short")
    assert row["mark-price"]
    account = seller.account_numbers[2]
    assert invoke("positions", "--account", account).stdout == f"{account} has no positions.\n"
    assert "No room for: " in invoke("positions", width=50).stdout
    output = invoke("accounts").stdout
    assert lacks(output, *seller.account_numbers, "owner") == []
    assert [row["account"]["account-number"] for row in parsed("accounts")] == list(seller.account_numbers)
    output = invoke("balances").stdout
    assert lacks(output, "net liquidating value", "short equity value", "maintenance excess", "USD") == []
    assert "long derivative value" not in output
    (row,) = parsed("balances")
    assert row["account-number"] == seller.account_numbers[0]


def test_position_row_value_and_gain_follow_the_direction_and_nothing_is_empty() -> None:
    position = Position(
        symbol="X", quantity=Decimal(2), mark_price=Decimal("1.5"), average_open_price=Decimal(1),
        multiplier=Decimal(100),
    )  # fmt: skip
    long, short = ("2", "300.00", "100.00"), ("-2", "-300.00", "-100.00")
    for direction, expected in ((QuantityDirection.LONG, long), (QuantityDirection.SHORT, short), (None, long)):
        row = position_row(attrs.evolve(position, quantity_direction=direction))
        assert (row["quantity"], row["value"], row["gain"]) == expected
    assert set(position_row(Position()).values()) == {""}
    assert position_row(Position(realized_today=Decimal(3)))["today"] == "3.00"
    loss = Position(realized_today=Decimal(3), realized_today_effect=PriceEffect.DEBIT)
    assert position_row(loss)["today"] == "-3.00"


def test_figures_show_zero_only_where_it_matters_and_effects_beside_amounts() -> None:
    balance = AccountBalance(
        cash_balance=Decimal(0), pending_cash=Decimal("1.5"), pending_cash_effect=PriceEffect.DEBIT,
        long_equity_value=Decimal(0),
    )  # fmt: skip
    assert dict(figures(balance)) == {"cash balance": "0.00", "pending cash": "1.50 Debit", "updated at": ""}
