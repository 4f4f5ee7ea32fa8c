"""Handlers of ``quote_alerts``: alerts of the user."""

from __future__ import annotations

from ...protocol.response import Response
from ..market.alerts import AlertMonitor
from .parsed_request import ParsedRequest
from .wire import dumps, empty, item, items

__all__ = ["QuoteAlerts"]


class QuoteAlerts:
    """Handles quote alerts.

    ``list`` comes last because it hides the builtin within the class.
    """

    def __init__(self, alerts: AlertMonitor) -> None:
        self._alerts = alerts

    def create(self, request: ParsedRequest) -> Response:
        """Create an alert."""
        return item(self._alerts.create(request.customer, request.body, request.now).wire(), request.context, 201)

    def cancel(self, request: ParsedRequest) -> Response:
        """Remove an alert. Repeating this, or an unknown identifier, changes nothing."""
        self._alerts.cancel(request.customer, request.path["alert_external_id"])
        return empty(request.operation.status)

    def list(self, request: ParsedRequest) -> Response:
        """Return every alert of the user."""
        return items((dumps(alert.wire()) for alert in self._alerts.of(request.customer)), request.context)
