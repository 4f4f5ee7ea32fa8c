"""Market-data stream (DXLink): the server's side of one connection, and its events from the simulated prices."""

from __future__ import annotations

import itertools
import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import date
from decimal import Decimal
from functools import lru_cache, partial
from operator import itemgetter
from typing import Any

import attrs
import msgspec

from ..._generated.models import InstrumentType
from ..._generated.stream_caps import CHANGES_PER_MINUTE, SESSIONS, SUBSCRIPTIONS, SUBSCRIPTIONS_BY_TYPE
from ...protocol.streams.events import MARKET_EVENTS
from ..faults import StreamFaults
from ..market.calendar import YEARS
from ..market.catalogue import Catalogue
from ..market.instrument import Instrument
from ..market.option_pricing import RATE
from ..market.prices import Prices
from ..market.quotes import Bar
from ..state import State
from ..trading.accounts import Customer
from .session import SILENCE, Session

_VERSION = "1.0-1.2.1-simulator"
_NAN = "NaN"
_MINUTE = 60.0
_AGGREGATION = 0.1

CONTRACTS = ("AUTO", "TICKER", "STREAM", "HISTORY")

EVENT_TYPES = {*MARKET_EVENTS, "Order", "SpreadOrder", "AnalyticOrder", "OptionSale", "Configuration", "Message"}
"""Event types of the protocol: those of the schema, and others that it lacks. The simulator has no rows of some."""


@attrs.define
class _Channel:
    number: int
    contract: str = "AUTO"
    aggregation: float = _AGGREGATION
    is_compact: bool = True
    fields: dict[str, list[str]] = attrs.field(factory=dict)
    announced: set[str] = attrs.field(factory=set)
    subscriptions: dict[tuple[str, str], str | None] = attrs.field(factory=dict)
    underlyings: dict[str | None, dict[tuple[str, str], bool]] = attrs.field(factory=dict)
    next_push: float = 0.0
    merged: dict[tuple[str, str], None] | None = None


