"""Ceilings of the request rates, as the service's agent server keeps to them: requests per second by operation."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["PUBLISHED_RATES", "PUBLISHED_TOTAL"]

PUBLISHED_TOTAL = 50.0
"""Requests per second of all operations together."""

_ONE = (
    "accounts.get", "accounts.list", "accounts.trading_status", "balances.get", "balances.list",
    "instruments.future_products", "instruments.futures", "positions.list",
)  # fmt: skip
_TWO = (
    "instruments.active_equities", "instruments.equities", "instruments.futures_option_chain", "market_data.by_type",
    "option_chains.compact", "option_chains.flat", "option_chains.nested", "option_chains.nested_futures",
)  # fmt: skip
_THREE = (
    "instruments.cryptocurrency", "instruments.equity", "instruments.equity_option", "instruments.future",
    "instruments.future_option", "instruments.future_product", "instruments.warrant",
)  # fmt: skip
_TWENTY = (
    "complex_orders.cancel", "complex_orders.dry_run", "complex_orders.get", "complex_orders.list",
    "complex_orders.live", "complex_orders.submit", "orders.cancel", "orders.dry_run", "orders.edit",
    "orders.edit_dry_run", "orders.get", "orders.list", "orders.list_live", "orders.live", "orders.replace",
    "orders.search", "orders.submit",
)  # fmt: skip

PUBLISHED_RATES: Mapping[str, float] = MappingProxyType(
    {name: rate for rate, names in ((1.0, _ONE), (2.0, _TWO), (3.0, _THREE), (20.0, _TWENTY)) for name in names}
)
"""Requests per second of one operation, whichever account or symbol they name."""
