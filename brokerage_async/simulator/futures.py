"""The simulated futures and their option chains: one large chain, and small ones for the other products."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import attrs

from .calendar import local_epoch
from .instrument import FUTURES, FutureProduct, Instrument
from .wire import dumps, timestamp

__all__ = ["ChainOption", "chain", "chain_body_rows", "future_instrument", "future_option_instrument"]

_MONTH_CODES = "FGHJKMNQUVXZ"
_FUTURE = re.compile(r"^/(?P<code>[A-Z0-9]+?)(?P<month>[FGHJKMNQUVXZ])(?P<year>\d)$")
_OPTION = re.compile(r"^\./(?P<future>[A-Z0-9]+) +(?P<root>[A-Z0-9]+) +(?P<day>\d{6})(?P<kind>[CP])(?P<strike>[\d.]+)$")
_STRIKES = 200


@attrs.frozen(kw_only=True)
class ChainOption:
    """One option of a chain."""

    symbol: str
    future: str
    option_root: str
    expires: date
    option_type: str
    strike: Decimal


def _quarterly(expires: date) -> str:
    """Month and year code of the quarterly future that is in front on ``expires``."""
    month = -(-expires.month // 3) * 3
    return f"{_MONTH_CODES[month - 1]}{expires.year % 10}"


def chain(product: FutureProduct, count: int, today: date) -> Iterator[ChainOption]:
    """The first ``count`` options of a product: weekly expirations, 200 strikes each, calls and puts."""
    made = 0
    expires = today + timedelta(days=(4 - today.weekday()) % 7)
    lowest = product.price - product.strike_step * (_STRIKES // 2)
    while True:
        week = (expires.day - 1) // 7 + 1
        option_root = f"{product.code}{week}{_MONTH_CODES[expires.month - 1]}{expires.year % 10}"
        future = f"/{product.code}{_quarterly(expires)}"
        for position in range(_STRIKES):
            strike = lowest + product.strike_step * position
            for option_type in "CP":
                if made == count:
                    return
                made += 1
                symbol = f".{future} {option_root} {expires:%y%m%d}{option_type}{strike.normalize():f}"
                yield ChainOption(
                    symbol=symbol,
                    future=future,
                    option_root=option_root,
                    expires=expires,
                    option_type=option_type,
                    strike=strike,
                )
        expires += timedelta(days=7)


def chain_body_rows(product: FutureProduct, count: int, today: date) -> list[bytes]:
    """The rows of a chain as JSON; what all of them share is written once."""
    shared = b"," + dumps(_shared_fields(product))[1:]
    return [dumps(_own_fields(option, product, today))[:-1] + shared for option in chain(product, count, today)]


def _own_fields(option: ChainOption, product: FutureProduct, today: date) -> dict[str, Any]:
    expires_at = timestamp(local_epoch(option.expires, 16))
    strike = f"{option.strike.normalize():f}"
    return {
        "symbol": option.symbol,
        "underlying-symbol": option.future,
        "expiration-date": option.expires.isoformat(),
        "root-symbol": option.future[: -len(_quarterly(option.expires))],
        "option-root-symbol": option.option_root,
        "strike-price": strike,
        "option-type": option.option_type,
        "maturity-date": option.expires.isoformat(),
        "stops-trading-at": expires_at,
        "expires-at": expires_at,
        "days-to-expiration": (option.expires - today).days,
        "streamer-symbol": f"./{option.option_root}{option.option_type}{strike}:XCME",
        "exchange-symbol": f"{option.option_root} {option.option_type}{strike}",
        "security-id": f"{product.code}{option.expires:%y%m%d}{option.option_type}{strike}",
        "is-primary-deliverable": option.future == f"/{product.code}{_quarterly(today)}",
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
