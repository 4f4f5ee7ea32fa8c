"""docs/simulator.md: its simplifications, the tests that its index names, and the life of an order."""

import re
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

from brokerage_async._generated.models import InstrumentCollection
from brokerage_async.protocol.order_status import TERMINAL, TRANSITIONS
from brokerage_async.simulator.market.calendar import CALENDARS
from brokerage_async.simulator.market.quotes import Quote
from brokerage_async.simulator.streams.dxlink_session import MarketRows

from ..documents import ROOT
from .harness import Harness, leg, limit, market

PAGE = (ROOT / "docs" / "simulator.md").read_text("utf-8")
DAY = 86_400.0
PUT = "AAPL  260717P00260000"
"""A put, deep in the money, that expires in five weeks."""


def steady(**options: Any) -> Harness:
    """Return a brokerage whose rare events are off."""
    rare = ["administrators_remove_orders", "live_orders_can_be_rejected", "orders_can_be_dead"]
    return Harness(environment="production", cash=10**8, without=rare, **options).login()


def transactions(here: Harness) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = here.login().rows(f"/accounts/{here.account}/transactions?per-page=250")
    return found


def quote(here: Harness) -> Quote:
    return here.state.prices.underlying_quote("AAPL", here.now)


def orders_outlast_days(here: Harness) -> bool:
    order = here.trade(limit("1.00", time_in_force="GTC"), seconds=5 * DAY)
    return here.login().status(order) == "Live"


def no_early_exercise(here: Harness) -> bool:
    here.trade(market(leg(PUT, "1", "Sell to Open", "Equity Option")), seconds=20 * DAY)
    return not [each for each in transactions(here) if each["transaction-type"] == "Receive Deliver"]


def no_dividends(here: Harness) -> bool:
    here.trade(market(leg("KO", "100")), seconds=100 * DAY)
    kinds = {(each["transaction-type"], "Dividend" in each["transaction-sub-type"]) for each in transactions(here)}
    return kinds == {("Money Movement", False), ("Trade", False)}


def monthly_expirations_only(here: Harness) -> bool:
    [chain] = [row for row in here.rows("/option-chains/SPX/nested") if row["option-chain-type"] == "Standard"]
    days = [date.fromisoformat(each["expiration-date"]) for each in chain["expirations"]]
    settled = {each["settlement-type"] for each in chain["expirations"]}
    return all(15 <= day.day <= 21 for day in days) and len(set(days)) == len(days) and settled == {"PM"}


def any_strike_is_traded(here: Harness) -> bool:
    symbol = "AAPL  260714P00201370"
    is_listed = here.ask("GET", f"/instruments/equity-options/{symbol.replace(' ', '%20')}").status == 200
    return not is_listed and here.codes(limit("1.00", leg(symbol, "1", "Buy to Open", "Equity Option"))) == []


def options_are_one_tick_wide(here: Harness) -> bool:
    far = here.instrument("KO    270115C00090000")
    shown = here.state.prices.market(far, here.now)
    return bool(shown.ask - shown.bid == far.tick_at(shown.bid))


def quarterly_contracts_only(here: Harness) -> bool:
    symbols = [row["symbol"] for row in here.rows("/instruments/futures?product-code[]=CL")]
    return bool(symbols) and {symbol[-2] for symbol in symbols} == set("HMUZ")


def figures_are_invented(here: Harness) -> bool:
    rows = MarketRows(here.state.catalogue, here.state.prices)
    asked = {"Profile": "AAPL", "Summary": "AAPL", "Underlying": "KO", "Candle": "AAPL{=d}"}
    profile, summary, underlying, candle = (rows.row(*one, here.now) or {} for one in asked.items())
    mean = sum(candle[name] for name in ("open", "high", "low", "close")) / 4
    shown = profile["beta"], summary["openInterest"], underlying["putCallRatio"], candle["VWAP"]
    return shown == (1.0, 0, 0.8, mean)


def futures_settle_in_cash(here: Harness) -> bool:
    here.trade(market(leg("/CLQ6", "1", "Buy")), seconds=75 * DAY)
    left = here.login().rows(f"/accounts/{here.account}/positions")
    kinds = [each["transaction-sub-type"] for each in transactions(here) if each.get("symbol") == "/CLQ6"]
    return not left and "Futures Settlement" in kinds


