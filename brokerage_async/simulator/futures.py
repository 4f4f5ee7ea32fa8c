"""The simulated futures and their option chains: one large chain, and small ones for the other products."""

from __future__ import annotations

import itertools
import re
from datetime import date, timedelta
from decimal import Decimal
from functools import cached_property
from typing import Any

from .calendar import local_epoch
from .instrument import FUTURES, FutureProduct, Instrument
from .wire import dumps, timestamp

__all__ = ["Expiration", "chain_rows", "future_instrument", "future_option_instrument"]

_MONTH_CODES = "FGHJKMNQUVXZ"
_FUTURE = re.compile(r"^/(?P<code>[A-Z0-9]+?)(?P<month>[FGHJKMNQUVXZ])(?P<year>\d)$")
_OPTION = re.compile(r"^\./(?P<future>[A-Z0-9]+) +(?P<root>[A-Z0-9]+) +(?P<day>\d{6})(?P<kind>[CP])(?P<strike>[\d.]+)$")
_STRIKES = 200


class Expiration:
    """The options of a product that expire on one day."""

    def __init__(self, day: date, product: FutureProduct) -> None:
        self.day = day
        self.product = product

    @cached_property
    def future_code(self) -> str:
        """Product, month and year of the quarterly future that they are exercised into (``ESU6``)."""
        month = -(-self.day.month // 3) * 3
        return f"{self.product.code}{_MONTH_CODES[month - 1]}{self.day.year % 10}"

    @cached_property
    def root(self) -> str:
        """Their own root: product, week, month and year (``ES2M6``)."""
        week = (self.day.day - 1) // 7 + 1
        return f"{self.product.code}{week}{_MONTH_CODES[self.day.month - 1]}{self.day.year % 10}"

    @cached_property
    def date_code(self) -> str:
        """The day as symbols carry it (``260612``)."""
        return f"{self.day:%y%m%d}"


def chain_rows(product: FutureProduct, count: int, today: date) -> list[bytes]:
    """The first ``count`` options of a product as JSON: weekly expirations, 200 strikes each, calls and puts.

    What all of them have in common, and what those of one expiration have, is worked out once.
    """
    shared = b"," + dumps(_shared_fields(product))[1:]
    lowest = product.price - product.strike_step * (_STRIKES // 2)
    strikes = [f"{(lowest + product.strike_step * n).normalize():f}" for n in range(_STRIKES)]
    front = Expiration(day=today, product=product).future_code
    rows: list[bytes] = []
    day = today + timedelta(days=(4 - today.weekday()) % 7)
    while len(rows) < count:
        expiration = Expiration(day=day, product=product)
        common = _expiration_fields(expiration, front, today)
        options = itertools.product(strikes, "CP")
        rows += [dumps(common | _option_fields(expiration, *option))[:-1] + shared for option in options]
        day += timedelta(days=7)
    return rows[:count]


def _expiration_fields(expiration: Expiration, front: str, today: date) -> dict[str, Any]:
    day = expiration.day
    expires_at = timestamp(local_epoch(day, 16))
    return {
        "symbol": "",
        "underlying-symbol": f"/{expiration.future_code}",
        "expiration-date": day.isoformat(),
        "root-symbol": f"/{expiration.product.code}",
        "option-root-symbol": expiration.root,
        "maturity-date": day.isoformat(),
        "stops-trading-at": expires_at,
        "expires-at": expires_at,
        "days-to-expiration": (day - today).days,
        "is-primary-deliverable": expiration.future_code == front,
    }


def _option_fields(expiration: Expiration, strike: str, option_type: str) -> dict[str, str]:
    root, date_code = expiration.root, expiration.date_code
    return {
        "symbol": f"./{expiration.future_code} {root} {date_code}{option_type}{strike}",
        "strike-price": strike,
        "option-type": option_type,
        "streamer-symbol": f"./{root}{option_type}{strike}:XCME",
        "exchange-symbol": f"{root} {option_type}{strike}",
        "security-id": f"{expiration.product.code}{date_code}{option_type}{strike}",
    }


def _shared_fields(product: FutureProduct) -> dict[str, Any]:
    return {
        "product-code": product.code,
        "exchange": "CME",
        "exercise-style": "European",
        "is-vanilla": True,
        "active": True,
        "is-closing-only": False,
        "is-confirmed": True,
        "is-exercisable-weekly": True,
        "last-trade-time": "0",
        "settlement-type": "Future",
        "display-factor": "0.01",
        "strike-factor": "1.0",
        "future-price-ratio": "1.0",
        "multiplier": "1.0",
        "notional-value": str(product.tick * product.multiplier),
        "underlying-count": "1.0",
        "security-exchange": "2",
        "sx-id": "0",
        "future-option-product": {
            "root-symbol": product.code,
            "cash-settled": False,
            "code": product.code,
            "display-factor": "0.01",
            "exchange": "CME",
            "product-type": "Physical",
            "expiration-type": "Weekly",
            "settlement-delay-days": 0,
            "is-am-settled": False,
            "itm-rule": "ITM",
            "market-sector": product.sector,
            "product-subtype": "Weekly",
            "supported": True,
        },
    }


def future_instrument(symbol: str) -> Instrument | None:
    """The future of ``symbol`` (``/ESZ6``), None when there is no such product."""
    match = _FUTURE.match(symbol)
    product = FUTURES.get(match["code"]) if match else None
    if product is None:
        return None
    return Instrument(
        symbol=symbol,
        instrument_type="Future",
        underlying=symbol,
        multiplier=product.multiplier,
        tick=product.tick,
    )


def future_option_instrument(symbol: str) -> Instrument | None:
    """The future option of ``symbol`` (``./ESZ6 EW3U6 260918P9100``), None when it is none."""
    match = _OPTION.match(symbol)
    future = future_instrument(f"/{match['future']}") if match else None
    if match is None or future is None:
        return None
    day = match["day"]
    try:
        expires = date(2000 + int(day[:2]), int(day[2:4]), int(day[4:]))
    except ValueError:
        return None
    return Instrument(
        symbol=symbol,
        instrument_type="Future Option",
        underlying=future.symbol,
        multiplier=future.multiplier,
        tick=future.tick,
        strike=Decimal(match["strike"]),
        option_type=match["kind"],
        expires=expires,
    )
