"""Values of market events, from the simulated prices."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from functools import lru_cache
from operator import itemgetter
from typing import Any

import attrs

from ..._generated.models import InstrumentType
from ..market.calendar import YEARS
from ..market.catalogue import Catalogue
from ..market.instrument import Instrument
from ..market.option_pricing import RATE
from ..market.prices import Prices
from ..market.random_walk import Bar

MAX_CANDLES = 2_000
"""Candles of one history; older ones are cut off."""
MAX_SESSIONS = 520
"""Trading days that a history reaches back, some two years."""
_MAX_FOUND = 50_000
_NOW = 1e-6
"""Seconds after a time that still count as now."""

_NAN = "NaN"
_PRICES = ("open", "high", "low", "close", "volume", "VWAP")
_OPTION = re.compile(r"\.(?P<root>[A-Z0-9/.]{1,6})(?P<day>[0-9]{6})(?P<kind>[CP])(?P<strike>[0-9]+(?:\.[0-9]+)?)")
_FUTURE = re.compile(r"(?P<root>/[A-Z0-9]+[FGHJKMNQUVXZ])[0-9](?P<year>[0-9]):[A-Z]+")
_FUTURE_OPTION = re.compile(r"\./(?P<contract>[A-Z0-9]+[0-9]{2})(?P<code>[CP][0-9.]+):[A-Z]+")
_CANDLE = re.compile(r"(?P<symbol>.+)\{=(?P<count>[0-9]*)(?P<unit>mo|[a-z])[^}]*\}")
_OF_OPTIONS = ("Greeks", "TheoPrice")
_SECONDS = {"s": 1, "m": 60, "h": 3600}
_DAYS = ("d", "w", "mo")
_EPOCH_ORDINAL = 719163


class MarketRows:
    """Rows of market events by streamer symbol, with the names of the protocol. The simulator has no `Series`."""

    def __init__(self, catalogue: Catalogue, prices: Prices) -> None:
        self._catalogue = catalogue
        self._prices = prices
        self._found = lru_cache(_MAX_FOUND)(self._find)

    def instrument(self, symbol: str) -> Instrument | None:
        """Return the instrument of a streamer symbol, of its candles too."""
        return self._found(symbol)

    def rows(
        self, kind: str, symbol: str, from_time: int | None, now: float, *, has_history: bool = True
    ) -> Iterator[dict[str, Any]]:
        """Yield the rows that a new subscription gets: a snapshot of candles, else the present state.

        Without a history the snapshot is a single row that begins, removes and ends.
        """
        if kind == "Candle" and from_time is not None and not has_history:
            for candle in self._candles(symbol, None, now):
                yield candle | {"eventFlags": 14} | dict.fromkeys(_PRICES, _NAN)
        elif kind == "Candle":
            yield from self._candles(symbol, from_time, now)
        elif (row := self.row(kind, symbol, now)) is not None:
            yield row

    def row(self, kind: str, symbol: str, now: float) -> dict[str, Any] | None:
        """Return the row of the present state, None where nothing is sent."""
        if kind == "Candle":
            return next(self._candles(symbol, None, now), None)
        instrument = None if "{" in symbol else self.instrument(symbol)
        if instrument is None or (kind in _OF_OPTIONS and not instrument.is_option):
            return None
        values = self._values(kind, instrument, now)
        return None if values is None else {"eventType": kind, "eventSymbol": symbol, "eventTime": 0} | values

    def _find(self, symbol: str) -> Instrument | None:
        find = self._catalogue.instrument
        if (candle := _CANDLE.fullmatch(symbol)) is not None:
            symbol = candle["symbol"]
        if (option := _OPTION.fullmatch(symbol)) is not None:
            thousandths = int(Decimal(option["strike"]) * 1000)
            occ = f"{option['root']:6}{option['day']}{option['kind']}{thousandths:08d}"
            return find(InstrumentType.EQUITY_OPTION, occ)
        if (option := _FUTURE_OPTION.fullmatch(symbol)) is not None:
            return self._catalogue.future_option(option["contract"], option["code"])
        if (future := _FUTURE.fullmatch(symbol)) is not None:
            return find(InstrumentType.FUTURE, f"{future['root']}{future['year']}")
        if ":" in symbol:
            return find(InstrumentType.CRYPTOCURRENCY, symbol.partition(":")[0])
        equity = self._catalogue.equity(symbol)
        return equity.instrument() if equity is not None and equity.is_index else find(InstrumentType.EQUITY, symbol)

    def _values(self, kind: str, instrument: Instrument, now: float) -> dict[str, Any] | None:
        """Return the values of an event, None for a type that is not served."""
        prices, underlying, time = self._prices, instrument.underlying, round(now * 1000)
        if kind == "Quote":
            quote = prices.market(instrument, now)
            equity = self._catalogue.equity(instrument.symbol)
            is_index = equity is not None and equity.is_index  # not traded, so its quote has no sizes
            return {
                "sequence": 0, "timeNanoPart": 0, "bidTime": 0, "bidExchangeCode": "Q",
                "bidPrice": float(quote.bid), "bidSize": _NAN if is_index else float(quote.bid_size or 100),
                "askTime": 0, "askExchangeCode": "Q", "askPrice": float(quote.ask),
                "askSize": _NAN if is_index else float(quote.ask_size or 200),
            }  # fmt: skip
        session = prices.session(underlying, now)
        day, is_extended = session.day.toordinal() - _EPOCH_ORDINAL, not session.open <= now < session.close
        index: dict[str, Any] = {"eventFlags": 0, "index": int(now * 1000) << 22, "time": time, "sequence": 0}
        match kind:
            case "Trade" | "TradeETH":
                last, (size, volume) = prices.price(instrument, now), prices.traded(instrument, now)
                return {
                    "time": time, "timeNanoPart": 0, "sequence": 0, "exchangeCode": "Q", "price": float(last),
                    "change": 0.0, "size": size, "dayId": day, "dayVolume": volume,
                    "dayTurnover": float(last * volume), "tickDirection": "ZERO_UP",
                    "extendedTradingHours": is_extended,
                }  # fmt: skip
            case "Summary":
                previous = prices.session(underlying, session.start - 1)
                today = prices.bar(instrument, session, session.start, min(now + _NOW, session.close_ext))
                before = prices.bar(instrument, previous, previous.start, previous.close_ext)
                close = float(prices.price(instrument, session.close - _NOW)) if now >= session.close else _NAN
                return {
                    "dayId": day, "dayOpenPrice": float(today.open) if today else _NAN,
                    "dayHighPrice": float(today.high) if today else _NAN,
                    "dayLowPrice": float(today.low) if today else _NAN,
                    "dayClosePrice": close, "dayClosePriceType": "REGULAR",
                    "prevDayId": previous.day.toordinal() - _EPOCH_ORDINAL,
                    "prevDayClosePrice": float(prices.price(instrument, previous.close - _NOW)),
                    "prevDayClosePriceType": "FINAL", "prevDayVolume": before.volume if before else 0,
                    "openInterest": 0,
                }  # fmt: skip
            case "Profile":
                price = float(prices.price(instrument, now))
                return {
                    "description": instrument.symbol, "shortSaleRestriction": "INACTIVE", "tradingStatus": "ACTIVE",
                    "statusReason": None, "haltStartTime": 0, "haltEndTime": 0, "highLimitPrice": _NAN,
                    "lowLimitPrice": _NAN, "high52WeekPrice": price * 1.2, "low52WeekPrice": price * 0.8,
                    "beta": 1.0, "earningsPerShare": _NAN, "dividendFrequency": _NAN, "exDividendAmount": _NAN,
                    "exDividendDayId": 0, "shares": 1_000_000.0, "freeFloat": _NAN,
                }  # fmt: skip
            case "Greeks":
                return index | attrs.asdict(prices.theory(instrument, now))
            case "TimeAndSale":
                quote = prices.market(instrument, now)
                return index | {
                    "timeNanoPart": 0, "exchangeCode": "Q", "price": float(quote.last),
                    "size": prices.traded(instrument, now)[0], "bidPrice": float(quote.bid),
                    "askPrice": float(quote.ask), "exchangeSaleConditions": "@", "tradeThroughExempt": "",
                    "aggressorSide": "BUY", "spreadLeg": False, "extendedTradingHours": is_extended,
                    "validTick": True, "type": "NEW", "buyer": None, "seller": None,
                }  # fmt: skip
            case "TheoPrice":
                theory = prices.theory(instrument, now)
                return index | {
                    "price": theory.price,
                    "underlyingPrice": float(prices.underlying_price(underlying, now)),
                    "delta": theory.delta, "gamma": theory.gamma,
                    "dividend": prices.surface(underlying).dividend or 0.0, "interest": RATE,
                }  # fmt: skip
            case "Underlying":
                surface = prices.surface(underlying)
                month, front, back = (surface.volatility(1, 1, days / 365) for days in (30, 7, 60))
                return index | {
                    "volatility": month, "frontVolatility": front, "backVolatility": back, "callVolume": 1000.0,
                    "putVolume": 800.0, "putCallRatio": 0.8, "optionVolume": 1800,
                }  # fmt: skip
        return None

    def _candles(self, symbol: str, from_time: int | None, now: float) -> Iterator[dict[str, Any]]:
        """Yield candles, newest first. Without a start only the present one, else a snapshot with its marker.

        They bear the symbol in its normal form: a count of 1 is left out.
        """
        match, instrument = _CANDLE.fullmatch(symbol), self.instrument(symbol)
        if match is None or instrument is None or match["unit"] not in (*_SECONDS, *_DAYS):
            return
        count = int(match["count"] or 1) or 1
        name = symbol.replace("{=1", "{=") if match["count"] == "1" else symbol
        parts = self._parts(instrument, match["unit"], count, now, is_regular="tho=true" in symbol)
        number, start, is_cut = 0, now, True
        for start, group in itertools.groupby(parts, key=itemgetter(0)):
            if number and from_time is not None and start * 1000 < from_time:
                is_cut = False
                break
            if number == (1 if from_time is None else MAX_CANDLES):
                break
            bar = Bar.merged(reversed([part for _, part in group if part is not None]))
            if bar is not None:
                yield _candle(name, start, 0 if from_time is None or number else 4, bar)
                number += 1
        if from_time is not None:
            yield _candle(name, min(start, from_time / 1000), 16 if is_cut else 10, None)

    def _parts(
        self, instrument: Instrument, unit: str, count: int, now: float, *, is_regular: bool
    ) -> Iterator[tuple[float, Bar | None]]:
        """Yield the starts of periods, newest first, each with its trades of one session."""
        at = now
        for _ in range(MAX_SESSIONS):
            session = self._prices.session(instrument.underlying, at)
            if session.day.year <= YEARS[0]:
                return
            at = session.start - 1
            start, end = (session.open, session.close) if is_regular else (session.start, session.close_ext)
            end = min(end, now + _NOW)
            if end <= start:
                continue
            if unit in _DAYS:
                yield _first_day(session.day, unit, count), self._prices.bar(instrument, session, start, end)
                continue
            step = _SECONDS[unit] * count
            period = (end - _NOW) // step * step
            while period + step > start:
                low, high = max(start, period), min(end, period + step)
                yield period, self._prices.bar(instrument, session, low, high)
                period -= step


def _first_day(day: date, unit: str, count: int) -> float:
    """Return when the period of a session begins: at midnight (UTC) of its day, a Monday or the first of a month."""
    number = day.toordinal()
    match unit:
        case "d":
            number -= number % count
        case "w":
            number -= (number - 1) % (7 * count)
        case _:
            year, month = divmod((day.year * 12 + day.month - 1) // count * count, 12)
            number = date(year, month + 1, 1).toordinal()
    return (number - _EPOCH_ORDINAL) * 86400.0


def _candle(symbol: str, start: float, flags: int, bar: Bar | None) -> dict[str, Any]:
    """Return a candle, without a bar one that marks the end of a snapshot."""
    prices: list[Any] = [_NAN] * 4
    if bar is not None:
        prices = [float(each) for each in (bar.open, bar.high, bar.low, bar.close)]
    volume = 0 if bar is None else bar.volume
    values: dict[str, Any] = {
        "eventType": "Candle", "eventSymbol": symbol, "eventTime": 0, "eventFlags": flags,
        "index": int(start * 1000) << 22, "time": round(start * 1000), "sequence": 0, "count": bar.count if bar else 0,
        "open": prices[0], "high": prices[1], "low": prices[2], "close": prices[3], "volume": float(volume),
        "VWAP": _NAN if bar is None else sum(prices) / 4, "bidVolume": float(volume // 2),
        "askVolume": float(volume - volume // 2), "impVolatility": 0.2, "openInterest": _NAN,
    }  # fmt: skip
    return values if bar is not None else values | dict.fromkeys(_PRICES, _NAN)
