"""Every instrument of the simulated service, created at first use and rendered once.

Equities, their options and warrants are invented by the thousand from the seed. Futures are listed by the quarter.
A chain of their options has weekly expirations with 200 strikes each, one product's a large number of them. The options
of a quarter month's third week are the regular ones. Their root is the product's code. The roots of the others end in
the week of the month (``ES2``).
"""

from __future__ import annotations

import itertools
import re
import string
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, timedelta
from decimal import Decimal
from functools import cache, cached_property, lru_cache
from typing import Any, NamedTuple

import attrs
import msgspec

from ..._generated import converters as wires
from ..._generated.models import InstrumentCollection, InstrumentType, Lendability, OptionType
from ..api.wire import dumps, like, same, timestamp
from ..keyed_random import KeyedRandom, key_of
from .calendar import expiration_day, local_date, local_epoch, monthly_expiration
from .instrument import (
    EQUITY_TICKS,
    FUTURES,
    LISTED,
    OPTION_TICKS,
    FutureProduct,
    Instrument,
    RowTable,
    Ticks,
    day_of,
    occ_symbol,
    parse_occ,
    product_of,
)

QUANTITY_PLACES = 8
"""Decimal places of a quantity."""

CRYPTOCURRENCIES: Mapping[str, Decimal] = {
    f"{code}/USD": Decimal(price) for line in LISTED["Cryptocurrency"] for code, price, _ in [line.split(maxsplit=2)]
}
"""Price levels of cryptocurrencies by symbol."""

_OPTION_ROOTS = 10
_EXPIRATIONS = 10
_STRIKES = 25
_LENDABILITY = (Lendability.EASY_TO_BORROW, Lendability.LOCATE_REQUIRED, Lendability.PREBORROW)
_MARKETS = ("XNAS", "XNYS", "ARCX")
_CENT = Decimal("0.01")
_DIVIDENDS = 2


def tick_rows(ticks: Ticks) -> list[wires.TickSizeWire]:
    return [wires.TickSizeWire(value=f"{tick:f}", threshold=None if end is None else f"{end:f}") for end, tick in ticks]


@attrs.frozen(kw_only=True)
class EquityDefinition:
    """One share, fund or index."""

    number: int = 0
    symbol: str
    price: Decimal = Decimal(0)
    description: str
    is_etf: bool
    lendability: Lendability
    is_index: bool = False
    halted: bool = False
    closing_only: bool = False

    def instrument(self) -> Instrument:
        return Instrument(
            symbol=self.symbol,
            instrument_type=InstrumentType.EQUITY,
            underlying=self.symbol,
            halted=self.halted,
            closing_only=self.closing_only,
            hard_to_borrow=self.lendability is not Lendability.EASY_TO_BORROW,
            fractional=self.fractional,
        )

    @property
    def instrument_type(self) -> InstrumentType:
        return InstrumentType.INDEX if self.is_index else InstrumentType.EQUITY

    @property
    def fractional(self) -> bool:
        return not self.is_index and self.price < 10_000

    @property
    def optionable(self) -> bool:
        return not self.closing_only and self.price < 10_000

    @property
    def root(self) -> str:
        return self.symbol.replace("/", "")


KNOWN_EQUITIES: Mapping[str, EquityDefinition] = {
    symbol: EquityDefinition(
        number=number,
        symbol=symbol,
        price=Decimal(price),
        description=description,
        is_etf=kind == "fund",
        is_index=kind == "index",
        lendability=_LENDABILITY[0],
        halted=symbol == "HALT",
        closing_only=symbol == "GONE",
    )
    for number, line in enumerate(LISTED["Equity"], start=1)
    for symbol, price, kind, description in [line.split(maxsplit=3)]
}
"""Well-known equities by symbol. They can be traded however short the list is."""


