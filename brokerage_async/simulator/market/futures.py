"""Futures products, their listed quarterly contracts, and the chains of their options, as definitions and rows.

A chain has weekly expirations with 200 strikes each, one product's a large number of them. The options of a quarter
month's third week are the regular ones. Their root is the product's code. The roots of the others end in the week of
the month (``ES2``).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from decimal import Decimal
from functools import cache, cached_property
from typing import Any, NamedTuple

import attrs
import msgspec

from ..._generated import converters as wires
from ..._generated.models import InstrumentType, OptionType
from ..api.wire import dumps, like, same, timestamp
from ..keyed_random import key_of
from .calendar import expiration_day, local_epoch, monthly_expiration
from .instrument import FUTURES, FutureProduct, Instrument, RowTable, day_of, product_of

MONTH_CODES = "FGHJKMNQUVXZ"
"""Letters of the months in symbols."""

QUARTERS: tuple[int, ...] = (3, 6, 9, 12)
"""Months of the listed contracts."""

ACTIVE_CONTRACTS = 7
"""Number of contracts of a product that are traded at a time."""

_CUTOFFS = [wires.TradingCutoffWire(offset_seconds=34_200, timezone="Market Zone", timing="Default")]
_WEEKS = range(1, 6)


@attrs.frozen
class OptionProduct:
    """Options of a product with one root: the regular ones, or the ones for one week of the month."""

    product: FutureProduct
    week: int | None = None

    @property
    def root(self) -> str:
        """Root of their symbols, without the contract month (``ES2``)."""
        return self.product.code if self.week is None else f"{self.product.code}{self.week}"

    @property
    def expiration_type(self) -> str:
        return "Regular" if self.week is None else "Weekly"

    def row(self) -> wires.FutureOptionProductWire:
        """Return the product as a wire struct, as other rows embed it."""
        return wires.FutureOptionProductWire(
            cash_settled=not self.product.is_physical,
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
            **same(self.root, "root_symbol", "code", "legacy_code", "clearport_code", "clearing_code"),
            clearing_exchange_code="16",
            clearing_price_multiplier="1.0",
            is_rollover=False,
        )

    def details(self) -> wires.FutureOptionProductDetailsWire:
        return like(
            wires.FutureOptionProductDetailsWire,
            self.row(),
            futures_trading_cutoff_times=_CUTOFFS,
            future_product=product_row(self.product),
        )


@cache
def option_products() -> Mapping[str, OptionProduct]:
    products = (OptionProduct(product, week) for product in FUTURES.values() for week in (None, *_WEEKS))
    return {product.root: product for product in products}


def product_row(
    product: FutureProduct, option_products: list[wires.FutureOptionProductWire] | None = None
) -> wires.FutureProductWire:
    """Return a product as a wire struct. Its option products only where the service embeds them."""
    months = tuple(MONTH_CODES[month - 1] for month in QUARTERS)
    settled_in_cash = not product.is_physical
    return wires.FutureProductWire(
        root_symbol=f"/{product.code}",
        description=product.name,
        **same(product.code, "code", "clearing_code", "clearport_code", "legacy_code", "security_group"),
        clearing_exchange_code="16",
        **same(product.exchange, "exchange", "legacy_exchange_code"),
        product_type="Financial" if settled_in_cash else "Physical",
        **same(months, "listed_months", "active_months"),
        notional_multiplier=f"{product.multiplier:f}",
        tick_size=f"{product.tick:f}",
        display_factor="0.01",
        streamer_exchange_code=product.streamer_exchange,
        small_notional=product.is_small,
        back_month_first_calendar_symbol=True,
        first_notice=product.is_physical,
        cash_settled=settled_in_cash,
        market_sector=product.sector,
        supported=True,
        futures_trading_cutoff_times=_CUTOFFS,
        option_products=option_products,
        roll=wires.FutureRollWire(
            name=product.sector.lower().replace(" ", "_"),
            active_count=ACTIVE_CONTRACTS,
            cash_settled=settled_in_cash,
            business_days_offset=4,
            first_notice=product.is_physical,
        ),
    )


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
        return f"/{self.code}"

    @property
    def streamer_symbol(self) -> str:
        """Symbol on the market-data stream (``/ESU26:XCME``)."""
        code = f"{self.product.code}{MONTH_CODES[self.month - 1]}{self.year % 100:02d}"
        return f"/{code}:{self.product.streamer_exchange}"

    @property
    def expires(self) -> date:
        return monthly_expiration(self.year, self.month)

    @property
    def expires_at(self) -> float:
        """Time of the last trade, in epoch seconds."""
        return local_epoch(self.expires, EXPIRATION_HOUR)

    @property
    def security_id(self) -> str:
        """Identifier at the exchange, in digits."""
        return f"{key_of(self.streamer_symbol) % 10**8:08d}"

    def following(self, quarters: int = 1) -> Contract:
        years, month = divmod(self.month - 1 + 3 * quarters, 12)
        return Contract(product=self.product, year=self.year + years, month=month + 1)

    def instrument(self) -> Instrument:
        return Instrument(
            symbol=self.symbol,
            instrument_type=InstrumentType.FUTURE,
            underlying=self.symbol,
            multiplier=self.product.multiplier,
            tick=self.product.tick,
            expires=self.expires,
            expiration_hour=EXPIRATION_HOUR,
        )

    def row(self, today: date, front: Contract) -> wires.FutureWire:
        """Return the contract as a wire struct of ``today``; ``front`` is the next one to expire."""
        product = self.product
        return like(
            wires.FutureWire,
            self,
            product_code=product.code,
            contract_size="1.0",
            tick_size=f"{product.tick:f}",
            notional_multiplier=f"{product.multiplier:f}",
            **same("0.0", "main_fraction", "sub_fraction"),
            display_factor="0.01",
            **same(self.expires, "last_trade_date", "expiration_date"),
            closing_only_date=self.expires - timedelta(days=1),
            first_notice_date=self.expires - timedelta(days=20) if product.is_physical else None,
            active=self.expires >= today,
            active_month=self == front,
            next_active_month=self == front.following(),
            is_closing_only=False,
            **same(timestamp(self.expires_at), "stops_trading_at", "expires_at"),
            product_group=f"{product.exchange}_{product.code}",
            exchange=product.exchange,
            roll_target_symbol=self.following().symbol,
            exchange_symbol=self.code,
            streamer_exchange_code=product.streamer_exchange,
            back_month_first_calendar_symbol=True,
            is_tradeable=self.expires >= today,
            future_etf_equivalent=wires.FutureEtfEquivalentWire(symbol="SPY", share_quantity=500)
            if product.code == "ES"
            else None,
            future_product=product_row(product),
            tick_sizes=[wires.TickSizeWire(value=f"{product.tick:f}")],
            option_tick_sizes=[wires.TickSizeWire(value=f"{product.option_tick:f}")],
            spread_tick_sizes=[wires.TickSizeWire(value=f"{product.tick:f}", symbol=self.following().symbol)],
        )


def contract_after(product: FutureProduct, day: date) -> Contract:
    """Return the first quarterly contract of a product that has not expired before ``day``."""
    year, month = day.year, next(month for month in QUARTERS if month >= day.month)
    contract = Contract(product=product, year=year, month=month)
    return contract if contract.expires >= day else contract.following()


def contracts(product: FutureProduct, today: date) -> Iterator[Contract]:
    """Return the listed contracts of a product: the last expired one, then those that are traded."""
    front = contract_after(product, today)
    return map(front.following, range(-1, ACTIVE_CONTRACTS))


def future_instrument(symbol: str, today: date) -> Instrument | None:
    """Return the future of ``symbol`` (``/ESZ6``), expired for a year at most. None for an unknown product."""
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


_OPTION = re.compile(
    rf"\.(?P<future>/[A-Z0-9]+[{MONTH_CODES}]\d) +[A-Z0-9]+ +"
    r"(?P<day>\d{6})(?P<kind>[CP])(?P<strike>\d{1,8}(?:\.\d{1,8})?)",
    re.ASCII,
)
_STRIKES = 200
_HOUR = 16.0


class Expiration:
    """Options of a product that expire on one day, and exercise into a quarterly ``contract``.

    They are regular if they expire together with it. ``option_contract`` and ``streamer_contract`` are the root and the
    month in symbols (``ES2M6``) and in streamer symbols (``ES2M26``), ``symbol_start`` is all up to type and strike.
    """

    def __init__(self, day: date, product: FutureProduct) -> None:
        self.day = day
        self.product = product
        self.contract: Contract = contract_after(product, day)
        self.is_regular: bool = self.contract.expires == day
        self.option_product: OptionProduct = OptionProduct(product, None if self.is_regular else (day.day - 1) // 7 + 1)
        month = f"{self.option_product.root}{MONTH_CODES[day.month - 1]}"
        self.option_contract: str = f"{month}{day.year % 10}"
        self.streamer_contract: str = f"{month}{day.year % 100:02d}"
        self.date_code: str = f"{day:%y%m%d}"
        self.hour: float = EXPIRATION_HOUR if self.is_regular else _HOUR
        self.symbol_start: str = f".{self.contract.symbol} {self.option_contract} {self.date_code}"

    @property
    def expires_at(self) -> Any:
        return timestamp(local_epoch(self.day, self.hour))


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
            code = f"{option.expiration.option_contract} {option.code}"
            own = like(wires.FutureOptionWire, option, strike_price=option.strike, exchange_symbol=code)
            # One JSON object from two that share no key.
            return msgspec.Raw(b"%b,%b" % (dumps(own)[:-1], common[option.expiration][1:]))

        return RowTable(self._options, lambda option: option.symbol, rendered)

    def _of_expiration(self, expiration: Expiration) -> wires.FutureOptionWire:
        day = expiration.day
        return wires.FutureOptionWire(
            underlying_symbol=expiration.contract.symbol,
            expiration_date=day,
            option_root_symbol=expiration.option_product.root,
            maturity_date=day.isoformat(),
            **same(expiration.expires_at, "stops_trading_at", "expires_at"),
            days_to_expiration=(day - self._today).days,
            is_primary_deliverable=expiration.contract == contract_after(self.product, self._today),
            future_option_product=expiration.option_product.row(),
            root_symbol=f"/{self.product.code}",
            product_code=self.product.code,
            exchange=self.product.exchange,
            exercise_style="European",
            **same(True, "is_vanilla", "active", "is_confirmed", "is_exercisable_weekly"),
            is_closing_only=False,
            last_trade_time="0",
            settlement_type="Future",
            display_factor="0.01",
            **same("1.0", "strike_factor", "future_price_ratio", "multiplier", "underlying_count"),
            notional_value=f"{self.product.tick * self.product.multiplier:f}",
            security_exchange="2",
            sx_id="0",
        )

    @cached_property
    def nested(self) -> bytes:
        """Nested chain: the futures, then expirations with their strikes."""
        today, root = self._today, f"/{self.product.code}"
        front = contract_after(self.product, today)
        expirations = []
        for expiration, group in itertools.groupby(self._options, lambda option: option.expiration):
            options = list(group)
            row = like(
                wires.FuturesOptionExpirationWire,
                self._of_expiration(expiration),
                option_contract_symbol=expiration.option_contract,
                asset=expiration.option_product.root,
                expiration_type=expiration.option_product.expiration_type,
                settlement_type="AM" if expiration.is_regular else "PM",
                tick_sizes=[wires.TickSizeWire(value=f"{self.product.option_tick:f}")],
                strikes=[
                    wires.OptionStrikeWire(
                        strike_price=call.strike,
                        call=call.symbol,
                        put=put.symbol,
                        call_streamer_symbol=call.streamer_symbol,
                        put_streamer_symbol=put.streamer_symbol,
                    )
                    for call, put in zip(options[::2], options[1::2], strict=False)  # the last call may have no put
                ],
            )
            expirations.append(row)
        chain = wires.FuturesOptionChainWire(
            underlying_symbol=root, root_symbol=root, exercise_style="European", expirations=expirations
        )
        futures = [
            like(wires.ChainFutureWire, one.row(today, front), root_symbol=root, days_to_expiration=left)
            for one in contracts(self.product, today)
            if (left := (one.expires - today).days) >= 0
        ]
        return dumps(wires.NestedFuturesOptionChainWire(futures=futures, option_chains=[chain]))


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
