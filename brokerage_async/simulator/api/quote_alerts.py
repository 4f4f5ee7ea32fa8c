"""``quote_alerts``: the user's alerts."""

from __future__ import annotations

from ...protocol.response import Response
from ..market.alerts import AlertMonitor
from .parsed_request import ParsedRequest
from .wire import dumps, empty, item, items

__all__ = ["QuoteAlerts"]


class QuoteAlerts:
    """Answers from the alert desk. Its ``list`` comes last: within the class the name hides the builtin."""

    def __init__(self, alerts: AlertMonitor) -> None:
        self._alerts = alerts

    def create(self, request: ParsedRequest) -> Response:
        """A new alert."""
        return item(self._alerts.create(request.customer, request.body, request.now).wire(), request.context, 201)

    def cancel(self, request: ParsedRequest) -> Response:
        """Take an alert away; doing so again, or for one that never was, changes nothing."""
        self._alerts.cancel(request.customer, request.path["alert_external_id"])
        return empty(request.operation.status)

    def list(self, request: ParsedRequest) -> Response:
        """Every alert of the user."""
        return items((dumps(alert.wire()) for alert in self._alerts.of(request.customer)), request.context)