def equity_row(definition: EquityDefinition, opened: float) -> wires.EquityWire:
    """Return an equity as a wire struct. ``opened`` is the start of the simulation (epoch seconds)."""
    is_plain = definition.lendability is Lendability.EASY_TO_BORROW
    return like(
        wires.EquityWire,
        definition,
        id=definition.number,
        instrument_type=InstrumentType.EQUITY,
        cusip=f"{definition.number:09d}",
        short_description=definition.description[:20].strip(),
        listed_market=_MARKETS[definition.number % 3],
        borrow_rate="0.0" if is_plain else "3.25",
        halted_at=timestamp(opened - 3600) if definition.halted else None,
        stops_trading_at=timestamp(opened + 30 * 86400) if definition.closing_only else None,
        market_time_instrument_collection=InstrumentCollection.EQUITY,
        **same(definition.closing_only, "is_closing_only", "is_options_closing_only", "is_illiquid"),
        active=True,
        is_fractional_quantity_eligible=definition.fractional,
        **same(False, "bypass_manual_review", "pre_ipo"),
        **same("USA", "country_of_incorporation", "country_of_taxation"),
        instrument_sub_type="ETF" if definition.is_etf else "Common Stock",
        overnight_trading_permitted=definition.is_etf,
        underlying_product_type="Index" if definition.is_index else "Equity",
        streamer_symbol=definition.symbol,
        tick_sizes=tick_rows(EQUITY_TICKS),
        option_tick_sizes=tick_rows(OPTION_TICKS) if definition.optionable else None,
    )


def quarterly_dividend(equity: EquityDefinition, random: KeyedRandom) -> Decimal:
    """Return the dividend per share of each quarter. Indices and one company in three pay none."""
    key = key_of(equity.symbol)
    if equity.is_index or random.below(3, key, _DIVIDENDS) == 0:
        return Decimal(0)
    return max(_CENT, (equity.price * (10 + random.below(90, key, _DIVIDENDS, 1)) / 10_000).quantize(_CENT))


