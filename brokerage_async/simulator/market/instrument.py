"""Tradable instruments, products of futures, symbols of equity options, and tables of rendered rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from importlib.resources import files
from typing import Any, Generic, TypeAlias, TypeVar

import attrs

from ..._generated.models import InstrumentCollection, InstrumentType, OptionType
from ..api.wire import dumps
from .calendar import local_epoch

_FILE = (files("brokerage_async.simulator.market") / "listed.txt").read_text("utf-8")
LISTED: Mapping[str, list[str]] = {
    head.strip("[]"): lines for head, *lines in (section.splitlines() for section in _FILE.strip().split("\n\n"))
}
"""Well-known instruments, mostly with their price levels: lines of equities, pairs, and futures by sector."""


@attrs.frozen
class FutureProduct:
    """Futures product: price level, contract size, initial margin per contract, option strikes."""

    sector: str
    exchange: str
    code: str
    price: Decimal = attrs.field(converter=Decimal)
    multiplier: Decimal = attrs.field(converter=Decimal)
    tick: Decimal = attrs.field(converter=Decimal)
    margin: Decimal = attrs.field(converter=Decimal)
    strike_step: Decimal = attrs.field(converter=Decimal)
    name: str

    @property
    def is_physical(self) -> bool:
        """Whether the underlying is delivered rather than settled in cash."""
        return self.sector in _DELIVERED

    @property
    def option_tick(self) -> Decimal:
        """Tick of its options, which is finer on a future that costs little."""
        return min(_OPTION_TICK, self.tick)

    @property
    def streamer_exchange(self) -> str:
        return _STREAMER_EXCHANGES[self.exchange]


_OPTION_TICK = Decimal("0.01")
_DELIVERED = frozenset({"Energy", "Metals", "Interest Rates", "Agriculture", "FX"})
_STREAMER_EXCHANGES = {"CME": "XCME", "CFE": "XCBF", "SMALLS": "SMFE"}

FUTURES: Mapping[str, FutureProduct] = {
    line.split()[0]: FutureProduct(sector, exchange, *line.split(maxsplit=6))
    for section, lines in LISTED.items()
    for sector, _, exchange in [section.partition(", ")]
    if exchange
    for line in lines
}
"""Futures products by code; the first has the large option chain."""


def product_of(symbol: str) -> FutureProduct | None:
    """Return the product of a future's symbol (``/ESZ6``), None for an unknown one."""
    return FUTURES.get(symbol[1:-2]) if symbol.startswith("/") else None


_OCC = re.compile(r"(?P<root>[A-Z0-9/.]{1,6}) *(?P<day>\d{6})(?P<kind>[CP])(?P<strike>\d{8})", re.ASCII)

Ticks: TypeAlias = tuple[tuple[Decimal | None, Decimal], ...]
"""Ranges of a tick table, lowest first: the price at which it ends (None: never), and the tick."""

EQUITY_TICKS: Ticks = ((Decimal("1.0"), Decimal("0.0001")), (None, Decimal("0.01")))
OPTION_TICKS: Ticks = ((Decimal("3.0"), Decimal("0.01")), (None, Decimal("0.05")))
_TICKS = {InstrumentType.EQUITY: EQUITY_TICKS, InstrumentType.EQUITY_OPTION: OPTION_TICKS}


