"""Watchlists and quote alerts of the user."""

import datetime as dt
from decimal import Decimal

from brokerage_async.models import AlertOperator, InstrumentType, NewQuoteAlert, NewWatchlist, NewWatchlistEntry
from tests.vectors.exchange import Exchange

ALERT = """
{
  "alert-external-id": "8c1f-22",
  "completed-at": "2026-03-09T15:30:00.000+00:00",
  "created-at": "2026-03-09T14:00:00.000+00:00",
  "dismissed-at": null,
  "dx-symbol": "AAPL",
  "expired-at": null,
  "expires-at": "1773100800",
  "field": "Last",
  "instrument-type": "Equity",
  "operator": ">",
  "provider": "dxfeed",
  "symbol": "AAPL",
  "threshold": "200.0",
  "threshold-numeric": "200.0",
  "triggered-at": "2026-03-09T15:29:59.500+00:00",
  "user-external-id": "U0001"
}
"""

EXCHANGES = (
    Exchange(
        name="a new list",
        operation="watchlists.create",
        arguments=(
            NewWatchlist(
                name="tech / growth 100%",
                group_name="main",
                order_index=9999,
                watchlist_entries=(
                    NewWatchlistEntry(symbol="AAPL", instrument_type=InstrumentType.EQUITY),
                    NewWatchlistEntry(symbol="/ESZ6"),
                ),
            ),
        ),
        method="POST",
        target="/watchlists",
        sent="""
        {
          "name": "tech / growth 100%",
          "group-name": "main",
          "order-index": 9999,
          "watchlist-entries": [{"symbol": "AAPL", "instrument-type": "Equity"}, {"symbol": "/ESZ6"}]
        }
        """,
        status=201,
        answer="""
        {
          "data": {
            "name": "tech / growth 100%",
            "watchlist-entries": [{"symbol": "AAPL", "instrument-type": "Equity"}, {"symbol": "/ESZ6"}],
            "cms-id": "c-1",
            "group-name": "main",
            "order-index": 9999
          },
          "context": "/watchlists"
        }
        """,
        facts={
            "name": "tech / growth 100%",
            "watchlist_entries.#": 2,
            "watchlist_entries[0].instrument_type": "Equity",
            "watchlist_entries[1].symbol": "/ESZ6",
            "watchlist_entries[1].instrument_type": None,
            "cms_id": "c-1",
            "group_name": "main",
            "order_index": 9999,
        },
    ),
    Exchange(
        name="the smallest list",
        operation="watchlists.create",
        arguments=(NewWatchlist(name="empty", watchlist_entries=()),),
        method="POST",
        target="/watchlists",
        sent='{"name": "empty", "watchlist-entries": []}',
        status=201,
        answer='{"data":{"name":"empty","watchlist-entries":[],"order-index":9999},"context":"/watchlists"}',
        facts={"name": "empty", "watchlist_entries": (), "group_name": None},
    ),
    Exchange(
        name="all lists with their entries",
        operation="watchlists.list",
        target="/watchlists",
        answer="""
        {
          "data": {
            "items": [
              {"name": "a", "watchlist-entries": [{"symbol": "BTC/USD", "instrument-type": "Cryptocurrency"}]},
              {"name": "b", "watchlist-entries": [], "order-index": 1}
            ]
          },
          "context": "/watchlists"
        }
        """,
        facts={"#": 2, "[0].watchlist_entries[0].symbol": "BTC/USD", "[1].order_index": 1},
    ),
    Exchange(
        name="the documented form: the alert itself, every field",
        operation="quote_alerts.list",
        target="/quote-alerts",
        answer=f'{{"data": {ALERT}, "context": "/quote-alerts"}}',
        facts={
            "#": 1,
            "[0].alert_external_id": "8c1f-22",
            "[0].completed_at": dt.datetime(2026, 3, 9, 15, 30, tzinfo=dt.UTC),
            "[0].created_at": dt.datetime(2026, 3, 9, 14, tzinfo=dt.UTC),
            "[0].dismissed_at": None,
            "[0].dx_symbol": "AAPL",
            "[0].expired_at": None,
            "[0].expires_at": "1773100800",
            "[0].field": "Last",
            "[0].instrument_type": "Equity",
            "[0].operator": ">",
            "[0].provider": "dxfeed",
            "[0].symbol": "AAPL",
            "[0].threshold": Decimal("200.0"),
            "[0].threshold_numeric": Decimal("200.0"),
            "[0].triggered_at": dt.datetime(2026, 3, 9, 15, 29, 59, 500000, tzinfo=dt.UTC),
            "[0].user_external_id": "U0001",
        },
    ),
    Exchange(
        name="a list of alerts",
        operation="quote_alerts.list",
        target="/quote-alerts",
        answer=f'{{"data": {{"items": [{ALERT}, {{"operator": "<", "threshold-numeric": 1.5}}]}}}}',
        facts={
            "#": 2,
            "[0].alert_external_id": "8c1f-22",
            "[1].operator": "<",
            "[1].threshold_numeric": Decimal("1.5"),
        },
        observed=True,
    ),
    Exchange(
        name="a new alert",
        operation="quote_alerts.create",
        arguments=(
            NewQuoteAlert(field="IV", operator=AlertOperator.GREATER_THAN, symbol="AAPL", threshold=Decimal("0.45")),
        ),
        method="POST",
        target="/quote-alerts",
        sent='{"field": "IV", "operator": ">", "symbol": "AAPL", "threshold": "0.45"}',
        status=201,
        answer=f'{{"data": {ALERT}, "context": "/quote-alerts"}}',
        facts={"alert_external_id": "8c1f-22", "symbol": "AAPL"},
        observed=True,
    ),
    Exchange(
        name="an alert taken back",
        operation="quote_alerts.cancel",
        arguments=("8c1f/22",),
        method="DELETE",
        target="/quote-alerts/8c1f%2F22",
        status=204,
        headers={},
        facts={"": None},
        observed=True,
    ),
)
