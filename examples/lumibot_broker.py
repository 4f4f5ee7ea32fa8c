"""Trade with Lumibot: a broker for its strategies, which calls from threads of its own, without asyncio.

    pip install brokerage-async lumibot
    BROKERAGE_ACCOUNT=5WT00000 python examples/lumibot_broker.py

Every order goes through a journal. The strategy at the end buys shares and sells them once they are there.
"""

import os
import threading
from decimal import Decimal
from typing import Any

from lumibot.brokers import Broker
from lumibot.data_sources import DataSource
from lumibot.entities import Asset, Bars, Order, Position
from lumibot.strategies import Strategy
from lumibot.traders import Trader

from brokerage_async import Client, errors, models
from brokerage_async.blocking import Blocking
from brokerage_async.journal import SqliteJournal
from brokerage_async.tickets import buy_to_open, market, sell_to_close

ENDED = {"Filled": "fill", "Cancelled": "canceled", "Expired": "canceled", "Rejected": "error"}


class Prices(DataSource):
    def __init__(self, blocking: Blocking[Client]) -> None:
        super().__init__()
        self.b = blocking

    def get_last_price(self, asset: Asset, *_: Any, **__: Any) -> float | None:
        last = self.b.run(self.b.client.market_data.get("Equity", asset.symbol)).last
        return None if last is None else float(last)

    def get_historical_prices(self, asset: Asset, *_: Any, **__: Any) -> Bars:
        raise NotImplementedError("see client.stream.history_table")

    def get_chains(self, asset: Asset, *_: Any) -> dict[str, Any]:
        raise NotImplementedError("see brokerage_async.chains")


class BrokerageAsync(Broker):
    """Broker of one account, for shares at the market. Lumibot knows an order by the identifier of the service."""

    def __init__(self, blocking: Blocking[Client], account: str, journal: SqliteJournal) -> None:
        self.b, self.account, self.told = blocking, account, set[str]()
        self.entry = blocking.client.order_entry(journal)
        super().__init__(name="brokerage_async", data_source=Prices(blocking))

    def _submit_order(self, order: Order) -> Order:
        try:
            if order.asset.asset_type != "stock" or order.order_type != "market" or order.side not in ("buy", "sell"):
                raise ValueError(f"order must buy or sell shares at the market, got {order}")
            action = buy_to_open if order.side == "buy" else sell_to_close
            ticket = market(action(order.asset.symbol, Decimal(str(order.quantity))))
            placed = self.b.run(self.entry.place(self.account, ticket, allow_warnings=True)).require()
        except (errors.BrokerageError, ValueError) as error:  # if the outcome is unknown, the journal keeps the order
            order.set_error(error)
        else:
            order.set_identifier(placed.order_id)
            order.status = "submitted"
        return order

    def cancel_order(self, order: Order) -> None:
        self.b.run(self.entry.cancel(self.account, order.identifier))

    def _modify_order(self, order: Order, *_: Any, **__: Any) -> None:
        raise NotImplementedError("orders at the market have no price")

    def _get_balances_at_broker(self, quote_asset: Asset, strategy: Strategy) -> tuple[float, float, float]:
        balance = self.b.run(self.b.client.balances.get(self.account, "USD"))
        cash, value = balance.cash_balance or Decimal(0), balance.net_liquidating_value or Decimal(0)
        return float(cash), float(value - cash), float(value)

    def get_historical_account_value(self) -> dict[str, Any]:
        return {"hourly": None, "daily": None}

    def _pull_positions(self, strategy: Strategy) -> list[Position]:
        found = self.b.run(self.b.client.positions.list(self.account))
        shares = [each for each in found if each.instrument_type == "Equity" and each.quantity]
        return [Position(strategy.name, Asset(each.symbol), each.quantity) for each in shares]

    def _pull_position(self, strategy: Strategy, asset: Asset) -> Position | None:
        return next((each for each in self._pull_positions(strategy) if each.asset == asset), None)

    def _pull_broker_all_orders(self) -> list[Any]:
        orders = self.b.run(self.b.client.orders.live("me", [self.account]))
        return [each for each in orders if str(each.status) not in ENDED and each.legs]

    def _pull_broker_order(self, identifier: str) -> models.Order:
        return self.b.run(self.b.client.orders.get(self.account, identifier))

    def _parse_broker_order(self, response: Any, strategy_name: str, strategy_object: Strategy | None = None) -> Order:
        leg = response.legs[0]
        side = "buy" if str(leg.action).startswith("Buy") else "sell"
        order = Order(strategy_name, Asset(leg.symbol), leg.quantity, side=side, identifier=response.id)
        order.status = ENDED.get(str(response.status), "submitted")
        return order

    def _get_stream_object(self) -> object:
        return object()  # without one, Lumibot does not start the thread of `_run_stream`

    def _register_stream_events(self) -> None:
        """There is nothing to register."""

    def _run_stream(self) -> None:
        """Report each order of today that has ended, as soon as Lumibot tracks it."""
        self._stream_established()
        while not self._stop_event.wait(1.0):
            try:
                orders = self.b.run(self.b.client.orders.live("me", [self.account]))
            except errors.BrokerageError as error:
                self.logger.warning("looking again in a second: %s", error)
                continue
            for order in orders:
                tracked = self.get_tracked_order(order.id)
                if tracked is not None and str(order.status) in ENDED and tracked.identifier not in self.told:
                    self.told.add(tracked.identifier)
                    quantity, price = filled(order)
                    self._process_trade_event(tracked, ENDED[str(order.status)], price=price, filled_quantity=quantity)


def filled(order: models.Order) -> tuple[float, float]:
    """Return the quantity that was filled, and its mean price."""
    fills = [(fill.quantity or 0, fill.fill_price or 0) for leg in order.legs or () for fill in leg.fills or ()]
    quantity = sum(each for each, _ in fills)
    return float(quantity), float(sum(each * price for each, price in fills) / (quantity or 1))


class RoundTrip(Strategy):
    def initialize(self) -> None:
        self.set_market("24/7")
        self.sleeptime, self.is_bought = "1S", False

    def on_trading_iteration(self) -> None:
        if not self.is_bought:
            self.is_bought = True
            self.submit_order(self.create_order("AAPL", 10, "buy"))

    def on_filled_order(self, position: Position, order: Order, price: float, quantity: float, multiplier: int) -> None:
        print(order.side, quantity, order.asset.symbol, "at", price, flush=True)
        if order.side == "buy":
            self.submit_order(self.create_order("AAPL", quantity, "sell"))
        else:
            self.parameters["done"].set()


def main() -> int:
    done = threading.Event()
    with Blocking(Client.from_env) as b:
        journal = b.run(SqliteJournal("lumibot.journal").__aenter__())
        broker, trader = BrokerageAsync(b, os.environ["BROKERAGE_ACCOUNT"], journal), Trader()
        trader.add_strategy(RoundTrip(broker=broker, name="round trip", parameters={"done": done}))
        trader.run_all(async_=True)
        is_done = done.wait(120)
        trader.stop_all()
        b.run(journal.aclose())
    return 0 if is_done else 1


if __name__ == "__main__":
    raise SystemExit(main())
