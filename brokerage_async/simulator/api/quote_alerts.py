"""``quote_alerts``: the user's alerts."""

from __future__ import annotations

from ...protocol.response import Response
from ..market.alerts import AlertDesk
from .call import Call
from .wire import dumps, empty, item, items

__all__ = ["QuoteAlerts"]


class QuoteAlerts:
    """Answers from the alert desk. Its ``list`` comes last: within the class the name hides the builtin."""

    def __init__(self, desk: AlertDesk) -> None:
        self._desk = desk

    def create(self, call: Call) -> Response:
        """A new alert."""
        return item(self._desk.create(call.customer, call.body, call.now).wire(), call.context, 201)

    def cancel(self, call: Call) -> Response:
        """Take an alert away; doing so again, or for one that never was, changes nothing."""
        self._desk.cancel(call.customer, call.path["alert_external_id"])
        return empty(call.operation.status)

    def list(self, call: Call) -> Response:
        """Every alert of the user."""
        return items((dumps(alert.wire()) for alert in self._desk.of(call.customer)), call.context)
