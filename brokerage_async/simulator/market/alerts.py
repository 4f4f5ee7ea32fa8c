"""Quote alerts: checked as prices change, triggered when the quote crosses the threshold."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import attrs

from ..._decimals import decimal_text
from ..._generated.converters import QuoteAlertWire
from ..._generated.models import AlertField, AlertOperator, InstrumentType, NewQuoteAlert
from ..api.wire import complete, timestamp
from ..clock import EventQueue, ScheduledEvent, Signal
from ..keyed_random import KeyedRandom
from ..trading.accounts import Customer
from .prices import Prices

_LIFETIME = 90 * 86400.0


@attrs.define(kw_only=True, eq=False)
class Alert:
    """One alert. Its state shows only in its times (epoch seconds)."""

    external_id: str
    customer: Customer
    symbol: str
    instrument_type: InstrumentType
    field: AlertField
    operator: AlertOperator
    threshold: Decimal
    created_at: float
    expires_at: float
    triggered_at: float | None = None
    completed_at: float | None = None
    expired_at: float | None = None
    next_check: ScheduledEvent | None = None

    def wire(self) -> dict[str, Any]:
        """Return the wire form of the alert. Times that have not come are null, as recorded."""
        # The same amount twice, as a string and as a number.
        threshold: Any = decimal_text(self.threshold)
        numeric: Any = float(self.threshold)
        alert = QuoteAlertWire(
            alert_external_id=self.external_id,
            user_external_id=f"U{self.customer.number:010d}",
            symbol=self.symbol,
            dx_symbol=self.symbol,
            instrument_type=self.instrument_type,
            field=self.field,
            operator=self.operator,
            threshold=threshold,
            threshold_numeric=numeric,
            provider="DXFEED",
            created_at=timestamp(self.created_at),
            expires_at=timestamp(self.expires_at),
            triggered_at=timestamp(self.triggered_at),
            completed_at=timestamp(self.completed_at),
            expired_at=timestamp(self.expired_at),
        )
        return complete(alert)


class AlertMonitor:
    """Keeps the alerts of all customers and checks their quotes whenever prices change."""

    def __init__(self, prices: Prices, event_queue: EventQueue, random: KeyedRandom) -> None:
        self._prices = prices
        self._event_queue = event_queue
        self._random = random
        self._alerts: dict[str, Alert] = {}
        self._count = 0
        self.on_change: Signal[Alert, float] = Signal()
        prices.on_price(self._price_was_set)

    def create(self, customer: Customer, requested: NewQuoteAlert, now: float) -> Alert:
        self._count += 1
        alert = Alert(
            external_id=self._random.hex_digits(32, 7, self._count),
            customer=customer,
            symbol=requested.symbol,
            instrument_type=InstrumentType.FUTURE if requested.symbol.startswith("/") else InstrumentType.EQUITY,
            field=requested.field,
            operator=requested.operator,
            threshold=requested.threshold,
            created_at=now,
            expires_at=now + _LIFETIME,
        )
        self._alerts[alert.external_id] = alert
        self._schedule(alert, now)
        return alert

    def cancel(self, customer: Customer, external_id: str) -> None:
        """Remove an alert, if it exists and belongs to the customer."""
        alert = self._alerts.get(external_id)
        if alert is None or alert.customer != customer:
            return
        del self._alerts[external_id]
        if alert.next_check is not None:
            alert.next_check.cancel()

    @property
    def has_alerts(self) -> bool:
        return bool(self._alerts)

    def of(self, customer: Customer) -> list[Alert]:
        return [alert for alert in self._alerts.values() if alert.customer == customer]

    def _schedule(self, alert: Alert, now: float) -> None:
        if alert.next_check is not None:
            alert.next_check.cancel()
        when = min(self._prices.next_change(alert.symbol, now), alert.expires_at)
        alert.next_check = self._event_queue.at(when, lambda at: self._check_quote(alert, at))

    def _check_quote(self, alert: Alert, now: float) -> None:
        if alert.completed_at is not None:
            return
        if now >= alert.expires_at:
            alert.expired_at = alert.completed_at = now
            self.on_change.emit(alert, now)
            return
        value = self._prices.quote(alert.symbol, alert.field, now)
        threshold = alert.threshold
        if value is not None and (value > threshold if alert.operator == ">" else value < threshold):
            alert.triggered_at = alert.completed_at = now
            self.on_change.emit(alert, now)
        else:
            self._schedule(alert, now)

    def _price_was_set(self, symbol: str, now: float) -> None:
        for alert in [alert for alert in self._alerts.values() if alert.symbol == symbol]:
            self._check_quote(alert, now)
