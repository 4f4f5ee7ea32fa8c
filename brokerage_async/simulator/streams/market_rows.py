"""Values of market events, from the simulated prices."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import attrs

from ..._generated.models import InstrumentType
from ..market.calendar import local_date
from ..market.catalogue import Catalogue
from ..market.instrument import Instrument
from ..market.option_pricing import RATE
from ..market.prices import PRICE_INTERVAL, Prices

MAX_CANDLES = 2_000
"""Candles of one history; older ones are cut off."""

_NAN = "NaN"
_PRICES = ("open", "high", "low", "close", "volume", "VWAP")
_OPTION = re.compile(r"\.(?P<root>[A-Z0-9/.]{1,6})(?P<day>[0-9]{6})(?P<kind>[CP])(?P<strike>[0-9]+(?:\.[0-9]+)?)")
_FUTURE = re.compile(r"(?P<root>/[A-Z0-9]+[FGHJKMNQUVXZ])[0-9](?P<year>[0-9]):[A-Z]+")
_FUTURE_OPTION = re.compile(r"\./(?P<contract>[A-Z0-9]+[0-9]{2})(?P<code>[CP][0-9.]+):[A-Z]+")
_CANDLE = re.compile(r"(?P<symbol>.+)\{=(?P<count>[0-9]*)(?P<unit>mo|[a-z])[^}]*\}")
_OF_OPTIONS = ("Greeks", "TheoPrice")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800, "mo": 2592000}
_EPOCH_ORDINAL = 719163


class MarketRows:
    """Rows of market events by streamer symbol, with the names of the protocol. The simulator has no `Series`."""

    def __init__(self, catalogue: Catalogue, prices: Prices) -> None:
        self._catalogue = catalogue
        self._prices = prices

    def underlying(self, streamer_symbol: str) -> str | None:
        """Return the underlying whose price moves the events of a symbol."""
        match = _CANDLE.fullmatch(streamer_symbol)
        instrument = self._instrument(match["symbol"] if match else streamer_symbol)
        return None if instrument is None else instrument.underlying

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
        instrument = self._instrument(symbol)
        if instrument is None or (kind in _OF_OPTIONS and not instrument.is_option):
            return None
        values = self._values(kind, instrument, now)
        return None if values is None else {"eventType": kind, "eventSymbol": symbol, "eventTime": 0} | values

    def _instrument(self, symbol: str) -> Instrument | None:
        find = self._catalogue.instrument
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
        is_index = equity is not None and equity.is_index
        return equity.instrument() if equity is not None and is_index else find(InstrumentType.EQUITY, symbol)

    def _values(self, kind: str, instrument: Instrument, now: float) -> dict[str, Any] | None:
        """Return the values of an event, None for a type that is not served."""
        index: dict[str, Any] = {
            "eventFlags": 0, "index": int(now * 1000) << 22, "time": round(now * 1000), "sequence": 0,
        }  # fmt: skip
        price, day = self._prices.price(instrument, now), local_date(now).toordinal() - _EPOCH_ORDINAL
        match kind:
            case "Quote":
                quote = self._prices.market(instrument, now)
                equity = self._catalogue.equity(instrument.symbol)
                is_index = equity is not None and equity.is_index  # not traded, so its quote has no sizes
                return {
                    "sequence": 0, "timeNanoPart": 0, "bidTime": 0, "bidExchangeCode": "Q",
                    "bidPrice": float(quote.bid), "bidSize": _NAN if is_index else float(quote.bid_size or 100),
                    "askTime": 0, "askExchangeCode": "Q", "askPrice": float(quote.ask),
                    "askSize": _NAN if is_index else float(quote.ask_size or 200),
                }  # fmt: skip
            case "Trade" | "TradeETH":
                return {
                    "time": round(now * 1000), "timeNanoPart": 0, "sequence": 0, "exchangeCode": "Q",
                    "price": float(price), "change": 0.0, "size": 100, "dayId": day, "dayVolume": 10_000,
                    "dayTurnover": float(price * 10_000), "tickDirection": "ZERO_UP", "extendedTradingHours": False,
                }  # fmt: skip
            case "Summary":
                close, last = float(self._prices.price(instrument, now - 86400)), float(price)
                return {
                    "dayId": day, "dayOpenPrice": last, "dayHighPrice": last, "dayLowPrice": last,
                    "dayClosePrice": _NAN, "dayClosePriceType": "REGULAR", "prevDayId": day - 1,
                    "prevDayClosePrice": close, "prevDayClosePriceType": "FINAL", "prevDayVolume": 1_000_000,
                    "openInterest": 0,
                }  # fmt: skip
            case "Profile":
                return {
                    "description": instrument.symbol, "shortSaleRestriction": "INACTIVE", "tradingStatus": "ACTIVE",
                    "statusReason": None, "haltStartTime": 0, "haltEndTime": 0, "highLimitPrice": _NAN,
                    "lowLimitPrice": _NAN, "high52WeekPrice": float(price) * 1.2, "low52WeekPrice": float(price) * 0.8,
                    "beta": 1.0, "earningsPerShare": _NAN, "dividendFrequency": _NAN, "exDividendAmount": _NAN,
                    "exDividendDayId": 0, "shares": 1_000_000.0, "freeFloat": _NAN,
                }  # fmt: skip
            case "Greeks":
                return index | attrs.asdict(self._prices.theory(instrument, now))
            case "TimeAndSale":
                quote = self._prices.market(instrument, now)
                return index | {
                    "timeNanoPart": 0, "exchangeCode": "Q", "price": float(price), "size": 100,
                    "bidPrice": float(quote.bid), "askPrice": float(quote.ask), "exchangeSaleConditions": "@",
                    "tradeThroughExempt": "", "aggressorSide": "BUY", "spreadLeg": False,
                    "extendedTradingHours": False, "validTick": True, "type": "NEW", "buyer": None, "seller": None,
                }  # fmt: skip
            case "TheoPrice":
                theory = self._prices.theory(instrument, now)
                return index | {
                    "price": theory.price,
                    "underlyingPrice": float(self._prices.underlying_price(instrument.underlying, now)),
                    "delta": theory.delta, "gamma": theory.gamma,
                    "dividend": self._prices.surface(instrument.underlying).dividend or 0.0, "interest": RATE,
                }  # fmt: skip
            case "Underlying":
                surface = self._prices.surface(instrument.underlying)
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
        match = _CANDLE.fullmatch(symbol)
        instrument = None if match is None else self._instrument(match["symbol"])
        if match is None or instrument is None or match["unit"] not in _UNITS:
            return
        step = _UNITS[match["unit"]] * int(match["count"] or 1)
        symbol = symbol.replace("{=1", "{=") if match["count"] == "1" else symbol
        start = now // step * step
        count = 1 if from_time is None else 1 + max(0, int((start - from_time / 1000) // step))
        is_cut, count = count > MAX_CANDLES, min(count, MAX_CANDLES)
        for number in range(count):
            flags = 0 if from_time is None or number else 4
            yield self._candle(
                symbol, instrument, start - number * step, min(step, now - start) if not number else step, flags
            )
        if from_time is not None:
            marker = self._candle(symbol, instrument, start - count * step, step, 16 if is_cut else 10)
            yield marker | dict.fromkeys(_PRICES, _NAN)

    def _candle(self, symbol: str, instrument: Instrument, start: float, length: float, flags: int) -> dict[str, Any]:
        points = [start, start + min(PRICE_INTERVAL, length / 2), start + max(0.0, length - 1)]
        prices = [float(self._prices.price(instrument, at)) for at in points]
        return {
            "eventType": "Candle", "eventSymbol": symbol, "eventTime": 0, "eventFlags": flags,
            "index": int(start * 1000) << 22, "time": round(start * 1000), "sequence": 0, "count": 10,
            "open": prices[0], "high": max(prices), "low": min(prices), "close": prices[-1], "volume": 1000.0,
            "VWAP": sum(prices) / 3, "bidVolume": 500.0, "askVolume": 500.0, "impVolatility": 0.2, "openInterest": _NAN,
        }  # fmt: skip
