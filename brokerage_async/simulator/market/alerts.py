"""Quote alerts: watched on the clock, triggered when the quote crosses the threshold."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import attrs

from ..._generated.converters import QuoteAlertWire
from ..._generated.models import AlertField, AlertOperator, InstrumentType, NewQuoteAlert
from ..._values import decimal_text
from ..api.call import Customer
from ..api.wire import complete, timestamp
from ..event_queue import Agenda, Appointment
from ..keyed_random import Chance
from .market import STEP, Market

__all__ = ["Alert", "AlertDesk"]

_LIFETIME = 90 * 86400.0


@attrs.define(kw_only=True, eq=False)
class Alert:
    """One alert; its life shows in its times alone (epoch seconds)."""

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
    next_look: Appointment | None = None

    def wire(self) -> dict[str, Any]:
        """The alert as it is sent; times that have not come are null, as recorded."""
        # The same amount twice, as text and as a number.
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

    def is_met_by(self, value: Decimal) -> bool:
        """Whether a quote is on the far side of the threshold."""
        return value > self.threshold if self.operator == ">" else value < self.threshold


class AlertDesk:
    """Keeps the alerts of all customers and looks at their quotes whenever prices change."""

    def __init__(self, market: Market, agenda: Agenda, chance: Chance) -> None:
        self._market = market
        self._agenda = agenda
        self._chance = chance
        self._alerts: dict[str, Alert] = {}
        self._made = 0
        market.on_price(self._price_was_set)

    def create(self, customer: Customer, asked: NewQuoteAlert, now: float) -> Alert:
        """A new alert, watched from now on."""
        self._made += 1
        alert = Alert(
            external_id=self._chance.text(32, 7, self._made),
            customer=customer,
            symbol=asked.symbol,
            instrument_type=InstrumentType.FUTURE if asked.symbol.startswith("/") else InstrumentType.EQUITY,
            field=asked.field,
            operator=asked.operator,
            threshold=asked.threshold,
            created_at=now,
            expires_at=now + _LIFETIME,
        )
        self._alerts[alert.external_id] = alert
        self._plan(alert, now)
        return alert

    def cancel(self, customer: Customer, external_id: str) -> None:
        """Take an alert away, if it is there and the customer's own."""
        alert = self._alerts.get(external_id)
        if alert is None or alert.customer != customer:
            return
        del self._alerts[external_id]
        if alert.next_look is not None:
            alert.next_look.cancel()

    def of(self, customer: Customer) -> list[Alert]:
        """The alerts of a customer, oldest first."""
        return [alert for alert in self._alerts.values() if alert.customer == customer]

    def _plan(self, alert: Alert, now: float) -> None:
        if alert.next_look is not None:
            alert.next_look.cancel()
        when = min((now // STEP + 1) * STEP, alert.expires_at)
        alert.next_look = self._agenda.at(when, lambda at: self._look(alert, at))

    def _look(self, alert: Alert, now: float) -> None:
        if alert.completed_at is not None:
            return
        if now >= alert.expires_at:
            alert.expired_at = alert.completed_at = now
            return
        value = self._market.quote(alert.symbol, alert.field, now)
        if value is not None and alert.is_met_by(value):
            alert.triggered_at = alert.completed_at = now
        else:
            self._plan(alert, now)

    def _price_was_set(self, symbol: str, now: float) -> None:
        for alert in [alert for alert in self._alerts.values() if alert.symbol == symbol]:
            self._look(alert, now)