def monthly_expirations(today: date, count: int) -> list[date]:
    """Return monthly expiration dates: the last past one, then later ones."""
    last = today.year * 12 + today.month - 2
    days = [monthly_expiration(month // 12, month % 12 + 1) for month in range(last, last + count + 1)]
    return days[1:] if days[1] < today else days[:-1]


def options_on(root: EquityDefinition, today: date, strikes: int = _STRIKES) -> Iterator[Instrument]:
    """Yield the options on an equity, including expired ones."""
    step = strike_step(root.price)
    lowest = max(step, (root.price // step - strikes // 2) * step)
    for expires in monthly_expirations(today, _EXPIRATIONS):
        for position in range(strikes):
            strike = lowest + step * position
            for option_type in (OptionType.CALL, OptionType.PUT):
                yield equity_option(root.symbol, expires, option_type, strike, active=position % 50 != 49)


def equity_option(underlying: str, expires: date, option_type: OptionType, strike: Decimal, **more: Any) -> Instrument:
    terms: dict[str, Any] = {
        "symbol": occ_symbol(underlying.replace("/", ""), expires, option_type, strike),
        "instrument_type": InstrumentType.EQUITY_OPTION,
        "underlying": underlying,
        "multiplier": Decimal(100),
        "strike": strike,
        "option_type": option_type,
        "expires": expires,
    }
    return Instrument(**terms | more)


def strike_step(price: Decimal) -> Decimal:
    return Decimal(5) if price >= 100 else Decimal(1)


def option_row(definition: Instrument, today: date) -> wires.EquityOptionWire:
    assert definition.expires is not None
    assert definition.strike is not None
    short = f".{definition.underlying}{definition.expires:%y%m%d}{definition.option_type}{definition.strike:f}"
    return like(
        wires.EquityOptionWire,
        definition,
        listed_market="OPRA",
        strike_price=format(definition.strike, ".1f"),
        root_symbol=definition.symbol[:6].strip(),
        underlying_symbol=definition.underlying,
        expiration_date=definition.expires,
        exercise_style="American",
        shares_per_contract=100,
        option_chain_type="Standard" if definition.active else "Non-standard",
        expiration_type="Regular",
        settlement_type="PM",
        **same(timestamp(local_epoch(definition.expires, 16)), "stops_trading_at", "expires_at"),
        market_time_instrument_collection=InstrumentCollection.EQUITY,
        days_to_expiration=(definition.expires - today).days,
        is_closing_only=False,
        streamer_symbol=short,
        old_security_number=f"{key_of(definition.symbol) % 10**8:08d}",
    )


MONTH_CODES = "FGHJKMNQUVXZ"
"""Letters of the months in symbols."""

QUARTERS: tuple[int, ...] = (3, 6, 9, 12)
"""Months of the listed contracts."""

ACTIVE_CONTRACTS = 7
"""Number of contracts of a product that are traded at a time."""

_CUTOFFS = [wires.TradingCutoffWire(offset_seconds=34_200, timezone="Market Zone", timing="Default")]
WEEKS = ("", "1", "2", "3", "4", "5")
"""Ends of the roots of a product's options: the regular ones, and the ones for each week of the month."""


@cache
def option_products() -> Mapping[str, wires.FutureOptionProductWire]:
    """Return the options of each product and week as wire structs, by the root of their symbols (``ES2``)."""
    return {
        root: wires.FutureOptionProductWire(
            cash_settled=not product.is_physical,
            display_factor="0.01",
            exchange=product.exchange,
            product_type="Physical",
            **same("Weekly" if week else "Regular", "expiration_type", "product_subtype"),
            settlement_delay_days=0,
            is_am_settled=not week,
            itm_rule="ITM",
            market_sector=product.sector,
            supported=True,
            **same(root, "root_symbol", "code", "legacy_code", "clearport_code", "clearing_code"),
            clearing_exchange_code="16",
            clearing_price_multiplier="1.0",
            is_rollover=False,
        )
        for product in FUTURES.values()
        for week in WEEKS
        for root in [product.code + week]
    }


def product_details(product: wires.FutureOptionProductWire) -> wires.FutureOptionProductDetailsWire:
    root = product.root_symbol or ""
    return like(
        wires.FutureOptionProductDetailsWire,
        product,
        futures_trading_cutoff_times=_CUTOFFS,
        future_product=product_row(FUTURES[root if root in FUTURES else root[:-1]]),
    )


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
        small_notional=product.name.startswith(("Micro", "Small", "Mini ")),
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
    def security_id(self) -> str:
        """Identifier at the exchange, in digits."""
        return f"{key_of(self.streamer_symbol) % 10**8:08d}"

    def following(self, quarters: int = 1) -> Contract:
        years, month = divmod(self.month - 1 + 3 * quarters, 12)
        return Contract(product=self.product, year=self.year + years, month=month + 1)

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
            **same(timestamp(local_epoch(self.expires, EXPIRATION_HOUR)), "stops_trading_at", "expires_at"),
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
    return Instrument(
        symbol=symbol,
        instrument_type=InstrumentType.FUTURE,
        underlying=symbol,
        multiplier=product.multiplier,
        tick=product.tick,
        expires=contract.expires,
        expiration_hour=EXPIRATION_HOUR,
    )


_OPTION = re.compile(
    rf"\.(?P<future>/[A-Z0-9]+[{MONTH_CODES}]\d) +[A-Z0-9]+ +"
    r"(?P<day>\d{6})(?P<kind>[CP])(?P<strike>\d{1,8}(?:\.\d{1,8})?)",
    re.ASCII,
)
_FUTURE_STRIKES = 200
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
        root = product.code if self.is_regular else f"{product.code}{(day.day - 1) // 7 + 1}"
        self.option_product: wires.FutureOptionProductWire = option_products()[root]
        month = f"{root}{MONTH_CODES[day.month - 1]}"
        self.option_contract: str = f"{month}{day.year % 10}"
        self.streamer_contract: str = f"{month}{day.year % 100:02d}"
        self.date_code: str = f"{day:%y%m%d}"
        self.hour: float = EXPIRATION_HOUR if self.is_regular else _HOUR
        self.symbol_start: str = f".{self.contract.symbol} {self.option_contract} {self.date_code}"


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
        number = -(-count // (_FUTURE_STRIKES * len(OptionType)))
        first = today + timedelta(days=(4 - today.weekday()) % 7)
        days = (expiration_day(first + timedelta(days=7 * week)) for week in range(number + 1))
        self.expirations: list[Expiration] = [Expiration(day, product) for day in days if day >= today][:number]
        lowest = max(product.strike_step, product.price - product.strike_step * (_FUTURE_STRIKES // 2))
        strikes = [f"{(lowest + product.strike_step * n).normalize():f}" for n in range(_FUTURE_STRIKES)]
        codes = [(strike, kind, f"{kind.value}{strike}") for strike in strikes for kind in OptionType]
        listed = (ListedOption(one, *parts) for one in self.expirations for parts in codes)
        self._options = list(itertools.islice(listed, count))

    @cached_property
    def table(self) -> RowTable[ListedOption]:
        """Rows of the options. Fields shared within one expiration are rendered once."""
        common = {one: dumps(self._of_expiration(one)) for one in self.expirations}

        def rendered(option: ListedOption) -> msgspec.Raw:
            code = f"{option.expiration.option_contract} {option.code}"
            own = like(wires.FutureOptionWire, option, strike_price=option.strike, exchange_symbol=code)
            # One JSON object from two that share no key.
            return msgspec.Raw(b"%b,%b" % (dumps(own)[:-1], common[option.expiration][1:]))

        return RowTable(self._options, rendered)

    def _of_expiration(self, expiration: Expiration) -> wires.FutureOptionWire:
        day = expiration.day
        return wires.FutureOptionWire(
            underlying_symbol=expiration.contract.symbol,
            expiration_date=day,
            option_root_symbol=expiration.option_product.root_symbol,
            maturity_date=day.isoformat(),
            **same(timestamp(local_epoch(day, expiration.hour)), "stops_trading_at", "expires_at"),
            days_to_expiration=(day - self._today).days,
            is_primary_deliverable=expiration.contract == contract_after(self.product, self._today),
            future_option_product=expiration.option_product,
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
                asset=expiration.option_product.root_symbol,
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


_SMALL_CHAIN = 400
_KEPT_CHAINS = 32
"""Option chains made on request that stay in memory."""


@attrs.frozen(kw_only=True)
class Sizes:
    """Numbers of rows in the instrument lists."""

    equities: int = 10_000
    equity_options: int = 5_000
    """Of the list of all. Chains of other equities are made when they are requested."""
    chain_rows: int = 20_000
    warrants: int = 200


class Catalogue:
    """Instruments, as rows to be sent and as tradable objects."""

    def __init__(self, sizes: Sizes, random: KeyedRandom, opened: float) -> None:
        self._sizes = sizes
        self._random = random
        self.opened: float = opened
        self.chain: Callable[[str], FutureOptionChain | None] = cache(self._make_futures_chain)
        self.futures: Callable[[date], RowTable[Contract]] = lru_cache(1)(self._make_futures)
        self.is_live: bool = False
        self.listed: dict[tuple[InstrumentType, str], Instrument] = {}
        """Instruments of a live source, the only ones there are if it `is_live`, and their shares and indices."""
        self.listed_equities: dict[str, EquityDefinition] = {}
        self.missing: dict[str, str] = {}
        """Why symbols of a live source are not listed."""
        self._made_chain = lru_cache(_KEPT_CHAINS)(self._make_chain)
        self._found = cache(self._find)

    @property
    def today(self) -> date:
        """Start date of the simulation. Expirations are relative to it."""
        return local_date(self.opened)

    @cached_property
    def equities(self) -> RowTable[EquityDefinition]:
        """The well-known equities, then invented ones."""
        count = self._sizes.equities
        made = list(KNOWN_EQUITIES.values())[:count]
        # AAA, AAB, …: three letters first, then four, then five.
        tickers = ("".join(each) for n in (3, 4, 5) for each in itertools.product(string.ascii_uppercase, repeat=n))
        free = (ticker for ticker in tickers if ticker not in KNOWN_EQUITIES)
        for number, symbol in zip(range(len(made) + 1, count + 1), free, strict=False):
            draw = self._random.bits(key_of(symbol))
            invented = EquityDefinition(
                number=number,
                symbol=symbol,
                price=Decimal(500 + draw % 40_000) / 100,
                description=f"{symbol} Holdings, Inc. - Common Stock",
                is_etf=draw >> 20 & 7 == 0,
                lendability=_LENDABILITY[0 if draw >> 24 & 7 else 1 + (draw >> 27 & 1)],
            )
            made.append(invented)
        return RowTable(made, lambda row: equity_row(row, self.opened))

    @cached_property
    def equity_options(self) -> RowTable[Instrument]:
        """Options on ten roots with ten expirations (one past), at strikes around the price."""
        count, today, roots = self._sizes.equity_options, self.today, self.equities.definitions[:_OPTION_ROOTS]
        needed = -(-count // max(1, len(roots) * _EXPIRATIONS * 2))
        made = (option for root in roots for option in options_on(root, today, max(_STRIKES, needed)))
        return RowTable(list(itertools.islice(made, count)), lambda row: option_row(row, today))

    @cached_property
    def optioned(self) -> tuple[str, ...]:
        """Underlyings of the listed equity options."""
        return tuple(dict.fromkeys(option.underlying for option in self.equity_options.definitions))

    def options_on(self, underlying: str) -> RowTable[Instrument]:
        """Return a table that holds all options on an equity, listed or made now, beside others. Expired ones, too."""
        return self.equity_options if underlying in self.optioned else self._made_chain(underlying)

    def options(self, symbols: Iterable[str]) -> Iterator[tuple[RowTable[Instrument], Instrument]]:
        """Yield the equity options of some symbols that are listed or belong to a chain, each with its table."""
        by_table: dict[RowTable[Instrument], list[str]] = {}
        for symbol in symbols:
            parsed = parse_occ(symbol)
            equity = None if parsed is None else self.equity_of_root(parsed[0])
            table = self.equity_options if equity is None else self.options_on(equity.symbol)
            by_table.setdefault(table, []).append(symbol)
        for table, found in by_table.items():
            yield from ((table, option) for option in table.find(found))

    def equity_of_root(self, root: str) -> EquityDefinition | None:
        slashed = (equity for equity in KNOWN_EQUITIES.values() if equity.root == root)
        return self.equity(root) or next(slashed, None)

    def _make_chain(self, underlying: str) -> RowTable[Instrument]:
        equity, today = self.equity(underlying), self.today
        made = [] if equity is None or not equity.optionable else list(options_on(equity, today))
        return RowTable(made, lambda row: option_row(row, today))

    @cached_property
    def warrants(self) -> RowTable[wires.WarrantWire]:
        """Warrants named after the first equities without a slash, with a W appended."""
        plain = (root for root in self.equities.definitions if "/" not in root.symbol and not root.is_index)
        made = [
            wires.WarrantWire(
                symbol=f"{root.symbol}W",
                instrument_type=InstrumentType.WARRANT,
                cusip=f"{number:08d}W",
                listed_market=_MARKETS[number % 3],
                description=f"{root.symbol} - Warrants",
                is_closing_only=False,
                active=True,
            )
            for number, root in zip(range(1, self._sizes.warrants + 1), plain, strict=False)
        ]
        return RowTable(made, lambda row: row)

    @cached_property
    def cryptocurrencies(self) -> RowTable[wires.CryptocurrencyWire]:
        made = [
            wires.CryptocurrencyWire(
                id=number,
                symbol=f"{code}/USD",
                instrument_type=InstrumentType.CRYPTOCURRENCY,
                short_description=name,
                description=f"{name} to USD",
                is_closing_only=False,
                active=True,
                tick_size="0.01",
                streamer_symbol=f"{code}/USD:CXTALP",
                destination_venue_symbols=[
                    wires.DestinationVenueSymbolWire(
                        id=100 + number,
                        symbol=f"{code}/USD",
                        destination_venue="ZERO_HASH_CLOB",
                        max_quantity_precision=QUANTITY_PLACES,
                        max_price_precision=2,
                        routable=True,
                    )
                ],
            )
            for number, line in enumerate(LISTED["Cryptocurrency"], start=1)
            for code, _, name in [line.split(maxsplit=2)]
        ]
        return RowTable(made, lambda row: row)

    def _make_futures(self, today: date) -> RowTable[Contract]:
        fronts = {code: contract_after(product, today) for code, product in FUTURES.items()}
        listed = [contract for product in FUTURES.values() for contract in contracts(product, today)]
        return RowTable(listed, lambda row: row.row(today, fronts[row.product.code]))

    def _make_futures_chain(self, product_code: str) -> FutureOptionChain | None:
        if product_code not in FUTURES:
            return None
        is_large = product_code == next(iter(FUTURES))
        count = self._sizes.chain_rows if is_large else min(self._sizes.chain_rows, _SMALL_CHAIN)
        return FutureOptionChain(FUTURES[product_code], count, self.today)

    def future_option(self, streamer_contract: str, code: str) -> Instrument | None:
        """Return the option on a future by the parts of its streamer symbol (``ES2M26``, ``C6000``), or None."""
        for product in FUTURES:
            chain = self.chain(product) if streamer_contract.startswith(product) else None
            for each in [] if chain is None else chain.expirations:
                if each.streamer_contract == streamer_contract:
                    return self.instrument(InstrumentType.FUTURE_OPTION, each.symbol_start + code)
        return None

    def instrument(self, instrument_type: InstrumentType, symbol: str) -> Instrument | None:
        return self.listed.get((instrument_type, symbol)) if self.is_live else self._found(instrument_type, symbol)

    def equity(self, symbol: str) -> EquityDefinition | None:
        """Return the equity of a symbol, or None. Well-known ones do not need the whole list."""
        if self.is_live:
            return self.listed_equities.get(symbol)
        return KNOWN_EQUITIES.get(symbol) or self.equities.get(symbol)

    def price_level(self, symbol: str) -> Decimal | None:
        """Return the price around which a listed underlying moves, None for one that is not listed."""
        if symbol in CRYPTOCURRENCIES:
            return CRYPTOCURRENCIES[symbol]
        priced = product_of(symbol) or self.equity(symbol)
        return None if priced is None else priced.price

    def _find(self, instrument_type: InstrumentType, symbol: str) -> Instrument | None:
        match instrument_type:
            case InstrumentType.EQUITY:
                equity = self.equity(symbol)
                return None if equity is None or equity.is_index else equity.instrument()
            case InstrumentType.EQUITY_OPTION:
                parsed = parse_occ(symbol)
                if parsed is None:
                    return None
                root, expires, option_type, strike = parsed
                equity = self.equity_of_root(root)
                if not strike or equity is None or not equity.optionable:
                    return None
                return equity_option(equity.symbol, expires, option_type, strike, symbol=symbol)
            case InstrumentType.FUTURE:
                return future_instrument(symbol, self.today)
            case InstrumentType.FUTURE_OPTION:
                return future_option_instrument(symbol)
            case InstrumentType.CRYPTOCURRENCY if symbol in CRYPTOCURRENCIES:
                return Instrument(symbol=symbol, instrument_type=instrument_type, underlying=symbol)
            case _:
                return None
