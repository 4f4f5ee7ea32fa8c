"""Simulated futures and their option chains, of which one is large."""

from __future__ import annotations

import itertools
import re
from datetime import date, timedelta
from decimal import Decimal
from functools import cached_property

from ..._generated.converters import FutureOptionProductWire, FutureOptionWire
from ..._generated.models import InstrumentType, OptionType
from ..api.wire import dumps, timestamp
from .calendar import local_epoch
from .instrument import FUTURES, FutureProduct, Instrument, day_of

__all__ = ["Expiration", "chain_rows", "future_instrument", "future_option_instrument"]

_MONTH_CODES = "FGHJKMNQUVXZ"
_FUTURE = re.compile(rf"/(?P<code>[A-Z0-9]+)[{_MONTH_CODES}]\d", re.ASCII)
_OPTION = re.compile(
    r"\./(?P<future>[A-Z0-9]+) +[A-Z0-9]+ +(?P<day>\d{6})(?P<kind>[CP])(?P<strike>\d{1,8}(?:\.\d{1,8})?)", re.ASCII
)
_STRIKES = 200


class Expiration:
    """Options of a product that expire on one day."""

    def __init__(self, day: date, product: FutureProduct) -> None:
        self.day = day
        self.product = product

    @cached_property
    def future_code(self) -> str:
        """Product, month and year of the quarterly future that they exercise into (``ESU6``)."""
        month = -(-self.day.month // 3) * 3
        return f"{self.product.code}{_MONTH_CODES[month - 1]}{self.day.year % 10}"

    @cached_property
    def root(self) -> str:
        """Root of their symbols: product, week, month and year (``ES2M6``)."""
        week = (self.day.day - 1) // 7 + 1
        return f"{self.product.code}{week}{_MONTH_CODES[self.day.month - 1]}{self.day.year % 10}"

    @cached_property
    def date_code(self) -> str:
        """Day as it appears in symbols (``260612``)."""
        return f"{self.day:%y%m%d}"


def chain_rows(product: FutureProduct, count: int, today: date) -> list[bytes]:
    """Return the first ``count`` options of a product as JSON.

    Expirations are weekly, with 200 strikes each, calls and puts. Fields shared by all rows, and by the rows of one
    expiration, are rendered once.
    """
    shared = dumps(_shared(product))
    lowest = max(product.strike_step, product.price - product.strike_step * (_STRIKES // 2))
    strikes = [f"{(lowest + product.strike_step * n).normalize():f}" for n in range(_STRIKES)]
    front = Expiration(day=today, product=product).future_code
    rows: list[bytes] = []
    day = today + timedelta(days=(4 - today.weekday()) % 7)
    while len(rows) < count:
        expiration = Expiration(day=day, product=product)
        common = _joined(dumps(_of_expiration(expiration, front, today)), shared)
        options = itertools.product(strikes, OptionType)
        rows += [_joined(dumps(_option(expiration, *option)), common) for option in options]
        day += timedelta(days=7)
    return rows[:count]


def _joined(first: bytes, second: bytes) -> bytes:
    """Return one JSON object from two that share no key."""
    return b"%b,%b" % (first[:-1], second[1:])


def _of_expiration(expiration: Expiration, front: str, today: date) -> FutureOptionWire:
    day = expiration.day
    expires_at = timestamp(local_epoch(day, 16))
    return FutureOptionWire(
        underlying_symbol=f"/{expiration.future_code}",
        expiration_date=day,
        root_symbol=f"/{expiration.product.code}",
        option_root_symbol=expiration.root,
        maturity_date=day.isoformat(),
        stops_trading_at=expires_at,
        expires_at=expires_at,
        days_to_expiration=(day - today).days,
        is_primary_deliverable=expiration.future_code == front,
    )


def _option(expiration: Expiration, strike: str, option_type: OptionType) -> FutureOptionWire:
    root, date_code, kind = expiration.root, expiration.date_code, option_type.value
    return FutureOptionWire(
        symbol=f"./{expiration.future_code} {root} {date_code}{kind}{strike}",
        strike_price=strike,
        option_type=option_type,
        streamer_symbol=f"./{root}{kind}{strike}:XCME",
        exchange_symbol=f"{root} {kind}{strike}",
        security_id=f"{expiration.product.code}{date_code}{kind}{strike}",
    )


def _shared(product: FutureProduct) -> FutureOptionWire:
    return FutureOptionWire(
        product_code=product.code,
        exchange="CME",
        exercise_style="European",
        is_vanilla=True,
        active=True,
        is_closing_only=False,
        is_confirmed=True,
        is_exercisable_weekly=True,
        last_trade_time="0",
        settlement_type="Future",
        display_factor="0.01",
        strike_factor="1.0",
        future_price_ratio="1.0",
        multiplier="1.0",
        notional_value=str(product.tick * product.multiplier),
        underlying_count="1.0",
        security_exchange="2",
        sx_id="0",
        future_option_product=FutureOptionProductWire(
            root_symbol=product.code,
            cash_settled=False,
            code=product.code,
            display_factor="0.01",
            exchange="CME",
            product_type="Physical",
            expiration_type="Weekly",
            settlement_delay_days=0,
            is_am_settled=False,
            itm_rule="ITM",
            market_sector=product.sector,
            product_subtype="Weekly",
            supported=True,
            legacy_code=product.code,
            clearport_code=product.code,
            clearing_code=product.code,
            clearing_exchange_code="XCME",
            clearing_price_multiplier="1.0",
            is_rollover=False,
        ),
    )


def future_instrument(symbol: str) -> Instrument | None:
    """Return the future of ``symbol`` (``/ESZ6``), None for an unknown product."""
    match = _FUTURE.fullmatch(symbol)
    product = FUTURES.get(match["code"]) if match else None
    if product is None:
        return None
    return Instrument(
        symbol=symbol,
        instrument_type=InstrumentType.FUTURE,
        underlying=symbol,
        multiplier=product.multiplier,
        tick=product.tick,
    )


def future_option_instrument(symbol: str) -> Instrument | None:
    """Return the future option of ``symbol`` (``./ESZ6 EW3U6 260918P9100``), None if it is invalid."""
    match = _OPTION.fullmatch(symbol)
    future = future_instrument(f"/{match['future']}") if match else None
    if match is None or future is None:
        return None
    expires = day_of(match["day"])
    if expires is None:
        return None
    return Instrument(
        symbol=symbol,
        instrument_type=InstrumentType.FUTURE_OPTION,
        underlying=future.symbol,
        multiplier=future.multiplier,
        tick=future.tick,
        strike=Decimal(match["strike"]),
        option_type=OptionType(match["kind"]),
        expires=expires,
    )
