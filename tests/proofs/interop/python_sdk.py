"""Calls of the SDK ``tastytrade`` from PyPI, which is pointed at the simulator through its module constants."""

import contextlib
import importlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from datetime import date
from decimal import Decimal
from importlib.metadata import version
from types import ModuleType
from typing import Any

from brokerage_async.simulator import Simulator

from .results import CallResult, ClientRun, first_future_option, judge

PACKAGE = "tastytrade"

Call = tuple[str, Callable[[], Awaitable[object]]]
"""Name of a call and how to make it. It must return something, unless it is in `SILENT`."""

SILENT = {"Account.delete_complex_order", "Account.delete_order", "PrivateWatchlist.remove", "PrivateWatchlist.update",
          "PrivateWatchlist.upload", "Session.refresh"}  # fmt: skip


async def run(environment: str) -> ClientRun:
    results: list[CallResult] = []
    async with Simulator(environment=environment) as simulator, session_of(simulator) as session:  # type: ignore[arg-type]
        for name, call in Calls(simulator, session).all():
            before, error = len(simulator.ledger.requests), None
            try:
                answer = await call()
                if not answer and name not in SILENT:
                    error = "the answer is empty"
            except Exception as raised:
                error = f"{type(raised).__name__}: {' '.join(str(raised).split())[:200]}"
            results.append(judge(name, environment, simulator.ledger.requests[before:], error))
    return ClientRun(
        client=f"PyPI `{PACKAGE}`", version=version(PACKAGE), environment=environment, results=tuple(results)
    )


@contextlib.asynccontextmanager
async def session_of(simulator: Simulator) -> AsyncIterator[Any]:
    """Open a session of the SDK, unchanged but for the addresses that it takes from its constants."""
    sdk = module("session")
    sdk.API_URL = sdk.CERT_URL = simulator.base_url
    is_test = not simulator.environment.is_production
    async with sdk.Session(simulator.client_secret, simulator.refresh_token, is_test=is_test) as session:
        yield session


def module(name: str) -> ModuleType:
    return importlib.import_module(f"{PACKAGE}.{name}")