@attrs.frozen(kw_only=True)
class Instrument:
    """Tradable instrument.

    ``multiplier`` is the number of units of the underlying per contract. ``strike`` and ``option_type`` are set for
    options, ``expires`` for options and futures (at ``expiration_hour``, New York time). ``halted`` instruments cannot
    be traded, ``closing_only`` ones only closed, ``hard_to_borrow`` ones not sold short, ``fractional`` ones in parts.
    Options that are not ``active`` have other than standard terms. ``ticks`` are its own, if it has a table.
    """

    symbol: str
    instrument_type: InstrumentType
    underlying: str
    multiplier: Decimal = Decimal(1)
    tick: Decimal = Decimal("0.01")
    strike: Decimal | None = None
    option_type: OptionType | None = None
    expires: date | None = None
    expiration_hour: float = 16.0
    halted: bool = False
    closing_only: bool = False
    hard_to_borrow: bool = False
    fractional: bool = False
    active: bool = True
    ticks: Ticks = ()

    @property
    def expires_at(self) -> float | None:
        return None if self.expires is None else local_epoch(self.expires, self.expiration_hour)

    def has_expired(self, today: date) -> bool:
        return self.expires is not None and self.expires < today

    def tick_at(self, price: Decimal) -> Decimal:
        """Return the tick of prices around ``price`` at its venue."""
        ticks = self.ticks or _TICKS.get(self.instrument_type, ((None, self.tick),))
        return next(tick for end, tick in ticks if end is None or price < end)

    @property
    def is_option(self) -> bool:
        return self.option_type is not None

    @property
    def is_call(self) -> bool:
        return self.option_type is OptionType.CALL

    @property
    def is_future(self) -> bool:
        """Whether it is a future (not an option on one)."""
        return self.instrument_type is InstrumentType.FUTURE

    @property
    def collection(self) -> InstrumentCollection | None:
        """Exchange calendar of the instrument. None for trading around the clock."""
        return collection_of(self.underlying)

    @property
    def underlying_type(self) -> InstrumentType:
        return InstrumentType(self.instrument_type.removesuffix(" Option"))


def collection_of(underlying: str) -> InstrumentCollection | None:
    """Return the exchange calendar of an underlying, None for trading around the clock."""
    if underlying.startswith("/"):
        product = product_of(underlying)
        return InstrumentCollection.CFE if product and product.exchange == "CFE" else InstrumentCollection.CME
    return None if underlying.endswith("/USD") else InstrumentCollection.EQUITY


def day_of(code: str) -> date | None:
    """Return the day that symbols write as ``260612``, None if it does not exist."""
    try:
        return date(2000 + int(code[:2]), int(code[2:4]), int(code[4:]))
    except ValueError:
        return None


def occ_symbol(root: str, expires: date, option_type: OptionType, strike: Decimal) -> str:
    """Return an OCC symbol such as ``AAPL  260612C00110000``, with the strike in thousandths."""
    return f"{root:<6}{expires:%y%m%d}{option_type}{int(strike * 1000):08d}"


def parse_occ(symbol: str) -> tuple[str, date, OptionType, Decimal] | None:
    """Return the parts of an OCC symbol: root, expiration date, C or P, strike."""
    match = _OCC.fullmatch(symbol)
    expires = day_of(match["day"]) if match else None
    if match is None or expires is None:
        return None
    return match["root"], expires, OptionType(match["kind"]), Decimal(int(match["strike"])) / 1000


T = TypeVar("T", bound=Any)
"""Definition with a ``symbol``."""


class RowTable(Generic[T]):
    """Definitions by symbol. Each is rendered at first use, as a wire struct or its JSON, and kept."""

    def __init__(self, definitions: Sequence[T], render: Callable[[T], Any]) -> None:
        self.definitions = definitions
        self.render = render
        self._index: dict[str, int] = {each.symbol: n for n, each in enumerate(definitions)}
        self._rows: dict[str, bytes] = {}

    def get(self, symbol: str) -> T | None:
        position = self._index.get(symbol)
        return None if position is None else self.definitions[position]

    def find(self, symbols: Iterable[str] | None) -> Sequence[T]:
        """Return the definitions of known symbols, each once, in the order of the table. All for None."""
        if symbols is None:
            return self.definitions
        positions = {self._index[symbol] for symbol in symbols if symbol in self._index}
        return [self.definitions[position] for position in sorted(positions)]

    def row(self, definition: T) -> bytes:
        row = self._rows.get(symbol := definition.symbol)
        if row is None:
            row = self._rows[symbol] = dumps(self.render(definition))
        return row
