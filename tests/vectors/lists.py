"""Watchlists of all kinds, and the whole body of a quote alert."""

from decimal import Decimal

from brokerage_async.models import (
    AlertField,
    AlertOperator,
    InstrumentType,
    NewQuoteAlert,
    NewWatchlist,
    NewWatchlistEntry,
)
from tests.vectors.exchange import Exchange

ALERT = NewQuoteAlert(
    field=AlertField.LAST,
    operator=AlertOperator.GREATER_THAN,
    symbol="QNTX",
    threshold=Decimal("48.50"),
    threshold_numeric=Decimal("48.5"),
    instrument_type=InstrumentType.EQUITY,
    dx_symbol="QNTX",
    expires_at="2026-12-20T15:02:11.000Z",
)

EXCHANGES = (
    Exchange(
        name="one list by its name",
        operation="watchlists.get",
        arguments=("High IV/2026",),
        target="/watchlists/High%20IV%2F2026",
        answer="""
        {
          "data": {
            "name": "Swing Ideas",
            "watchlist-entries": [
              {"symbol": "QNTX", "instrument-type": "Equity"},
              {"symbol": "/ESH7", "instrument-type": "Future"}
            ],
            "group-name": "default", "order-index": 9999, "cms-id": null, "id": 12, "user-id": 77
          }
        }
        """,
        facts={
            "name": "Swing Ideas",
            "id": "12",
            "user_id": "77",
            "cms_id": None,
            "watchlist_entries[1].symbol": "/ESH7",
        },
    ),
    Exchange(
        name="a replacement renames the list",
        operation="watchlists.replace",
        arguments=(
            "Old",
            NewWatchlist(name="Swing Ideas", watchlist_entries=[NewWatchlistEntry(symbol="QNTX")]),
        ),
        method="PUT",
        target="/watchlists/Old",
        sent='{"name":"Swing Ideas","watchlist-entries":[{"symbol":"QNTX"}]}',
        answer="""
        {
          "data": {
            "name": "Swing Ideas",
            "watchlist-entries": [
              {"symbol": "QNTX", "instrument-type": "Equity"},
              {"symbol": "/ESH7", "instrument-type": "Future"}
            ],
            "group-name": "default", "order-index": 9999
          }
        }
        """,
        facts={
            "name": "Swing Ideas",
            "order_index": 9999,
        },
    ),
    Exchange(
        name="the deleted list comes back bare and with underscores",
        operation="watchlists.delete",
        arguments=("Old",),
        method="DELETE",
        target="/watchlists/Old",
        answer='{"id": 1, "name": "Old", "user_id": 77, "watchlist_entries": [], "cms_id": null}',
        facts={
            "": None,
        },
    ),
    Exchange(
        name="or nothing comes back",
        operation="watchlists.delete",
        arguments=("Old",),
        method="DELETE",
        target="/watchlists/Old",
        facts={
            "": None,
        },
    ),
    Exchange(
        name="public lists spell the type with an underscore",
        operation="watchlists.list_public",
        target="/public-watchlists",
        answer="""
        {
          "data": {
            "items": [
              {
                "name": "Swing Ideas",
                "watchlist-entries": [{"symbol": "QNTX", "instrument_type": "Equity"}],
                "group-name": "default", "order-index": 9999, "id": "300412", "user-id": -1
              }
            ]
          }
        }
        """,
        facts={
            "[0].watchlist_entries[0].instrument_type": "Equity",
            "[0].user_id": "-1",
        },
    ),
    Exchange(
        name="counts only",
        operation="watchlists.list_public",
        options={"counts_only": True},
        target="/public-watchlists?counts-only=true",
        answer="""
        {
          "data": {
            "items": [{"name": "Liquid Small Caps", "id": 300412, "watchlist-entry-count": 148}]
          }
        }
        """,
        facts={
            "[0].id": "300412",
            "[0].watchlist_entry_count": 148,
            "[0].watchlist_entries": None,
        },
    ),
    Exchange(
        name="one public list",
        operation="watchlists.get_public",
        arguments=("Tom's Watchlist",),
        target="/public-watchlists/Tom%27s%20Watchlist",
        answer="""
        {
          "data": {
            "name": "Swing Ideas",
            "watchlist-entries": [
              {"symbol": "QNTX", "instrument-type": "Equity"},
              {"symbol": "/ESH7", "instrument-type": "Future"}
            ],
            "group-name": "default", "order-index": 9999
          }
        }
        """,
        facts={
            "watchlist_entries.#": 2,
        },
    ),
    Exchange(
        name="lists of pairs",
        operation="watchlists.list_pairs",
        target="/pairs-watchlists",
        answer="""
        {
          "data": {
            "items": [
              {
                "name": "Index Spreads",
                "pairs-equations": [
                  {
                    "left-action": "Buy", "left-symbol": "SPY", "left-quantity": 1,
                    "right-action": "Sell", "right-symbol": "QQQ", "right-quantity": 2
                  }
                ],
                "order-index": 12
              }
            ]
          }
        }
        """,
        facts={
            "[0].pairs_equations[0].right_quantity": Decimal(2),
            "[0].pairs_equations[0].left_action": "Buy",
        },
    ),
    Exchange(
        name="one list of pairs",
        operation="watchlists.get_pairs",
        arguments=("Index Spreads",),
        target="/pairs-watchlists/Index%20Spreads",
        answer="""
        {
          "data": {
            "name": "Index Spreads",
            "pairs-equations": [
              {
                "left-action": "Buy", "left-symbol": "SPY", "left-quantity": 1, "right-action": "Sell",
                "right-symbol": "QQQ", "right-quantity": 2
              }
            ],
            "order-index": 12
          }
        }
        """,
        facts={
            "name": "Index Spreads",
            "order_index": 12,
        },
    ),
    Exchange(
        name="an alert with everything that may be said",
        operation="quote_alerts.create",
        arguments=(ALERT,),
        method="POST",
        target="/quote-alerts",
        sent='{"field":"Last","operator":">","symbol":"QNTX","threshold":"48.50","threshold-numeric":"48.5","instrument-type":"Equity","dx-symbol":"QNTX","expires-at":"2026-12-20T15:02:11.000Z"}',
        status=201,
        answer="""
        {
          "data": {
            "alert-external-id": "7f0c2b1e-41aa-4a57-9d0e-0e6a8b7f3c55",
            "created-at": "2026-11-20T15:02:11.000+00:00", "triggered-at": null, "completed-at": null,
            "dismissed-at": null, "expired-at": null, "expires-at": "2026-12-20T15:02:11.000Z",
            "field": "Last", "operator": ">", "threshold": "48.50", "threshold-numeric": 48.5,
            "symbol": "QNTX", "dx-symbol": "QNTX", "instrument-type": "Equity", "provider": "dxfeed",
            "user-external-id": "U0000000042"
          }
        }
        """,
        facts={
            "alert_external_id": "7f0c2b1e-41aa-4a57-9d0e-0e6a8b7f3c55",
            "threshold_numeric": Decimal("48.5"),
            "expires_at": "2026-12-20T15:02:11.000Z",
            "triggered_at": None,
        },
    ),
    Exchange(
        name="an expiry in milliseconds",
        operation="quote_alerts.list",
        target="/quote-alerts",
        answer='{"data": {"items": [{"alert-external-id": "a", "expires-at": 1766242931000}]}}',
        facts={
            "[0].expires_at": "1766242931000",
        },
    ),
)
