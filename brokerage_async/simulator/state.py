"""Everything that one environment holds, put together: customers, accounts, instruments, orders, alerts."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

import attrs

from .._generated.models import (
    Comparator,
    ComplexOrderType,
    InstrumentType,
    LegAction,
    NewOrder,
    NewOrderLeg,
    OptionType,
    OrderType,
    PriceEffect,
    TimeInForce,
)
from .accounts.accounts import Account, Accounts
from .accounts.margin import MarginDesk
from .api.access import Access
from .api.call import Customer
from .api.complex_orders import ComplexOrders
from .api.instruments import Instruments
from .api.margin import Margin
from .api.market_metrics import MarketMetrics
from .api.market_time import MarketTime
from .api.oauth import OAuth
from .api.orders import Orders
from .api.quote_alerts import QuoteAlerts
from .api.transactions import Transactions
from .api.watchlists import Watchlists
from .api.wire import Dialect
from .authorization_server import TokenOffice
from .event_queue import Agenda
from .keyed_random import Chance, key_of
from .ledger import Ledger
from .market.alerts import AlertDesk
from .market.catalogue import Catalogue, Sizes
from .market.equities import monthly_expirations
from .market.instrument import Instrument, occ_symbol
from .market.market import Market
from .trading.bookkeeping import Books
from .trading.complex_orders import ComplexDesk
from .trading.exchange import Exchange
from .trading.order_desk import Desk
from .trading.order_store import Blotter
from .trading.preflight import Preflight

__all__ = ["Settings", "World"]

_DAY = 86400.0
_OWNER, _STRANGER = 52_000, 77_000


@attrs.frozen(kw_only=True)
class Settings:
    """What an environment is made from: its name, the seed, when it begins (epoch seconds), sizes and starting cash."""

    environment: str
    seed: int
    start: float
    sizes: Sizes = attrs.field(factory=Sizes)
    cash: Decimal = Decimal(10_000_000)


class World:
    """The state of one environment, and the parts that work on it."""

    def __init__(self, settings: Settings, ledger: Ledger, dialect: Dialect) -> None:
        chance = Chance(settings.seed ^ key_of(settings.environment))
        self.settings: Settings = settings
        self.dialect: Dialect = dialect
        self.chance: Chance = chance
        self.agenda: Agenda = Agenda()
        self.accounts: Accounts = Accounts()
        self.books: Books = Books(dialect)
        self.owner: Customer = Customer(_OWNER + chance.below(10_000, 2), "simulated-owner")
        self.stranger: Customer = Customer(_STRANGER + chance.below(10_000, 3), "simulated-stranger")
        self.catalogue: Catalogue = Catalogue(settings.sizes, chance, settings.start)
        self.market: Market = Market(self.catalogue, chance)
        self.margin: MarginDesk = MarginDesk(self.market)
        self.blotter: Blotter = Blotter(ledger, chance)
        self.exchange: Exchange = Exchange(self.blotter, self.books, self.market, self.agenda, chance)
        self.preflight: Preflight = Preflight(self.catalogue, self.market, self.margin)
        self.desk: Desk = Desk(self.preflight, self.blotter, self.exchange, dialect)
        self.complex_desk: ComplexDesk = ComplexDesk(
            self.blotter, self.exchange, self.preflight, self.market, self.agenda
        )
        self.alerts: AlertDesk = AlertDesk(self.market, self.agenda, chance)
        self.office: TokenOffice = TokenOffice(settings.environment, self.owner, chance)
        self.complex_order_ids: dict[str, str] = {}
        self._open_accounts()
        self._place_complex_orders()

    def areas(self) -> Mapping[str, object]:
        """What answers the operations, by namespace."""
        access = Access(self.accounts)
        return {
            "oauth": OAuth(self.office),
            "market_time": MarketTime(self.dialect, self.settings.start),
            "market_metrics": MarketMetrics(self.catalogue, self.chance),
            "instruments": Instruments(self.catalogue),
            "orders": Orders(access, self.desk, self.blotter, self.dialect),
            "complex_orders": ComplexOrders(access, self.complex_desk, self.margin, self.dialect),
            "transactions": Transactions(access),
            "margin": Margin(access, self.margin, self.preflight, self.market, self.blotter, self.dialect),
            "watchlists": Watchlists(self.dialect),
            "quote_alerts": QuoteAlerts(self.alerts),
        }

    # How the environment is born

    def _open_accounts(self) -> None:
        """Three accounts of the owner (empty; with positions; cash only) and one of somebody else."""
        start, base = self.settings.start, 1000 + self.chance.below(8000, 4)
        plan = (("Margin", self.owner), ("Margin", self.owner), ("Cash", self.owner), ("Margin", self.stranger))
        for number, (kind, customer) in enumerate(plan, start=1):
            account = self.accounts.open(f"5WT{base}{number}", customer, kind, Decimal(0))
            self.books.move_cash(account, "Deposit", self.settings.cash, start - 400 * _DAY)
        second = self.accounts.of(self.owner)[1]
        for month in range(12, 0, -1):
            interest = Decimal(self.chance.below(5000, 5, month)) / 100
            self.books.move_cash(second, "Credit Interest", interest, start - month * 30 * _DAY)
        self._hold_positions(second)

    def _hold_positions(self, account: Account) -> None:
        """Shares, and a call sold against them."""
        shares = self.catalogue.instrument(InstrumentType.EQUITY, "AAPL")
        if shares is None:
            return
        account.trade(shares, Decimal(100), self.catalogue.base_price("AAPL"), Decimal(0))
        call = self._call_on(shares)
        account.trade(call, Decimal(-1), self.market.price(call, self.settings.start), Decimal(0))

    def _call_on(self, shares: Instrument) -> Instrument:
        """An option on shares, about five weeks out and a little above their price."""
        today = self.catalogue.today
        expires = next(day for day in monthly_expirations(today, 4) if (day - today).days > 30)
        strike = (self.catalogue.base_price(shares.symbol) * Decimal("1.05") // 5) * 5
        symbol = occ_symbol(shares.symbol, expires, OptionType.CALL, strike)
        option = self.catalogue.instrument(InstrumentType.EQUITY_OPTION, symbol)
        if option is None:
            raise LookupError(f"no call on {shares.symbol}")
        return option

    def _place_complex_orders(self) -> None:
        """One complex order of each kind in the owner's second account, none of them about to trade."""
        account, now = self.accounts.of(self.owner)[1], self.settings.start
        price = self.catalogue.base_price("AAPL")
        low, high = (price * Decimal("0.5")).quantize(Decimal("0.01")), (price * 2).quantize(Decimal("0.01"))
        buy = self._share_order("AAPL", LegAction.BUY_TO_OPEN, low)
        profit = self._share_order("AAPL", LegAction.SELL_TO_CLOSE, high)
        loss = self._share_order("AAPL", LegAction.SELL_TO_CLOSE, None, stop=low)
        pair = [
            self._share_order("AAPL", LegAction.BUY_TO_OPEN, None),
            self._share_order("MSFT", LegAction.SELL_TO_OPEN, None),
        ]
        open_ = self.complex_desk.open
        kinds, ratio = ComplexOrderType, Decimal("0.25")
        opened = (
            open_(kinds.OTOCO, account, [profit, loss], now, trigger=buy),
            open_(kinds.OCO, account, [profit, loss], now),
            open_(kinds.PAIRS, account, pair, now, comparator=Comparator.LTE, threshold=ratio),
        )
        self.complex_order_ids = {order.type: str(order.number) for order in opened}

    def _share_order(
        self, symbol: str, action: LegAction, price: Decimal | None, *, stop: Decimal | None = None
    ) -> NewOrder:
        """Ten shares, at a limit, on a stop, or at the market when neither is given."""
        leg = NewOrderLeg(instrument_type=InstrumentType.EQUITY, symbol=symbol, action=action, quantity=Decimal(10))
        buys = action is LegAction.BUY_TO_OPEN
        if price is None:
            order_type = OrderType.MARKET if stop is None else OrderType.STOP
            effect = None
        else:
            order_type = OrderType.LIMIT
            effect = PriceEffect.DEBIT if buys else PriceEffect.CREDIT
        return NewOrder(
            order_type=order_type,
            time_in_force=TimeInForce.DAY if order_type is OrderType.MARKET else TimeInForce.GTC,
            legs=(leg,),
            price=price,
            price_effect=effect,
            stop_trigger=stop,
        )