def one_limit_of_quantities(here: Harness) -> bool:
    allowed, beyond = limit("1.00", leg("AAPL", "50000")), limit("1.00", leg("AAPL", "50001"))
    return here.codes(allowed) == [] and here.codes(beyond) == ["size_limit_exceeded"]


def orders_move_no_price(here: Harness) -> bool:
    here.wait(1)
    before = quote(here).bid
    here.trade(market(leg("AAPL", "40000")), seconds=20)
    return bool(quote(here).bid == before)


def no_queue(here: Harness) -> bool:
    order = here.trade(limit(str(quote(here).ask), leg("AAPL", "1")), seconds=5)
    return here.status(order) == "Filled"


def no_price_improvement(here: Harness) -> bool:
    ask = quote(here).ask
    order = here.trade(limit(str(ask + 5), leg("AAPL", "1")), seconds=5)
    return here.fills(order) == [(1, ask)]


def no_interest(here: Harness) -> bool:
    here.trade(market(leg("AAPL", "1000", "Sell to Open")), seconds=35 * DAY)
    return not [each for each in transactions(here) if re.search("Interest|Fee|Borrow", each["transaction-sub-type"])]


def margin_is_the_same_for_all(_: Harness) -> bool:
    here = steady(customers=2)
    accounts = [account.number for account in here.state.own_accounts if account.kind == "Margin"]
    effects = [here.preview(market(), account)["buying-power-effect"] for account in accounts[:2]]
    return len(accounts) == 3 and len({each["change-in-buying-power"] for each in effects}) == 1


def no_auctions(here: Harness) -> bool:
    here.wait_until("2026-06-11T13:29:50+00:00")
    order = here.login().trade(limit("900", leg("AAPL", "10")), seconds=15)
    return here.status(order) == "Filled"


def no_declared_holidays(_: Harness) -> bool:
    mourning = date(2025, 1, 9)  # the markets were closed
    return CALENDARS[InstrumentCollection.EQUITY].session(mourning) is not None


def spreads_have_no_ticks(here: Harness) -> bool:
    lower = leg("AAPL  260717P00255000", "1", "Sell to Open")
    order = here.trade(limit("0.003", leg(PUT, "1", "Buy to Open", "Equity Option"), lower), seconds=5)
    return here.status(order) == "Live"


def cash_moves_at_once(here: Harness) -> bool:
    here.sim.move_cash(here.account, 1000)
    balance = here.get(f"/accounts/{here.account}/balances")["data"]
    return Decimal(str(balance["cash-available-to-withdraw"])) == Decimal(10**8 + 1000)


def test_simplifications_are_those_of_the_page() -> None:
    section = PAGE.partition("## What it simplifies")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (?!it \|)(?!---)(.+?) \| (.*?) \|$", section, re.MULTILINE)
    assert len(rows) >= 19
    wrong = []
    for _, name in rows:
        check: Callable[[Harness], bool] = globals()[name.strip("`")]
        try:
            if not check(steady()):
                wrong.append(name)
        except (AssertionError, LookupError) as error:
            wrong.append(f"{name}: {error!r}")
    assert wrong == []


def test_every_row_names_a_test_that_exists() -> None:
    here, named = Path(__file__).parent, sorted(set(re.findall(r"`([\w/]+\.py)::(\w+)`", PAGE)))
    sources = {file: (here / file).read_text("utf-8") for file, _ in named}
    assert [(file, name) for file, name in named if f"def {name}(" not in sources[file]] == []
    index = PAGE[PAGE.index("## Fidelity") :]
    rows = [line for line in index.splitlines() if re.match(r"\| (?!---|the doc|deviation)", line)]
    assert len(rows) > 45
    assert all(re.search(r"`[\w/]+\.py::test_\w+` \|$", row) for row in rows)


def test_life_cycle_is_that_of_the_code() -> None:
    assert "(reference/order-statuses.md)" in PAGE[PAGE.index("## Life cycle") : PAGE.index("## Fidelity")]
    table = (ROOT / "docs" / "reference" / "order-statuses.md").read_text("utf-8")
    shown = re.findall(r"^\| ([A-Z][\w ]+) \| \w+ \| \w+ \| ([A-Z][\w ]+)? \|", table, re.MULTILINE)
    known = {(before, after) for before, following in TRANSITIONS.items() for after in following}
    assert {(before, after) for before, after in shown if after} == known
    assert {before for before, after in shown if not after} == TERMINAL
