"""Watchlists that the service publishes, of the catalogue's own instruments, and quote alerts of customers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import Any

import attrs

from ..._decimals import decimal_text
from ..._generated import converters as wires
from ..._generated.models import InstrumentType, NewQuoteAlert
from ..api.wire import complete, like, timestamp
from ..clock import EventQueue, ScheduledEvent, Signal
from ..keyed_random import KeyedRandom
from ..trading.accounts import Customer
from .catalogue import CRYPTOCURRENCIES, Catalogue, EquityDefinition, contract_after
from .instrument import FUTURES
from .prices import Prices

_MOST = 200
_FIRST_NUMBER = 300_000
_PUBLIC_INDEX = 100
_PAIRS = {
    "Index Spreads": (("SPY", 1, "QQQ", 1), ("SPY", 1, "IWM", 3)),
    "Tech Pairs": (("AAPL", 2, "MSFT", 1), ("NVDA", 1, "AMD", 1), ("META", 1, "GOOGL", 4)),
    "Consumer Pairs": (("KO", 1, "F", 7),),
}

Entry = tuple[str, InstrumentType]
"""Symbol and type of an instrument."""


class PublicWatchlists:
    """The public watchlists of an environment."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._published: dict[str, wires.WatchlistWire] = {}
        self.on_change: Signal[wires.WatchlistWire, float] = Signal()

    @cached_property
    def _initial(self) -> dict[str, wires.WatchlistWire]:
        def some(keep: Callable[[EquityDefinition], bool]) -> Iterator[Entry]:
            return ((row.symbol, row.instrument_type) for row in equities if keep(row))

        today, equities = self._catalogue.today, self._catalogue.equities.definitions
        futures = (contract_after(product, today).symbol for product in FUTURES.values())
        plans: tuple[tuple[str, str, Iterator[Entry]], ...] = (
            ("High Options Volume", "Options", some(lambda row: row.number <= 10 and not row.is_index)),
            ("Liquid Small Caps", "Equities", some(lambda row: 5 < row.price < 50)),
            ("Trader's ETFs", "ETFs", some(lambda row: row.is_etf)),
            ("Market Indices", "Indices", some(lambda row: row.is_index)),
            ("Futures: All", "Futures", ((symbol, InstrumentType.FUTURE) for symbol in futures)),
            ("Cryptocurrency", "Crypto", ((symbol, InstrumentType.CRYPTOCURRENCY) for symbol in CRYPTOCURRENCIES)),
        )
        return {
            name: _public(_FIRST_NUMBER + number, name, group, islice(entries, _MOST))
            for number, (name, group, entries) in enumerate(plans, start=1)
        }

    def by_name(self) -> dict[str, wires.WatchlistWire]:
        """Return the lists: first those that the service began with."""
        return self._initial | self._published

    def publish(self, name: str, symbols: Sequence[str], now: float) -> None:
        """Publish a list of equities, or replace the entries of one. Raise ValueError for an unknown symbol."""
        if any(self._catalogue.instrument(InstrumentType.EQUITY, symbol) is None for symbol in symbols):
            raise ValueError(f"symbols must be known equities, got {list(symbols)}")
        before = self.by_name()
        old = before.get(name)
        number, group = (_FIRST_NUMBER + len(before) + 1, "Published") if old is None else (old.id, old.group_name)
        new = _public(number, name, group, ((symbol, InstrumentType.EQUITY) for symbol in symbols))
        self._published[name] = new
        self.on_change.emit(new, now)


def _public(number: Any, name: str, group: str | None, entries: Iterable[Entry]) -> wires.WatchlistWire:
    return wires.WatchlistWire(
        name=name,
        watchlist_entries=[wires.WatchlistEntryWire(symbol=symbol, instrument_type=kind) for symbol, kind in entries],
        group_name=group,
        order_index=_PUBLIC_INDEX,
        cms_id=f"public-{number}",
        id=number,
        user_id=-1,
    )


