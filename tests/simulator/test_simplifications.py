"""docs/simulator.md: its simplifications, the tests that its index names, and the life of an order."""

import re
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


class Steady(Harness):
    """A brokerage whose rare events are off. The simplifications that the page names are its public methods."""

    def __init__(self, **options: Any) -> None:
        rare = ["administrators_remove_orders", "live_orders_can_be_rejected", "orders_can_be_dead"]
        super().__init__(environment="production", cash=10**8, without=rare, **options)
        self.login().quiet()

    def _booked(self) -> list[dict[str, Any]]:
        return self.login().rows(f"/accounts/{self.account}/transactions?per-page=250")

    def _quote(self) -> Quote:
        return self.state.prices.underlying_quote("AAPL", self.now)

    def orders_outlast_days(self) -> bool:
        order = self.trade(limit("1.00", time_in_force="GTC"), seconds=5 * DAY)
        return self.login().status(order) == "Live"

    def no_early_exercise(self) -> bool:
        self.trade(market(leg(PUT, "1", "Sell to Open", "Equity Option")), seconds=20 * DAY)
        return not [each for each in self._booked() if each["transaction-type"] == "Receive Deliver"]

    def no_dividends(self) -> bool:
        self.trade(market(leg("KO", "100")), seconds=100 * DAY)
        kinds = {(each["transaction-type"], "Dividend" in each["transaction-sub-type"]) for each in self._booked()}
        return kinds == {("Money Movement", False), ("Trade", False)}

    def monthly_expirations_only(self) -> bool:
        [chain] = [row for row in self.rows("/option-chains/SPX/nested") if row["option-chain-type"] == "Standard"]
        days = [date.fromisoformat(each["expiration-date"]) for each in chain["expirations"]]
        settled = {each["settlement-type"] for each in chain["expirations"]}
        return all(15 <= day.day <= 21 for day in days) and len(set(days)) == len(days) and settled == {"PM"}

    def any_strike_is_traded(self) -> bool:
        symbol = "AAPL  260714P00201370"
        is_listed = self.ask("GET", f"/instruments/equity-options/{symbol.replace(' ', '%20')}").status == 200
        return not is_listed and self.codes(limit("1.00", leg(symbol, "1", "Buy to Open", "Equity Option"))) == []

    def options_are_one_tick_wide(self) -> bool:
        far = self.instrument("KO    270115C00090000")
        shown = self.state.prices.market(far, self.now)
        return bool(shown.ask - shown.bid == far.tick_at(shown.bid))

    def quarterly_contracts_only(self) -> bool:
        symbols = [row["symbol"] for row in self.rows("/instruments/futures?product-code[]=CL")]
        return bool(symbols) and {symbol[-2] for symbol in symbols} == set("HMUZ")

    def figures_are_invented(self) -> bool:
        rows = MarketRows(self.state.catalogue, self.state.prices)
        asked = {"Profile": "AAPL", "Summary": "AAPL", "Underlying": "KO", "Candle": "AAPL{=d}"}
        profile, summary, underlying, candle = (rows.row(*one, self.now) or {} for one in asked.items())
        mean = sum(candle[name] for name in ("open", "high", "low", "close")) / 4
        shown = profile["beta"], summary["openInterest"], underlying["putCallRatio"], candle["VWAP"]
        return shown == (1.0, 0, 0.8, mean)

    def futures_settle_in_cash(self) -> bool:
        self.trade(market(leg("/CLQ6", "1", "Buy")), seconds=75 * DAY)
        left = self.login().rows(f"/accounts/{self.account}/positions")
        kinds = [each["transaction-sub-type"] for each in self._booked() if each.get("symbol") == "/CLQ6"]
        return not left and "Futures Settlement" in kinds

    def one_limit_of_quantities(self) -> bool:
        allowed, beyond = limit("1.00", leg("AAPL", "50000")), limit("1.00", leg("AAPL", "50001"))
        return self.codes(allowed) == [] and self.codes(beyond) == ["size_limit_exceeded"]

    def orders_move_no_price(self) -> bool:
        self.wait(1)
        before = self._quote().bid
        self.trade(market(leg("AAPL", "40000")), seconds=20)
        return bool(self._quote().bid == before)

    def no_queue(self) -> bool:
        order = self.trade(limit(str(self._quote().ask), leg("AAPL", "1")), seconds=5)
        return self.status(order) == "Filled"

    def no_price_improvement(self) -> bool:
        ask = self._quote().ask
        order = self.trade(limit(str(ask + 5), leg("AAPL", "1")), seconds=5)
        return self.fills(order) == [(1, ask)]

    def no_interest(self) -> bool:
        self.trade(market(leg("AAPL", "1000", "Sell to Open")), seconds=35 * DAY)
        return not [each for each in self._booked() if re.search("Interest|Fee|Borrow", each["transaction-sub-type"])]

    def margin_is_the_same_for_all(self) -> bool:
        here = Steady(customers=2)
        accounts = [account.number for account in here.state.own_accounts if account.kind == "Margin"]
        effects = [here.preview(market(), account)["buying-power-effect"] for account in accounts[:2]]
        return len(accounts) == 3 and len({each["change-in-buying-power"] for each in effects}) == 1

    def no_auctions(self) -> bool:
        self.wait_until("2026-06-11T13:29:50+00:00")
        order = self.login().trade(limit("900", leg("AAPL", "10")), seconds=15)
        return self.status(order) == "Filled"

    def no_declared_holidays(self) -> bool:
        mourning = date(2025, 1, 9)  # the markets were closed
        return CALENDARS[InstrumentCollection.EQUITY].session(mourning) is not None

    def spreads_have_no_ticks(self) -> bool:
        lower = leg("AAPL  260717P00255000", "1", "Sell to Open")
        order = self.trade(limit("0.003", leg(PUT, "1", "Buy to Open", "Equity Option"), lower), seconds=5)
        return self.status(order) == "Live"

    def cash_moves_at_once(self) -> bool:
        self.sim.move_cash(self.account, 1000)
        balance = self.get(f"/accounts/{self.account}/balances")["data"]
        return Decimal(str(balance["cash-available-to-withdraw"])) == Decimal(10**8 + 1000)


def test_simplifications_are_those_of_the_page() -> None:
    section = PAGE.partition("## What it simplifies")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (?!it \|)(?!---)(.+?) \| (.*?) \|$", section, re.MULTILINE)
    assert len(rows) >= 19
    wrong = []
    for _, name in rows:
        try:
            if not getattr(Steady(), name.strip("`"))():
                wrong.append(name)
        except (AssertionError, AttributeError, LookupError) as error:
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
