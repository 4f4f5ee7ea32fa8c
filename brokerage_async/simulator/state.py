"""Complete state of one environment: customers, accounts, instruments, orders, alerts."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any
from urllib.parse import urlsplit

import attrs

from .._generated import models
from .._generated.behaviours import BEHAVIOURS, SWITCHES
from .api.wire import Dialect, WireForm
from .authorization_server import AuthorizationServer, QuoteTokens
from .clock import EventQueue
from .keyed_random import KeyedRandom, key_of
from .ledger import Ledger
from .market.catalogue import KNOWN_EQUITIES, Catalogue, Sizes, monthly_expirations
from .market.instrument import occ_symbol
from .market.prices import Prices
from .market.watchlists import AlertMonitor, PublicWatchlists
from .trading.accounts import Account, Accounts, Bookkeeping, Customer, MarginCalculator
from .trading.exchange import Exchange
from .trading.orders import OrderStore
from .trading.preflight import Preflight

_DAY = 86400.0
_OWNER, _OTHER_CUSTOMER = 52_000, 77_000
MAX_CUSTOMERS = 100


def _dollars(cash: object) -> Decimal:
    try:
        amount = Decimal(str(cash))
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite():
        raise ValueError(f"cash must be a finite number of dollars, got {cash!r}")
    return amount


@attrs.frozen(kw_only=True)
class Settings:
    """Parameters of an environment, as `Simulator` takes them; ``start`` is in epoch seconds.

    ``is_live``: prices and instruments are those of a live source, and accounts begin with cash alone.

    Raises:
        ValueError: one of them is not valid.
    """

    environment: str
    seed: int
    start: float
    sizes: Sizes
    cash: Decimal = attrs.field(converter=_dollars)
    wire: WireForm
    without: frozenset[str]
    customers: int
    redirect_uris: tuple[str, ...]
    is_live: bool

    def __attrs_post_init__(self) -> None:
        if self.environment not in ("sandbox", "production"):
            raise ValueError(f"environment must be sandbox or production, got {self.environment!r}")
        if not _is_integer(self.seed):
            raise ValueError(f"seed must be an integer, got {self.seed!r}")
        if self.wire not in ("observed", "documented"):
            raise ValueError(f"wire must be observed or documented, got {self.wire!r}")
        for name, size in attrs.asdict(self.sizes).items():
            if not _is_integer(size) or size < 0:
                raise ValueError(f"{name} must be a whole number of rows, got {size!r}")
        for behaviour in self.without:
            if behaviour not in SWITCHES:
                raise ValueError(f"without must name behaviours of {', '.join(sorted(SWITCHES))}; got {behaviour!r}")
        if not _is_integer(self.customers) or not 1 <= self.customers <= MAX_CUSTOMERS:
            raise ValueError(f"customers must be a number from 1 to {MAX_CUSTOMERS}, got {self.customers!r}")
        for address in self.redirect_uris:
            parts = urlsplit(address) if isinstance(address, str) else None
            if parts is None or parts.scheme not in ("http", "https") or not parts.netloc or parts.query:
                raise ValueError(f"redirect_uris must hold full http or https addresses, got {address!r}")

    def has(self, behaviour: str) -> bool:
        """Return True unless an entry of the list of recorded behaviour is switched off."""
        if behaviour not in BEHAVIOURS:
            raise LookupError(f"unknown behaviour {behaviour!r}")
        return behaviour not in self.without

    @property
    def shown(self) -> dict[str, str]:
        """What a state file keeps of them, beside the start."""
        names = ("environment", "seed", "sizes", "cash", "wire", "customers", "redirect_uris")
        shown = {name: str(getattr(self, name)) for name in names} | {"without": str(sorted(self.without))}
        return shown | ({"prices": "live"} if self.is_live else {})


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


class State:
    """State of one environment, and the parts that operate on it."""

    def __init__(self, settings: Settings, ledger: Ledger, dialect: Dialect) -> None:
        random = KeyedRandom(settings.seed ^ key_of(settings.environment))
        self.settings: Settings = settings
        self.ledger: Ledger = ledger
        self.dialect: Dialect = dialect
        self.random: KeyedRandom = random
        self.event_queue: EventQueue = EventQueue()
        self.accounts: Accounts = Accounts()
        self.owner: Customer = Customer(_OWNER + random.below(10_000, 2), "simulated-owner")
        self.other_customer: Customer = Customer(_OTHER_CUSTOMER + random.below(10_000, 3), "simulated-stranger")
        self.customers: tuple[Customer, ...] = (
            self.owner,
            *(
                Customer(_OWNER + 100_000 * number + random.below(10_000, 2, number), f"simulated-customer-{number}")
                for number in range(2, settings.customers + 1)
            ),
        )
        self.catalogue: Catalogue = Catalogue(settings.sizes, random, settings.start)
        self.catalogue.is_live = settings.is_live
        self.prices: Prices = Prices(self.catalogue, random)
        self.margin_calculator: MarginCalculator = MarginCalculator(self.prices)
        self.order_store: OrderStore = OrderStore(ledger, random, settings.has)
        store, prices, queue, has = self.order_store, self.prices, self.event_queue, settings.has
        self.bookkeeping: Bookkeeping = Bookkeeping(dialect, self.accounts, self.catalogue, prices, queue, has)
        self.preflight: Preflight = Preflight(self.catalogue, prices, self.margin_calculator, store, has)
        self.exchange: Exchange = Exchange(
            store, self.bookkeeping, self.preflight, prices, queue, random, dialect, settings.environment, has
        )
        self.alert_monitor: AlertMonitor = AlertMonitor(prices, queue, random)
        self.authorization_server: AuthorizationServer = AuthorizationServer(
            settings.environment, self.customers, random, settings.redirect_uris
        )
        self.quote_tokens: QuoteTokens = QuoteTokens(random)
        self.public_watchlists: PublicWatchlists = PublicWatchlists(self.catalogue)
        self.complex_order_ids: dict[str, str] = {}
        self._open_accounts()
        if not settings.is_live:
            self._place_complex_orders()

    @property
    def own_accounts(self) -> tuple[Account, ...]:
        """Accounts of all customers who use the application."""
        return tuple(account for customer in self.customers for account in self.accounts.of(customer))

    def _open_accounts(self) -> None:
        """Open three accounts of the owner, the second with positions, one of a stranger, and two of each other."""
        start, base = self.settings.start, 1000 + self.random.below(8000, 4)
        plan = [("Margin", self.owner), ("Margin", self.owner), ("Cash", self.owner), ("Margin", self.other_customer)]
        plan += [(kind, customer) for customer in self.customers[1:] for kind in ("Margin", "Cash")]
        for number, (kind, customer) in enumerate(plan, start=1):
            account = Account(number=f"5WT{base}{number}", customer=customer, kind=kind, cash=Decimal(0))
            self.accounts[account.number] = account
            self.bookkeeping.move_cash(account, "Deposit", self.settings.cash, start - 400 * _DAY)
        if self.settings.is_live:
            return
        second = self.accounts.of(self.owner)[1]
        for month in range(12, 0, -1):
            interest = Decimal(self.random.below(5000, 5, month)) / 100
            self.bookkeeping.move_cash(second, "Credit Interest", interest, start - month * 30 * _DAY)
        # Shares, and a call that was sold against them.
        shares = self.catalogue.instrument(models.InstrumentType.EQUITY, "AAPL")
        price, book, today = KNOWN_EQUITIES["AAPL"].price, self.bookkeeping.open_position, self.catalogue.today
        # A call about five weeks out and slightly above the price.
        expires = next(day for day in monthly_expirations(today, 4) if (day - today).days > 30)
        symbol = occ_symbol("AAPL", expires, models.OptionType.CALL, (price * Decimal("1.05") // 5) * 5)
        call = self.catalogue.instrument(models.InstrumentType.EQUITY_OPTION, symbol)
        assert shares is not None
        assert call is not None
        book(second, shares, models.LegAction.BUY_TO_OPEN, Decimal(100), price, start)
        book(second, call, models.LegAction.SELL_TO_OPEN, Decimal(1), self.prices.price(call, start), start)

    def _place_complex_orders(self) -> None:
        """Place one complex order of each type in the owner's second account, far from the market."""
        account, now = self.accounts.of(self.owner)[1], self.settings.start
        # An account takes no orders for both sides of a symbol, so these leave the shares alone that it holds.
        buy, sell, kinds = models.LegAction.BUY_TO_OPEN, models.LegAction.SELL_TO_CLOSE, models.ComplexOrderType
        exits = [_share_order("KO", sell, 200), _share_order("KO", sell, stop=20)]
        exclusive = [_share_order("GLD", buy, 150), _share_order("GLD", buy, 610, stop=600)]
        requested = (
            models.NewComplexOrder(type=kinds.OTOCO, trigger_order=_share_order("KO", buy, 20), orders=exits),
            models.NewComplexOrder(type=kinds.OCO, orders=exclusive),
            models.NewComplexOrder(
                type=kinds.PAIRS,
                orders=[_share_order("GLD", buy), _share_order("MSFT", models.LegAction.SELL_TO_OPEN)],
                ratio_price_comparator=models.Comparator.LTE,
                ratio_price_threshold=Decimal("0.25"),
            ),
        )
        here = self.exchange
        accepted = [here.accept_complex(here.check_complex(account, one, now), now) for one in requested]
        self.complex_order_ids = {order.terms.type: str(order.number) for order in accepted}


def _share_order(symbol: str, action: models.LegAction, price: int = 0, stop: int = 0) -> models.NewOrder:
    """Return an order for ten shares: limit, stop, stop limit, or market when neither price is given."""
    equity, effects = models.InstrumentType.EQUITY, models.PriceEffect
    leg = models.NewOrderLeg(instrument_type=equity, symbol=symbol, action=action, quantity=Decimal(10))
    effect = effects.DEBIT if action is models.LegAction.BUY_TO_OPEN else effects.CREDIT
    terms: dict[str, Any] = {"price": Decimal(price), "price_effect": effect} if price else {}
    terms |= {"stop_trigger": Decimal(stop)} if stop else {}
    return models.NewOrder(
        order_type=next(kind for kind, names in models.TAKES.items() if names == terms.keys()),
        time_in_force=models.TimeInForce.GTC if terms else models.TimeInForce.DAY,
        legs=(leg,),
        **terms,
    )
