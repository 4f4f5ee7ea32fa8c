"""Listed futures: quarterly contracts of every product, as definitions, rows and tradable instruments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta

import attrs

from ..._generated.converters import (
    ChainFutureWire,
    FutureEtfEquivalentWire,
    FutureWire,
    TickSizeWire,
)
from ..._generated.models import InstrumentType
from ..api.wire import timestamp
from ..keyed_random import key_of
from .calendar import local_epoch, monthly_expiration
from .future_product_rows import ACTIVE_CONTRACTS, MONTH_CODES, QUARTERS, product_row
from .future_products import FUTURES, FutureProduct
from .instrument import Instrument

__all__ = ["EXPIRATION_HOUR", "Contract", "contract_after", "contracts", "future_instrument"]

_FUTURE = re.compile(rf"/(?P<code>[A-Z0-9]+)(?P<month>[{MONTH_CODES}])(?P<year>\d)", re.ASCII)
_YEAR = timedelta(days=366)
EXPIRATION_HOUR = 9.5
"""Hour of the last trade, in New York."""


@attrs.frozen(kw_only=True)
class Contract:
    """Future of one product and month."""

    product: FutureProduct
    year: int
    month: int

    @property
    def code(self) -> str:
        """Product, month and last digit of the year (``ESU6``)."""
        return f"{self.product.code}{MONTH_CODES[self.month - 1]}{self.year % 10}"

    @property
    def symbol(self) -> str:
        """Symbol with its slash (``/ESU6``)."""
        return f"/{self.code}"

    @property
    def streamer_symbol(self) -> str:
        """Symbol on the market-data stream (``/ESU26:XCME``)."""
        code = f"{self.product.code}{MONTH_CODES[self.month - 1]}{self.year % 100:02d}"
        return f"/{code}:{self.product.streamer_exchange}"

    @property
    def expires(self) -> date:
        """Last day of trading."""
        return monthly_expiration(self.year, self.month)

    @property
    def expires_at(self) -> float:
        """Time of the last trade, in epoch seconds."""
        return local_epoch(self.expires, EXPIRATION_HOUR)

    @property
    def security_id(self) -> str:
        """Identifier at the exchange, in digits."""
        return f"{key_of(self.streamer_symbol) % 10**8:08d}"

    def following(self) -> Contract:
        """Return the contract of the next quarter."""
        year, month = (self.year, self.month + 3) if self.month < 12 else (self.year + 1, 3)
        return Contract(product=self.product, year=year, month=month)

    def instrument(self) -> Instrument:
        """Return the tradable instrument."""
        return Instrument(
            symbol=self.symbol,
            instrument_type=InstrumentType.FUTURE,
            underlying=self.symbol,
            multiplier=self.product.multiplier,
            tick=self.product.tick,
            expires=self.expires,
            expiration_hour=EXPIRATION_HOUR,
        )

    def row(self, today: date, front: Contract) -> FutureWire:
        """Return the contract as a wire struct of ``today``; ``front`` is the next one to expire."""
        product, expires_at = self.product, timestamp(self.expires_at)
        return FutureWire(
            symbol=self.symbol,
            product_code=product.code,
            contract_size="1.0",
            tick_size=f"{product.tick:f}",
            notional_multiplier=f"{product.multiplier:f}",
            main_fraction="0.0",
            sub_fraction="0.0",
            display_factor="0.01",
            last_trade_date=self.expires,
            expiration_date=self.expires,
            closing_only_date=self.expires - timedelta(days=1),
            first_notice_date=self.expires - timedelta(days=20) if product.is_physical else None,
            active=self.expires >= today,
            active_month=self == front,
            next_active_month=self == front.following(),
            is_closing_only=False,
            stops_trading_at=expires_at,
            expires_at=expires_at,
            product_group=f"{product.exchange}_{product.code}",
            exchange=product.exchange,
            roll_target_symbol=self.following().symbol,
            exchange_symbol=self.code,
            security_id=self.security_id,
            streamer_exchange_code=product.streamer_exchange,
            streamer_symbol=self.streamer_symbol,
            back_month_first_calendar_symbol=True,
            is_tradeable=self.expires >= today,
            future_etf_equivalent=FutureEtfEquivalentWire(symbol="SPY", share_quantity=500)
            if product.code == "ES"
            else None,
            future_product=product_row(product),
            tick_sizes=[TickSizeWire(value=f"{product.tick:f}")],
            option_tick_sizes=[TickSizeWire(value="0.01")],
            spread_tick_sizes=[TickSizeWire(value=f"{product.tick:f}", symbol=self.following().symbol)],
        )

    def chain_row(self, today: date, front: Contract) -> ChainFutureWire:
        """Return the contract as it appears in a nested option chain."""
        expires_at = timestamp(self.expires_at)
        return ChainFutureWire(
            symbol=self.symbol,
            root_symbol=f"/{self.product.code}",
            streamer_symbol=self.streamer_symbol,
            expiration_date=self.expires,
            days_to_expiration=(self.expires - today).days,
            active_month=self == front,
            next_active_month=self == front.following(),
            stops_trading_at=expires_at,
            expires_at=expires_at,
        )


def contract_after(product: FutureProduct, day: date) -> Contract:
    """Return the first quarterly contract of a product that has not expired before ``day``."""
    year, month = day.year, next(month for month in QUARTERS if month >= day.month)
    contract = Contract(product=product, year=year, month=month)
    return contract if contract.expires >= day else contract.following()


def contracts(product: FutureProduct, today: date) -> Iterator[Contract]:
    """Yield the listed contracts of a product: the last expired one, then those that are traded."""
    front = contract_after(product, today)
    year, month = (front.year, front.month - 3) if front.month > 3 else (front.year - 1, 12)
    contract = Contract(product=product, year=year, month=month)
    for _ in range(1 + ACTIVE_CONTRACTS):
        yield contract
        contract = contract.following()


def future_instrument(symbol: str, today: date) -> Instrument | None:
    """Return the future of ``symbol`` (``/ESZ6``), None for an unknown product.

    The digit of its year means the first one that expires no earlier than a year before ``today``.
    """
    match = _FUTURE.fullmatch(symbol)
    product = FUTURES.get(match["code"]) if match else None
    if match is None or product is None:
        return None
    month = MONTH_CODES.index(match["month"]) + 1
    oldest = today - _YEAR
    year = oldest.year + (int(match["year"]) - oldest.year) % 10
    contract = Contract(product=product, year=year, month=month)
    if contract.expires < oldest:
        contract = attrs.evolve(contract, year=year + 10)
    return contract.instrument()
