"""Options on futures: chains of every product, one of them large.

A chain has weekly expirations with 200 strikes each. The options of a quarter month's third week are the regular ones.
Their root is the product's code. The roots of the others end in the week of the month (``ES2``).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from datetime import date, timedelta
from decimal import Decimal
from functools import cached_property
from typing import Any, NamedTuple

import msgspec

from ..._generated.converters import (
    FutureOptionWire,
    FuturesOptionChainWire,
    FuturesOptionExpirationWire,
    NestedFuturesOptionChainWire,
    OptionStrikeWire,
    TickSizeWire,
)
from ..._generated.models import InstrumentType, OptionType
from ..api.wire import dumps, timestamp
from .calendar import expiration_day, local_epoch
from .futures import EXPIRATION_HOUR, MONTH_CODES, Contract, OptionProduct, contract_after, contracts
from .instrument import FutureProduct, Instrument, RowTable, day_of, product_of

_OPTION = re.compile(
    rf"\.(?P<future>/[A-Z0-9]+[{MONTH_CODES}]\d) +[A-Z0-9]+ +"
    r"(?P<day>\d{6})(?P<kind>[CP])(?P<strike>\d{1,8}(?:\.\d{1,8})?)",
    re.ASCII,
)
_STRIKES = 200
_HOUR = 16.0


class Expiration:
    """Options of a product that expire on one day."""

    def __init__(self, day: date, product: FutureProduct) -> None:
        self.day = day
        self.product = product

    @cached_property
    def contract(self) -> Contract:
        """Quarterly future that they exercise into."""
        return contract_after(self.product, self.day)

    @cached_property
    def is_regular(self) -> bool:
        """Whether they expire together with their future."""
        return self.contract.expires == self.day

    @cached_property
    def option_product(self) -> OptionProduct:
        """Product of these options, with their root."""
        return OptionProduct(self.product, None if self.is_regular else (self.day.day - 1) // 7 + 1)

    @cached_property
    def option_contract(self) -> str:
        """Root, month and last digit of the year, as in symbols (``ES2M6``)."""
        return f"{self.option_product.root}{MONTH_CODES[self.day.month - 1]}{self.day.year % 10}"

    @cached_property
    def streamer_contract(self) -> str:
        """Root, month and year in two digits, as in streamer symbols (``ES2M26``)."""
        return f"{self.option_product.root}{MONTH_CODES[self.day.month - 1]}{self.day.year % 100:02d}"

    @cached_property
    def date_code(self) -> str:
        """Day as it appears in symbols (``260612``)."""
        return f"{self.day:%y%m%d}"

    @property
    def hour(self) -> float:
        """Hour of expiration, in New York."""
        return EXPIRATION_HOUR if self.is_regular else _HOUR

    @cached_property
    def expires_at(self) -> Any:
        """Time of expiration, as sent."""
        return timestamp(local_epoch(self.day, self.hour))

    @cached_property
    def symbol_start(self) -> str:
        """Symbols of the options, up to their type and strike."""
        return f".{self.contract.symbol} {self.option_contract} {self.date_code}"


class ListedOption(NamedTuple):
    """One option of a chain; ``code`` is its type and strike, as in symbols."""

    expiration: Expiration
    strike: str
    option_type: OptionType
    code: str

    @property
    def symbol(self) -> str:
        return self.expiration.symbol_start + self.code

    @property
    def streamer_symbol(self) -> str:
        """Symbol on the market-data stream."""
        return f"./{self.expiration.streamer_contract}{self.code}:{self.expiration.product.streamer_exchange}"

    @property
    def security_id(self) -> str:
        return f"{self.expiration.product.code}{self.expiration.date_code}{self.code}"


class FutureOptionChain:
    """First ``count`` options of a product, by expiration, strike and type."""

    def __init__(self, product: FutureProduct, count: int, today: date) -> None:
        self.product = product
        self._today = today
        number = -(-count // (_STRIKES * len(OptionType)))
        first = today + timedelta(days=(4 - today.weekday()) % 7)
        days = (expiration_day(first + timedelta(days=7 * week)) for week in range(number + 1))
        self.expirations: list[Expiration] = [Expiration(day, product) for day in days if day >= today][:number]
        lowest = max(product.strike_step, product.price - product.strike_step * (_STRIKES // 2))
        strikes = [f"{(lowest + product.strike_step * n).normalize():f}" for n in range(_STRIKES)]
        codes = [(strike, kind, f"{kind.value}{strike}") for strike in strikes for kind in OptionType]
        listed = (ListedOption(one, *parts) for one in self.expirations for parts in codes)
        self._options = list(itertools.islice(listed, count))

    def symbol_of(self, streamer_contract: str, code: str) -> str | None:
        """Return the symbol of an option by the parts of its streamer symbol (``ES2M26``, ``C6000``)."""
        found = (one for one in self.expirations if one.streamer_contract == streamer_contract)
        return next((one.symbol_start + code for one in found), None)

    @cached_property
    def table(self) -> RowTable[ListedOption]:
        """Rows of the options. Fields shared within one expiration are rendered once."""
        common = {one: dumps(self._of_expiration(one)) for one in self.expirations}

        def rendered(option: ListedOption) -> msgspec.Raw:
            own = FutureOptionWire(
                symbol=option.symbol,
                strike_price=option.strike,
                option_type=option.option_type,
                streamer_symbol=option.streamer_symbol,
                exchange_symbol=f"{option.expiration.option_contract} {option.code}",
                security_id=option.security_id,
            )
            return msgspec.Raw(_joined(dumps(own), common[option.expiration]))

        return RowTable(self._options, lambda option: option.symbol, rendered)

    def _of_expiration(self, expiration: Expiration) -> FutureOptionWire:
        day, expires_at = expiration.day, expiration.expires_at
        return FutureOptionWire(
            underlying_symbol=expiration.contract.symbol,
            expiration_date=day,
            option_root_symbol=expiration.option_product.root,
            maturity_date=day.isoformat(),
            stops_trading_at=expires_at,
            expires_at=expires_at,
            days_to_expiration=(day - self._today).days,
            is_primary_deliverable=expiration.contract == contract_after(self.product, self._today),
            future_option_product=expiration.option_product.row(),
            root_symbol=f"/{self.product.code}",
            product_code=self.product.code,
            exchange=self.product.exchange,
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
            notional_value=_notional(self.product),
            underlying_count="1.0",
            security_exchange="2",
            sx_id="0",
        )

    @cached_property
    def nested(self) -> bytes:
        """Nested chain: the futures, then expirations with their strikes."""
        today = self._today
        front = contract_after(self.product, today)
        root = f"/{self.product.code}"
        chain = FuturesOptionChainWire(
            underlying_symbol=root,
            root_symbol=root,
            exercise_style="European",
            expirations=[
                self._nested(expiration, list(options))
                for expiration, options in itertools.groupby(self._options, lambda option: option.expiration)
            ],
        )
        futures = [one.chain_row(today, front) for one in contracts(self.product, today) if one.expires >= today]
        return dumps(NestedFuturesOptionChainWire(futures=futures, option_chains=[chain]))

    def _nested(self, expiration: Expiration, options: Sequence[ListedOption]) -> FuturesOptionExpirationWire:
        expires_at = expiration.expires_at
        return FuturesOptionExpirationWire(
            underlying_symbol=expiration.contract.symbol,
            root_symbol=f"/{self.product.code}",
            option_root_symbol=expiration.option_product.root,
            option_contract_symbol=expiration.option_contract,
            asset=expiration.option_product.root,
            expiration_date=expiration.day,
            days_to_expiration=(expiration.day - self._today).days,
            expiration_type=expiration.option_product.expiration_type,
            settlement_type="AM" if expiration.is_regular else "PM",
            notional_value=_notional(self.product),
            display_factor="0.01",
            strike_factor="1.0",
            stops_trading_at=expires_at,
            expires_at=expires_at,
            tick_sizes=[TickSizeWire(value=f"{self.product.option_tick:f}")],
            strikes=[
                OptionStrikeWire(
                    strike_price=call.strike,
                    call=call.symbol,
                    put=put.symbol,
                    call_streamer_symbol=call.streamer_symbol,
                    put_streamer_symbol=put.streamer_symbol,
                )
                for call, put in zip(options[::2], options[1::2], strict=False)  # the last call may have no put
            ],
        )


def _joined(first: bytes, second: bytes) -> bytes:
    """Return one JSON object from two that share no key."""
    return b"%b,%b" % (first[:-1], second[1:])


def _notional(product: FutureProduct) -> str:
    return f"{product.tick * product.multiplier:f}"


def future_option_instrument(symbol: str) -> Instrument | None:
    """Return the future option of ``symbol`` (``./ESZ6 EW3U6 260918P9100``), None if it is invalid."""
    match = _OPTION.fullmatch(symbol)
    product = product_of(match["future"]) if match else None
    expires = day_of(match["day"]) if match else None
    if match is None or product is None or expires is None or not Decimal(match["strike"]):
        return None
    expiration = Expiration(expires, product)
    return Instrument(
        symbol=symbol,
        instrument_type=InstrumentType.FUTURE_OPTION,
        underlying=match["future"],
        multiplier=product.multiplier,
        tick=product.option_tick,
        strike=Decimal(match["strike"]),
        option_type=OptionType(match["kind"]),
        expires=expires,
        expiration_hour=expiration.hour,
    )