def pairs_watchlists() -> dict[str, wires.PairsWatchlistWire]:
    """Return the lists of pairs as wire structs by name: the left side bought, the right side sold."""
    return {
        name: wires.PairsWatchlistWire(
            name=name,
            pairs_equations=[
                wires.PairsEquationWire(
                    left_action="Buy",
                    left_symbol=left,
                    left_quantity=bought,
                    right_action="Sell",
                    right_symbol=right,
                    right_quantity=sold,
                )
                for left, bought, right, sold in pairs
            ],
            order_index=number,
        )
        for number, (name, pairs) in enumerate(_PAIRS.items(), start=1)
    }


_TIMES = ("created_at", "expires_at", "triggered_at", "completed_at", "expired_at")
_LIFETIME = 90 * 86400.0


@attrs.define(kw_only=True, eq=False)
class Alert:
    """One alert. Its state shows only in its times (epoch seconds)."""

    external_id: str
    customer: Customer
    asked: NewQuoteAlert
    created_at: float
    expires_at: float
    triggered_at: float | None = None
    completed_at: float | None = None
    expired_at: float | None = None
    next_check: ScheduledEvent | None = None

    def wire(self) -> dict[str, Any]:
        """Return the wire form of the alert. Times that have not come are null, as recorded."""
        symbol, threshold = self.asked.symbol, self.asked.threshold
        alert = like(
            wires.QuoteAlertWire,
            self.asked,
            alert_external_id=self.external_id,
            user_external_id=f"U{self.customer.number:010d}",
            dx_symbol=symbol,
            instrument_type=InstrumentType.FUTURE if symbol.startswith("/") else InstrumentType.EQUITY,
            threshold=decimal_text(threshold),
            threshold_numeric=float(threshold),
            provider="DXFEED",
            **{name: timestamp(getattr(self, name)) for name in _TIMES},
        )
        return complete(alert)


class AlertMonitor:
    """Keeps the alerts of all customers and checks their quotes whenever prices change."""

    def __init__(self, prices: Prices, event_queue: EventQueue, random: KeyedRandom) -> None:
        self._prices = prices
        self._event_queue = event_queue
        self._random = random
        self.alerts: dict[str, Alert] = {}
        self._count = 0
        self.on_change: Signal[Alert, float] = Signal()
        prices.on_price(self._price_was_set)

    def create(self, customer: Customer, requested: NewQuoteAlert, now: float) -> Alert:
        self._count += 1
        alert = Alert(
            external_id=self._random.hex_digits(32, 7, self._count),
            customer=customer,
            asked=requested,
            created_at=now,
            expires_at=now + _LIFETIME,
        )
        self.alerts[alert.external_id] = alert
        self._schedule(alert, now)
        return alert

    def cancel(self, customer: Customer, external_id: str) -> None:
        """Remove an alert, if it exists and belongs to the customer."""
        alert = self.alerts.get(external_id)
        if alert is None or alert.customer != customer:
            return
        del self.alerts[external_id]
        if alert.next_check is not None:
            alert.next_check.cancel()

    def of(self, customer: Customer) -> list[Alert]:
        return [alert for alert in self.alerts.values() if alert.customer == customer]

    def _schedule(self, alert: Alert, now: float) -> None:
        if alert.next_check is not None:
            alert.next_check.cancel()
        when = min(self._prices.next_change(alert.asked.symbol, now), alert.expires_at)
        alert.next_check = self._event_queue.at(when, lambda at: self._check_quote(alert, at))

    def _check_quote(self, alert: Alert, now: float) -> None:
        if alert.completed_at is not None:
            return
        if now >= alert.expires_at:
            alert.expired_at = alert.completed_at = now
            self.on_change.emit(alert, now)
            return
        asked, quote = alert.asked, self._prices.underlying_quote(alert.asked.symbol, now)
        value = {"Last": quote.last, "Mark": quote.last, "Bid": quote.bid, "Ask": quote.ask}.get(asked.field)
        if value is not None and (value > asked.threshold if asked.operator == ">" else value < asked.threshold):
            alert.triggered_at = alert.completed_at = now
            self.on_change.emit(alert, now)
        else:
            self._schedule(alert, now)

    def _price_was_set(self, symbol: str, now: float) -> None:
        for alert in [alert for alert in self.alerts.values() if alert.asked.symbol == symbol]:
            self._check_quote(alert, now)