class DxLinkSession(Session):
    """Session that pushes market events on the channels that the client opens.

    ``sessions_of`` returns how many of these sessions a customer has. ``follow`` lets the events of an underlying be
    pushed from a time on, whenever its price changes.
    """

    def __init__(
        self,
        state: State,
        rows: MarketRows,
        faults: StreamFaults,
        now: float,
        *,
        sessions_of: Callable[[Customer], int],
        follow: Callable[[str, float], None],
    ) -> None:
        super().__init__(faults, now)
        self._has, self._later = state.settings.has, state.event_queue.at
        self._sessions_of, self._follow = sessions_of, follow
        self._tokens = state.quote_tokens
        self._rows = rows
        self._channels: dict[int, _Channel] = {}
        self._is_set_up = False
        self._changes: deque[tuple[float, int]] = deque()
        self._keepalive = SILENCE
        self.customer: Customer | None = None

    def follows(self, underlying: str) -> bool:
        """Return whether there are subscriptions to events of an underlying or its options."""
        return any(channel.underlyings.get(underlying) for channel in self._channels.values())

    def prices_changed(self, changed: Mapping[str, bool], now: float) -> None:
        """Push the events of underlyings whose prices changed, those of their options where it is True."""
        for channel in list(self._channels.values()):
            keys = {
                key: None
                for underlying, with_options in changed.items()
                for key, is_option in channel.underlyings.get(underlying, {}).items()
                if with_options or not is_option
            }
            if not keys:
                continue
            if channel.merged is not None:
                channel.merged |= keys
            elif now < channel.next_push and channel.contract != "STREAM" and self._has("dxlink_aggregation"):
                channel.merged = keys
                self._later(channel.next_push, partial(self._push_merged, channel))
            else:
                self._push(channel, keys, now)

    def _push_merged(self, channel: _Channel, now: float) -> None:
        keys, channel.merged = channel.merged or {}, None
        if channel.number in self._channels:
            self._push(channel, [key for key in keys if key in channel.subscriptions], now)

    def _push(self, channel: _Channel, keys: Iterable[tuple[str, str]], now: float) -> None:
        rows: dict[str, list[dict[str, Any]]] = {}
        for kind, symbol in keys:
            row = self._rows.row(kind, symbol, now)
            if row is not None and row.get("size") != 0:  # an option that did not trade with its underlying
                rows.setdefault(kind, []).append(row)
        channel.next_push = now + channel.aggregation
        self._feed(channel, rows)

    def _process(self, message: dict[str, Any] | None, now: float) -> None:
        kind = None if message is None else message.get("type")
        channel = 0 if message is None else message.get("channel")
        if message is None or not isinstance(kind, str) or not isinstance(channel, int):
            self._error(0, "INVALID_MESSAGE", "not a message of the protocol")
        elif kind == "SETUP" and not str(message.get("version", "")).startswith(("0.1", "1.0")):
            self._error(0, "UNSUPPORTED_PROTOCOL", "version must be 0.1 or 1.0")
        elif kind == "SETUP":
            timeout = message.get("keepaliveTimeout")
            if isinstance(timeout, int | float) and 1 <= timeout < self._keepalive:
                self._keepalive = float(timeout)
            if not self._is_set_up and self._has("dxlink_keepalive"):
                self._later(now + self._keepalive / 2, self._keep_alive)
            self._is_set_up = True
            silence = round(SILENCE)
            self._say("SETUP", version=_VERSION, keepaliveTimeout=silence, acceptKeepaliveTimeout=silence)
            self._say("AUTH_STATE", state="UNAUTHORIZED")
        elif kind in ("KEEPALIVE", "ERROR"):
            self._say("KEEPALIVE")
        elif not self._is_set_up and self._has("dxlink_order_of_setup"):
            self._error(0, "BAD_ACTION", "SETUP must come first")
        elif kind == "AUTH":
            token = str(message.get("token", ""))
            customer = None if self._faults.refuses() else self._tokens.identify(token, now)
            is_new = self.customer is None and self._has("dxlink_sessions_cap")
            if customer is None:
                self._say("AUTH_STATE", state="UNAUTHORIZED")
                if self._has("dxlink_refused_token_closes"):
                    self.close()
            elif is_new and self._sessions_of(customer) >= SESSIONS:
                self._error(0, "BAD_ACTION", f"simulated: a login has at most {SESSIONS} sessions at a time")
                self.close()
            else:
                self.customer = customer
                self._say("AUTH_STATE", state="AUTHORIZED", userId=str(customer.number))
        elif self.customer is None:
            self._error(0, "UNAUTHORIZED", "authorize first")
        elif kind == "CHANNEL_REQUEST":
            given = message.get("parameters")
            parameters = {"contract": "AUTO", **(given if isinstance(given, dict) else {}), "subFormat": "LIST"}
            is_strict = self._has("dxlink_unknown_is_an_error")
            if channel % 2 == 0 or channel in self._channels:
                self._error(0, "BAD_ACTION", "channel must be odd and new")
            elif is_strict and (service := message.get("service", "FEED")) != "FEED":
                self._error(channel, "BAD_ACTION", f"unsupported service {service}")
            elif is_strict and parameters["contract"] not in CONTRACTS:
                self._error(channel, "INVALID_MESSAGE", f"contract must be one of {', '.join(CONTRACTS)}")
            else:
                self._channels[channel] = _Channel(channel, str(parameters["contract"]))
                self._say("CHANNEL_OPENED", channel, service="FEED", parameters=parameters)
        elif (found := self._channels.get(channel)) is None:
            self._error(channel, "BAD_ACTION", "unknown channel")
        elif kind == "CHANNEL_CANCEL":
            del self._channels[channel]
            self._say("CHANNEL_CLOSED", channel)
        elif kind == "FEED_SETUP":
            found.is_compact = message.get("acceptDataFormat", "FULL") == "COMPACT"
            period = message.get("acceptAggregationPeriod")
            if isinstance(period, int | float) and 0 <= period <= 86_400 and self._has("dxlink_aggregation"):
                found.aggregation = period
            with suppress(msgspec.ValidationError):
                found.fields |= msgspec.convert(message.get("acceptEventFields"), dict[str, list[str]])
            self._announce(found)
        elif kind == "FEED_SUBSCRIPTION":
            if message.get("reset"):
                found.subscriptions.clear()
                found.underlyings.clear()
            for each in _entries(message, "remove"):
                key = each["type"], each["symbol"]
                found.underlyings.get(found.subscriptions.pop(key, None), {}).pop(key, None)
            rows: dict[str, list[dict[str, Any]]] = {}
            has_history = found.contract == "HISTORY" or not self._has("candle_history_contract")
            for each in self._accepted(found, message, now):
                event, symbol, from_time = each["type"], each["symbol"], each.get("fromTime")
                instrument = self._rows.instrument(symbol)
                found.subscriptions[event, symbol] = underlying = None if instrument is None else instrument.underlying
                if instrument is not None and underlying is not None:
                    found.underlyings.setdefault(underlying, {})[event, symbol] = instrument.is_option
                    self._follow(underlying, now)
                snapshot = self._rows.rows(event, symbol, from_time, now, has_history=has_history)
                rows.setdefault(event, []).extend(snapshot)
            for event, some in rows.items():
                if some:  # a client without wishes gets all columns
                    found.fields.setdefault(event, list(some[0]))
            if new := [event for event in rows if event not in found.announced]:
                found.announced.update(new)
                self._announce(found, new)
            self._feed(found, rows)
        else:
            self._error(channel, "INVALID_MESSAGE", f"unknown message {kind}")

    def _keep_alive(self, now: float) -> None:
        """Send something before the client's timeout."""
        if not self.is_closed:
            self._say("KEEPALIVE")
            self._later(now + self._keepalive / 2, self._keep_alive)

    def _announce(self, channel: _Channel, kinds: Iterable[str] = ()) -> None:
        form = "COMPACT" if channel.is_compact else "FULL"
        fields = {kind: channel.fields[kind] for kind in kinds if kind in channel.fields}
        more = {"eventFields": fields} if fields else {}
        self._say("FEED_CONFIG", channel.number, aggregationPeriod=channel.aggregation, dataFormat=form, **more)

    def _accepted(self, channel: _Channel, message: dict[str, Any], now: float) -> Iterable[dict[str, Any]]:
        """Yield the entries of ``add`` within the caps. The others are refused with one error each reason."""
        refused: dict[str, None] = {}
        added = _entries(message, "add")
        counts = Counter(kind for each in self._channels.values() for kind, _ in each.subscriptions)
        while self._changes and now >= self._changes[0][0] + _MINUTE:
            self._changes.popleft()
        left = CHANGES_PER_MINUTE - sum(count for _, count in self._changes)
        self._changes.append((now, min(left, len(added) + len(_entries(message, "remove")))))
        for each in added:
            kind = each["type"]
            is_new = (kind, each["symbol"]) not in channel.subscriptions
            limit = SUBSCRIPTIONS_BY_TYPE.get(kind, SUBSCRIPTIONS)
            if kind not in EVENT_TYPES and self._has("dxlink_unknown_is_an_error"):
                refused[f"unknown event type {kind}"] = None
            elif not self._has("dxlink_subscriptions_cap"):
                yield each
            elif is_new and (counts.total() >= SUBSCRIPTIONS or counts[kind] >= limit):
                refused[f"subscription size of {kind} is too big: at most {limit}"] = None
            elif left <= 0:
                refused[f"too many changes: at most {CHANGES_PER_MINUTE} a minute"] = None
            else:
                left -= 1
                counts[kind] += is_new
                yield each
        for reason in refused:
            self._error(channel.number, "BAD_ACTION", reason)

    def _feed(self, channel: _Channel, rows: dict[str, list[dict[str, Any]]]) -> None:
        for kind, some in rows.items():
            if not some:
                continue
            data: list[Any] = some
            if channel.is_compact:
                fields = channel.fields.setdefault(kind, list(some[0]))
                names = ["VWAP" if name == "vwap" else name for name in fields]
                if not some[0].keys() >= set(names):
                    some = [dict.fromkeys(names, _NAN) | row for row in some]
                data = [kind, [row[name] for row in some for name in names]]
            elif kind in channel.fields and self._has("dxlink_full_fields"):
                named = {"eventType", "eventSymbol", *channel.fields[kind]}
                data = [{name: value for name, value in row.items() if name in named} for row in some]
            self.push({"type": "FEED_DATA", "channel": channel.number, "data": data}, kind=kind)

    def _timed_out(self) -> None:
        self._error(0, "TIMEOUT", "no message in time")

    def _error(self, channel: int, error: str, reason: str) -> None:
        self._say("ERROR", channel, error=error, message=reason)

    def _say(self, kind: str, channel: int = 0, **values: Any) -> None:
        self.push({"type": kind, "channel": channel, **values})