class Calls:
    """The calls, ordered so that each finds the data that it needs."""

    def __init__(self, simulator: Simulator, session: Any) -> None:
        self.simulator = simulator
        self.session = session
        self.orders: dict[str, int] = {}
        account = module("account").Account
        # The constructor wants the answer of an address that the schema may not have.
        self.new, self.rich = (account.model_construct(account_number=n) for n in simulator.account_numbers[:2])

    def all(self) -> Iterator[Call]:
        session = self.session
        yield "Session.refresh", lambda: session.refresh(force=True)
        yield "Session.validate", session.validate
        yield "Session.get_customer", session.get_customer
        yield from self.market()
        yield from self.instruments()
        yield from self.trading()
        yield from self.complex_trading()
        yield from self.account()
        yield from self.watchlists()

    def market(self) -> Iterator[Call]:
        session = self.session
        sessions, metrics, data = map(module, ("market_sessions", "metrics", "market_data"))
        exchanges = list(sessions.ExchangeType)
        types = module("order").InstrumentType
        yield "get_market_sessions", lambda: sessions.get_market_sessions(session, exchanges)
        yield "get_market_holidays", lambda: sessions.get_market_holidays(session)
        yield "get_futures_holidays", lambda: sessions.get_futures_holidays(session, exchanges[0])
        yield "get_market_metrics", lambda: metrics.get_market_metrics(session, ["AAPL", "MSFT"])
        yield "get_dividends", lambda: metrics.get_dividends(session, "AAPL")
        yield "get_dividends (BRK/B)", lambda: metrics.get_dividends(session, "BRK/B")
        yield "get_earnings", lambda: metrics.get_earnings(session, "AAPL", date(2024, 1, 1))
        yield "get_risk_free_rate", lambda: metrics.get_risk_free_rate(session)
        yield "get_market_data", lambda: data.get_market_data(session, "AAPL", types.EQUITY)
        yield "get_market_data_by_type", lambda: data.get_market_data_by_type(session, equities=["AAPL"])
        # It asks for no answer: whatever is not 2xx counts as nothing found.
        yield "symbol_search", lambda: module("search").symbol_search(session, "AAPL")

    def instruments(self) -> Iterator[Call]:
        session, found = self.session, module("instruments")
        catalogue = self.simulator.brokerage.state.catalogue
        option, warrant = (table.definitions[0].symbol for table in (catalogue.equity_options, catalogue.warrants))
        future_option = first_future_option(self.simulator)
        yield "Equity.get (list)", lambda: found.Equity.get(session, ["AAPL", "BRK/B"])
        yield "Equity.get (pages)", lambda: found.Equity.get(session, [], page_offset=None, per_page=1000, is_etf=True)
        yield "Equity.get (one)", lambda: found.Equity.get(session, "AAPL")
        yield "Equity.get_active_equities", lambda: found.Equity.get_active_equities(session)
        yield "Option.get", lambda: found.Option.get(session, option)
        yield "get_option_chain", lambda: found.get_option_chain(session, "AAPL")
        yield "NestedOptionChain.get", lambda: found.NestedOptionChain.get(session, "AAPL")
        yield "get_future_option_chain", lambda: found.get_future_option_chain(session, "/ES")
        yield "NestedFutureOptionChain.get", lambda: found.NestedFutureOptionChain.get(session, "/ES")
        yield "Warrant.get (one)", lambda: found.Warrant.get(session, warrant)
        yield "Warrant.get (list)", lambda: found.Warrant.get(session)
        yield "Cryptocurrency.get (one)", lambda: found.Cryptocurrency.get(session, "BTC/USD")
        yield "Cryptocurrency.get (list)", lambda: found.Cryptocurrency.get(session)
        yield "Future.get (one)", lambda: found.Future.get(session, "/ESU6")
        yield "Future.get (list)", lambda: found.Future.get(session, product_codes=["ES"])
        yield "FutureProduct.get (one)", lambda: found.FutureProduct.get(session, "ES")
        yield "FutureProduct.get (list)", lambda: found.FutureProduct.get(session)
        yield "FutureOption.get", lambda: found.FutureOption.get(session, future_option)
        yield "FutureOptionProduct.get (one)", lambda: found.FutureOptionProduct.get(session, "ES")
        yield "FutureOptionProduct.get (list)", lambda: found.FutureOptionProduct.get(session)
        yield "Forex.get", lambda: found.Forex.get(session)
        yield "get_quantity_decimal_precisions", lambda: found.get_quantity_decimal_precisions(session)

    def trading(self) -> Iterator[Call]:
        session, account, words = self.session, self.new, module("order")
        buy = [self.leg("AAPL", "BUY_TO_OPEN", 10)]
        far = words.LimitOrder(legs=buy, price=Decimal(-100), external_identifier="far")
        near = words.LimitOrder(legs=buy, price=Decimal(-300))
        stop = words.StopOrder(legs=[self.leg("AAPL", "BUY_TO_OPEN", 5)], stop_trigger=Decimal(500))
        both = words.StopLimitOrder(legs=buy, stop_trigger=Decimal(500), price=Decimal(-501))
        worth = words.NotionalOrder(legs=[self.leg("MSFT", "BUY_TO_OPEN", None)], value=Decimal(-100))
        market = words.MarketOrder(legs=buy)
        yield "Account.place_order (dry run)", lambda: account.place_order(session, far)
        yield "Account.get_order_buying_power_effect", lambda: account.get_order_buying_power_effect(session, far)
        yield "Account.place_order (limit, filled)", lambda: self.place(near, "filled")
        yield "Account.place_order (limit, resting)", lambda: self.place(far, "resting")
        yield "Account.place_order (market)", lambda: self.place(market, "market")
        yield "Account.place_order (stop)", lambda: self.place(stop, "stop")
        yield "Account.place_order (stop limit)", lambda: self.place(both, "stop limit")
        yield "Account.place_order (notional)", lambda: self.place(worth, "notional")
        yield "Account.get_live_orders", lambda: account.get_live_orders(session)
        yield "Account.get_order", lambda: account.get_order(session, self.orders["filled"])
        changed = words.LimitOrder(legs=buy, price=Decimal(-101))
        yield "Account.replace_order", lambda: account.replace_order(session, self.orders["resting"], changed)
        yield "Account.delete_order", lambda: account.delete_order(session, self.orders["stop limit"])
        yield "Account.get_live_orders (after a cancel)", lambda: account.get_live_orders(session)
        yield "Account.get_order_history", lambda: account.get_order_history(session)
        pages = {"per_page": 2, "page_offset": None, "sort": "Asc"}
        yield "Account.get_order_history (pages)", lambda: account.get_order_history(session, **pages)
        filters = {"statuses": [words.OrderStatus.FILLED], "start_date": date(2026, 6, 1), "underlying_symbol": "AAPL"}
        filters["underlying_instrument_type"] = words.InstrumentType.EQUITY
        yield "Account.get_order_history (filters)", lambda: account.get_order_history(session, **filters)

    def complex_trading(self) -> Iterator[Call]:
        session, account, words = self.session, self.rich, module("order")
        ids = self.simulator.complex_order_ids
        sell = [self.leg("AAPL", "SELL_TO_CLOSE", 10)]
        oco = words.OCOOrder(
            take_profit=words.LimitOrder(legs=sell, price=Decimal(400), time_in_force=words.OrderTimeInForce.GTC),
            stop_loss=words.StopOrder(legs=sell, stop_trigger=Decimal(50), time_in_force=words.OrderTimeInForce.GTC),
        )
        get = account.get_complex_order
        for kind in ("OTOCO", "OCO"):
            yield f"Account.get_complex_order ({kind})", lambda kind=kind: get(session, ids[kind])
        component = words.LimitOrder(legs=sell, price=Decimal(401), time_in_force=words.OrderTimeInForce.GTC)
        yield "Account.replace_order (component)", lambda: self.replace_component(ids["OCO"], component)
        yield "Account.get_complex_order (with related orders)", lambda: get(session, ids["OCO"])
        yield "Account.get_live_complex_orders", lambda: account.get_live_complex_orders(session)
        yield "Account.get_complex_order_history", lambda: account.get_complex_order_history(session)
        yield "Account.place_complex_order (dry run)", lambda: account.place_complex_order(session, oco)
        yield "Account.place_complex_order", lambda: account.place_complex_order(session, oco, dry_run=False)
        yield "Account.delete_complex_order", lambda: account.delete_complex_order(session, ids["OTOCO"])

    def account(self) -> Iterator[Call]:
        session, account = self.session, self.new
        kind = module("account").Account
        yield "Account.get (list)", lambda: kind.get(session)
        yield "Account.get (one)", lambda: kind.get(session, account.account_number)
        yield "Account.get_trading_status", lambda: account.get_trading_status(session)
        yield "Account.get_balances", lambda: account.get_balances(session)
        yield "Account.get_balance_snapshots", lambda: account.get_balance_snapshots(session)
        yield "Account.get_positions", lambda: self.rich.get_positions(session)
        yield "Account.get_history", lambda: account.get_history(session)
        yield "Account.get_history (pages)", lambda: self.rich.get_history(session, per_page=5, page_offset=None)
        filters = {"types": ["Trade"], "start_date": date(2026, 6, 1), "symbol": "AAPL"}
        yield "Account.get_history (filters)", lambda: account.get_history(session, **filters)
        yield "Account.get_transaction", lambda: account.get_transaction(session, 700_000_001)
        yield "Account.get_total_fees", lambda: account.get_total_fees(session, date(2026, 6, 10))
        yield "Account.get_margin_requirements", lambda: account.get_margin_requirements(session)
        yield "Account.get_margin_requirements (positions)", lambda: self.rich.get_margin_requirements(session)
        net_liq = account.get_net_liquidating_value_history
        yield "Account.get_net_liquidating_value_history", lambda: net_liq(session, time_back="1m")

    def watchlists(self) -> Iterator[Call]:
        session, kinds = self.session, module("watchlists")
        own = kinds.PrivateWatchlist(name="Mine", group_name="interop")
        own.add_symbol("AAPL", module("order").InstrumentType.EQUITY)
        yield "PrivateWatchlist.upload", lambda: own.upload(session)
        yield "PrivateWatchlist.get (list)", lambda: kinds.PrivateWatchlist.get(session)
        yield "PrivateWatchlist.get (one)", lambda: kinds.PrivateWatchlist.get(session, "Mine")
        yield "PrivateWatchlist.update", lambda: own.update(session)
        yield "PrivateWatchlist.remove", lambda: kinds.PrivateWatchlist.remove(session, "Mine")
        yield "PublicWatchlist.get (list)", lambda: kinds.PublicWatchlist.get(session)
        yield "PublicWatchlist.get (one)", lambda: self.first(kinds.PublicWatchlist)
        yield "PairsWatchlist.get (list)", lambda: kinds.PairsWatchlist.get(session)
        yield "PairsWatchlist.get (one)", lambda: self.first(kinds.PairsWatchlist)

    # What the calls need

    def leg(self, symbol: str, action: str, quantity: int | None) -> Any:
        words = module("order")
        return words.Leg(
            instrument_type=words.InstrumentType.EQUITY,
            symbol=symbol,
            action=words.OrderAction[action],
            quantity=None if quantity is None else Decimal(quantity),
        )

    async def first(self, kind: Any) -> Any:
        lists = await kind.get(self.session)
        return await kind.get(self.session, lists[0].name)

    async def place(self, order: Any, name: str) -> Any:
        placed = await self.new.place_order(self.session, order, dry_run=False)
        self.orders[name] = placed.order.id
        self.simulator.clock.advance(30)
        return placed

    async def replace_component(self, identifier: str, order: Any) -> Any:
        first = (await self.rich.get_complex_order(self.session, identifier)).orders[0]
        if first.price is not None and first.price < 0:  # a purchase
            order = order.model_copy(update={"price": -order.price})
        replaced = await self.rich.replace_order(self.session, first.id, order)
        self.simulator.clock.advance(30)
        return replaced
