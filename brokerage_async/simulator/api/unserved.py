"""Operations that the simulator does not serve yet. It answers them with 501."""

from __future__ import annotations

__all__ = ["UNSERVED"]

UNSERVED: frozenset[str] = frozenset(
    {
        "balances.net_liq_history",
        "balances.snapshots",
        "instruments.currency_pairs",
        "instruments.future",
        "instruments.future_option",
        "instruments.future_option_product",
        "instruments.future_option_product_of_exchange",
        "instruments.future_option_products",
        "instruments.future_options",
        "instruments.future_product",
        "instruments.future_products",
        "instruments.futures",
        "instruments.quantity_decimal_precisions",
        "market_data.quote_token",
        "market_metrics.list",
        "option_chains.nested_futures",
        "risk.position_limit",
        "risk.span_rows",
        "watchlists.get_pairs",
        "watchlists.get_public",
        "watchlists.list_pairs",
        "watchlists.list_public",
    }
)
"""Names of the operations without a handler; an operation with one must not be listed."""
