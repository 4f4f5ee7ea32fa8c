"""Rows of futures products and of the products of their options, each of which embeds the other."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import attrs
import msgspec

from ..._generated.converters import (
    FutureOptionProductDetailsWire,
    FutureOptionProductWire,
    FutureProductWire,
    FutureRollWire,
    TradingCutoffWire,
)
from .future_products import FUTURES, FutureProduct

__all__ = [
    "ACTIVE_CONTRACTS",
    "MONTH_CODES",
    "QUARTERS",
    "OptionProduct",
    "option_products",
    "product_row",
]

MONTH_CODES = "FGHJKMNQUVXZ"
"""Letters of the months in symbols."""

QUARTERS: tuple[int, ...] = (3, 6, 9, 12)
"""Months of the listed contracts."""

ACTIVE_CONTRACTS = 7
"""Number of contracts of a product that are traded at a time."""

_CUTOFF_SECONDS = 34_200
_WEEKS = range(1, 6)


@attrs.frozen
class OptionProduct:
    """Options of a product with one root: the regular ones, or those of one week of the month."""

    product: FutureProduct
    week: int | None = None

    @property
    def root(self) -> str:
        """Root of their symbols, without the contract month (``ES2``)."""
        return self.product.code if self.week is None else f"{self.product.code}{self.week}"

    @property
    def expiration_type(self) -> str:
        """Type of their expirations."""
        return "Regular" if self.week is None else "Weekly"

    def row(self) -> FutureOptionProductWire:
        """Return the product as a wire struct, as other rows embed it."""
        return FutureOptionProductWire(
            root_symbol=self.root,
            cash_settled=not self.product.is_physical,
            code=self.root,
            display_factor="0.01",
            exchange=self.product.exchange,
            product_type="Physical",
            expiration_type=self.expiration_type,
            settlement_delay_days=0,
            is_am_settled=self.week is None,
            itm_rule="ITM",
            market_sector=self.product.sector,
            product_subtype=self.expiration_type,
            supported=True,
            legacy_code=self.root,
            clearport_code=self.root,
            clearing_code=self.root,
            clearing_exchange_code="16",
            clearing_price_multiplier="1.0",
            is_rollover=False,
        )

    def details(self) -> FutureOptionProductDetailsWire:
        """Return the product as a wire struct that embeds the futures product."""
        details = msgspec.convert(self.row(), FutureOptionProductDetailsWire, from_attributes=True)
        details.futures_trading_cutoff_times = _cutoffs()
        details.future_product = product_row(self.product)
        return details


@cache
def option_products() -> Mapping[str, OptionProduct]:
    """Return the products of options by root."""
    products = (OptionProduct(product, week) for product in FUTURES.values() for week in (None, *_WEEKS))
    return {product.root: product for product in products}


def _cutoffs() -> list[TradingCutoffWire]:
    """Return the time at which trading of an expiring contract ends."""
    return [TradingCutoffWire(offset_seconds=_CUTOFF_SECONDS, timezone="Market Zone", timing="Default")]


def product_row(
    product: FutureProduct, option_products: list[FutureOptionProductWire] | None = None
) -> FutureProductWire:
    """Return a product as a wire struct; its option products only where the service embeds them."""
    months = tuple(MONTH_CODES[month - 1] for month in QUARTERS)
    settled_in_cash = not product.is_physical
    return FutureProductWire(
        root_symbol=f"/{product.code}",
        code=product.code,
        description=product.name,
        clearing_code=product.code,
        clearing_exchange_code="16",
        clearport_code=product.code,
        legacy_code=product.code,
        exchange=product.exchange,
        legacy_exchange_code=product.exchange,
        product_type="Financial" if settled_in_cash else "Physical",
        listed_months=months,
        active_months=months,
        notional_multiplier=f"{product.multiplier:f}",
        tick_size=f"{product.tick:f}",
        display_factor="0.01",
        streamer_exchange_code=product.streamer_exchange,
        small_notional=product.is_small,
        back_month_first_calendar_symbol=True,
        first_notice=product.is_physical,
        cash_settled=settled_in_cash,
        security_group=product.code,
        market_sector=product.sector,
        supported=True,
        futures_trading_cutoff_times=_cutoffs(),
        option_products=option_products,
        roll=FutureRollWire(
            name=product.sector.lower().replace(" ", "_"),
            active_count=ACTIVE_CONTRACTS,
            cash_settled=settled_in_cash,
            business_days_offset=4,
            first_notice=product.is_physical,
        ),
    )