def _entries(message: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """Return the entries of a subscription message that name an event type and a symbol."""
    found = message.get(key)
    return [
        each
        for each in (found if isinstance(found, list) else ())
        if isinstance(each, dict) and isinstance(each.get("type"), str) and isinstance(each.get("symbol"), str)
        if isinstance(start := each.get("fromTime"), int | float | None) and abs(start or 0) < 1e15
    ]


MAX_CANDLES = 2_000
"""Candles of one history; older ones are cut off."""
MAX_SESSIONS = 520
"""Trading days that a history reaches back, some two years."""
_MAX_FOUND = 50_000
_NOW = 1e-6
"""Seconds after a time that still count as now."""

_PRICES = ("open", "high", "low", "close", "volume", "VWAP")
_OPTION = re.compile(r"\.(?P<root>[A-Z0-9/.]{1,6})(?P<day>[0-9]{6})(?P<kind>[CP])(?P<strike>[0-9]+(?:\.[0-9]+)?)")
_FUTURE = re.compile(r"(?P<root>/[A-Z0-9]+[FGHJKMNQUVXZ])[0-9](?P<year>[0-9]):[A-Z]+")
_FUTURE_OPTION = re.compile(r"\./(?P<contract>[A-Z0-9]+[0-9]{2})(?P<code>[CP][0-9.]+):[A-Z]+")
_CANDLE = re.compile(r"(?P<symbol>.+)\{=(?P<count>[0-9]{0,6})(?P<unit>mo|[a-z])[^}]*\}")
_OF_OPTIONS = ("Greeks", "TheoPrice")
_SECONDS = {"s": 1, "m": 60, "h": 3600}
_DAYS = ("d", "w", "mo")
_EPOCH_ORDINAL = 719163


class MarketRows:
    """Rows of market events by streamer symbol, with the names of the protocol. The simulator has no `Series`."""

    def __init__(self, catalogue: Catalogue, prices: Prices) -> None:
        self._catalogue = catalogue
        self._prices = prices
        self.instrument: Callable[[str], Instrument | None] = lru_cache(_MAX_FOUND)(self._find)

    def rows(
        self, kind: str, symbol: str, from_time: int | None, now: float, *, has_history: bool = True
    ) -> Iterator[dict[str, Any]]:
        """Yield the rows of a new subscription: a snapshot of candles, its end alone without a history, or a state."""
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
        """Return the instrument of a streamer symbol, of its candles too."""
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
        """Yield candles, newest first. Without a start only the present one, else a snapshot with its marker."""
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
            number = date(year or 1, month + 1, 1).toordinal()
    return (number - _EPOCH_ORDINAL) * 86400.0


def _candle(symbol: str, start: float, flags: int, bar: Bar | None) -> dict[str, Any]:
    """Return a candle, without a bar one that marks the end of a snapshot."""
    figures: dict[str, Any] = dict.fromkeys(_PRICES, _NAN)
    volume = 0 if bar is None else bar.volume
    if bar is not None:
        prices = [float(each) for each in (bar.open, bar.high, bar.low, bar.close)]
        figures = dict(zip(_PRICES, (*prices, float(volume), sum(prices) / 4), strict=True))
    return {
        "eventType": "Candle", "eventSymbol": symbol, "eventTime": 0, "eventFlags": flags,
        "index": int(start * 1000) << 22, "time": round(start * 1000), "sequence": 0, "count": bar.count if bar else 0,
        **figures, "bidVolume": float(volume // 2), "askVolume": float(volume - volume // 2), "impVolatility": 0.2,
        "openInterest": _NAN,
    }  # fmt: skip
