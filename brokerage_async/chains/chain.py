"""Nested option chains: their expirations and strikes, the selection of one, and the greeks of their options."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Protocol

import attrs

from .._arguments import check_seconds
from .._decimals import Amount, exact
from .._generated.models import (
    FuturesOptionChain,
    FuturesOptionExpiration,
    Greeks,
    NestedFuturesOptionChain,
    NestedOptionChain,
    OptionExpiration,
    Quote,
)
from .._generated.models import OptionStrike as StrikeRow
from ..errors import InvalidRequestError
from ..protocol.streams.events import Gap, Snapshot

HUNDRED = Decimal(100)


@attrs.frozen
class Strike:
    """Strike price with the symbols of its call and put.

    Attributes:
        price: strike price, in dollars per share or points of the future.
        row: row of the service, with the streamer symbols.
    """

    price: Decimal
    row: StrikeRow = attrs.field(repr=False)

    @property
    def call(self) -> str:
        """Symbol of the call. Raises `InvalidRequestError` if only the put is listed."""
        return self.option("C")

    @property
    def put(self) -> str:
        """Symbol of the put. Raises `InvalidRequestError` if only the call is listed."""
        return self.option("P")

    def lists(self, option_type: str) -> bool:
        """Return whether the call (``C``) or the put (``P``) is listed."""
        return bool(self.row.call if _is_call(option_type) else self.row.put)

    def option(self, option_type: str) -> str:
        """Return the symbol of the call (``C``) or of the put (``P``).

        Raises:
            InvalidRequestError: that one is not listed at this strike.
        """
        symbol = self.row.call if _is_call(option_type) else self.row.put
        if not symbol:
            kind = "call" if _is_call(option_type) else "put"
            raise InvalidRequestError(f"strike must be one with a {kind}, got {self.price:f}: choose another strike")
        return symbol


@attrs.frozen
class Expiration:
    """Options of one root that expire together.

    Attributes:
        day: day of expiration.
        days: calendar days to expiration when the service answered, 0 on the last day. None if it gave none.
        root: root of the option symbols, such as ``SPXW`` or ``EW3``.
        underlying: underlying, such as ``SPX``, or the future, such as ``/ESZ6``.
        settlement: time of settlement, ``AM`` or ``PM``.
        cycle: expiration cycle, such as ``Regular`` (monthly), ``Weekly``, ``Quarterly``, ``End-Of-Month``.
        strikes: strikes, the lowest first. Each price once.
        row: row of the service, with tick sizes and times of futures options.
        chain: chain of the row, with shares per contract, deliverables or the exercise style.
    """

    day: date
    days: int | None
    root: str
    underlying: str
    settlement: str
    cycle: str
    strikes: tuple[Strike, ...] = attrs.field(repr=lambda strikes: f"<{len(strikes)} strikes>")
    row: OptionExpiration | FuturesOptionExpiration = attrs.field(repr=False)
    chain: NestedOptionChain | FuturesOptionChain = attrs.field(repr=False)

    def __str__(self) -> str:
        return f"{self.root} {self.day} {self.settlement}".rstrip()

    def strike(self, *, near: Amount | None = None, at: Amount | None = None) -> Strike:
        """Return one strike.

        Args:
            near: price whose nearest strike is returned. The lower one if two are equally near.
            at: exact strike price.

        Raises:
            InvalidRequestError: not exactly one of the two is given, or the expiration does not list the strike.
        """
        if (near is None) == (at is None):
            raise InvalidRequestError("exactly one of near and at must be given to choose a strike")
        if near is not None:
            return self.nearest(near, 1)[0]
        price = exact("at", at if at is not None else 0)
        for strike in self.strikes:
            if strike.price == price:
                return strike
        close = ", ".join(f"{strike.price:f}" for strike in self.nearest(price, 2))
        raise InvalidRequestError(f"strike must be one that {self} lists, got {price:f}: the nearest are {close}")

    def nearest(self, around: Amount, count: int) -> tuple[Strike, ...]:
        """Return the ``count`` strikes nearest to a price, the lowest first. All of them if there are fewer.

        Of two strikes equally near the lower one counts as nearer.

        Raises:
            InvalidRequestError: the count is below 1, or the price is not a number.
        """
        price = exact("around", around)
        if not isinstance(count, int) or isinstance(count, bool) or count < 1:
            raise InvalidRequestError(f"count must be an int of at least 1, got {count!r}")
        by_distance = sorted(self.strikes, key=lambda strike: (abs(strike.price - price), strike.price))
        return tuple(sorted(by_distance[:count], key=operator.attrgetter("price")))

    def out_of_the_money(
        self, option_type: str, price: Amount, *, strikes: int | None = None, percent: Amount | None = None
    ) -> Strike:
        """Return a strike out of the money by a number of strikes, or by a percentage of the price.

        Calls are out of the money above the price, puts below it. Strikes that do not list the type are skipped.

        Args:
            option_type: ``C`` for a call, ``P`` for a put.
            price: price of the underlying.
            strikes: position beyond the price: 1 for the first strike strictly out of the money.
            percent: least distance in percent: the first strike at least that far away, never a nearer one.

        Raises:
            InvalidRequestError: invalid arguments, or the expiration lists no strike that far away.
        """
        if (strikes is None) == (percent is None):
            raise InvalidRequestError("exactly one of strikes and percent must be given")
        spot, sign = exact("price", price), 1 if _is_call(option_type) else -1
        away = [(sign * (strike.price - spot), strike) for strike in self.strikes if strike.lists(option_type)]
        away.sort(key=operator.itemgetter(0))
        if percent is not None:
            share, position = exact("percent", percent), 1
            if share < 0:
                raise InvalidRequestError(
                    f"percent must not be negative, got {percent!r}; the option type is the direction"
                )
            least = abs(spot) * share
            found = [strike for distance, strike in away if distance * HUNDRED >= least]
        else:
            if not isinstance(strikes, int) or isinstance(strikes, bool) or strikes < 1:
                raise InvalidRequestError(f"strikes must be an int of at least 1, got {strikes!r}")
            position = strikes
            found = [strike for distance, strike in away if distance > 0]
        if len(found) < position:
            wanted = f"{percent} percent" if percent is not None else f"number {position}"
            raise InvalidRequestError(
                f"strike must be one that {self} lists for {option_type} out of the money, got {wanted} from {spot:f}: "
                f"choose a nearer one"
            )
        return found[position - 1]


def _is_call(option_type: str) -> bool:
    if option_type not in ("C", "P"):
        raise InvalidRequestError(f"option_type must be C or P, got {option_type!r}")
    return option_type == "C"


class MarketStreams(Protocol):
    """The part of ``client.stream`` that a chain needs."""

    def quotes(
        self, symbols: Iterable[str], events: Iterable[str | type[Any]] = ...
    ) -> AbstractAsyncContextManager[Any]:
        """Iterate over market events of some symbols."""
        ...


@attrs.frozen
class OptionGreeks:
    """Option with its quote and greeks.

    Attributes:
        symbol: symbol, as orders take it.
        option_type: ``C`` for a call, ``P`` for a put.
        strike: strike with the other option of the pair.
        expiration: expiration with all its strikes.
        quote: latest bid and ask.
        greeks: latest price, volatility and greeks.
    """

    symbol: str
    option_type: str
    strike: Strike = attrs.field(repr=lambda strike: f"{strike.price:f}")
    expiration: Expiration = attrs.field(repr=str)
    quote: Quote
    greeks: Greeks


@attrs.frozen
class ChainGreeks:
    """Quotes and greeks of a chain at one moment.

    Attributes:
        options: options by expiration, then strike, the call before the put. Without the missing ones.
        missing: symbols of the options whose quote or greeks did not come in time.
    """

    options: tuple[OptionGreeks, ...] = attrs.field(repr=lambda found: f"<{len(found)} options>")
    missing: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[OptionGreeks]:
        return iter(self.options)

    def by_delta(self, delta: Decimal | float | str, option_type: str | None = None) -> OptionGreeks:
        """Return the option whose delta is nearest to the given one. The earlier, then lower one of two equally near.

        Args:
            delta: delta of one option on one share: positive for a call, negative for a put, such as ``-0.16``.
            option_type: ``C`` or ``P`` to compare magnitudes among calls or puts, whatever the sign of ``delta``.

        Raises:
            InvalidRequestError: ``delta`` is not between -1 and 1, or no option of the type has a delta.
        """
        wanted = exact("delta", str(delta) if isinstance(delta, float) else delta)
        if abs(wanted) > 1:
            raise InvalidRequestError(f"delta must be between -1 and 1, got {delta!r}: 16 delta are 0.16")
        if option_type not in (None, "C", "P"):
            raise InvalidRequestError(f"option_type must be C or P, got {option_type!r}")
        if option_type is not None:
            wanted = abs(wanted) if option_type == "C" else -abs(wanted)
        found = [
            (abs(option.greeks.delta - wanted), option)
            for option in self.options
            if option.greeks.delta is not None and option_type in (None, option.option_type)
        ]
        if not found:
            kind = {"C": "call", "P": "put"}.get(option_type or "", "option")
            raise InvalidRequestError(f"delta must be one of an option that was found, got no {kind} with a delta")
        return min(found, key=lambda each: each[0])[1]


STANDARD = "Standard"
MAX_NAMED = 6  # candidates that a message names


@attrs.frozen
class OptionChain:
    """Expirations of an underlying, or of the futures of a product, the earliest first.

    Roots stay apart (``SPX`` and ``SPXW`` on one day are two expirations). Rows without a day, a root or strikes, and
    strikes without a price or any symbol, are left out.

    Attributes:
        expirations: expirations by day, then settlement (``AM`` before ``PM``), then root.
    """

    expirations: tuple[Expiration, ...] = attrs.field(repr=lambda found: f"<{len(found)} expirations>")

    @classmethod
    def of(
        cls, rows: NestedOptionChain | NestedFuturesOptionChain | Iterable[NestedOptionChain], *, adjusted: bool = False
    ) -> OptionChain:
        """Build a chain from the result of ``option_chains.nested`` or ``option_chains.nested_futures``.

        Args:
            rows: result of the operation, whole.
            adjusted: keep the chains that are not of type ``Standard``, whose contracts deliver something else than
                their 100 shares after a split or a merger.

        Raises:
            InvalidRequestError: the rows are of another type, or of several underlyings.
        """
        given: Any = rows
        if isinstance(rows, NestedFuturesOptionChain):
            chains: list[Any] = list(rows.option_chains or ())
        else:
            is_one = isinstance(rows, NestedOptionChain) or not isinstance(rows, Iterable)
            chains = [given] if is_one else list(given)
            if others := [each for each in chains if not isinstance(each, NestedOptionChain)]:
                raise InvalidRequestError(f"rows must be nested option chains, got {type(others[0]).__name__}")
            if len(names := {chain.underlying_symbol for chain in chains}) > 1:
                listed = ", ".join(sorted(map(str, names)))
                raise InvalidRequestError(f"rows must be of one underlying, got {listed}: build a chain of each")
            chains = [each for each in chains if adjusted or each.option_chain_type in (None, STANDARD)]
        found = [each for chain in chains for row in chain.expirations or () for each in _expiration(row, chain)]
        return cls(tuple(sorted(found, key=lambda each: (each.day, each.settlement, each.root))))

    def expiration(
        self,
        *,
        near: date | None = None,
        on: date | None = None,
        days: int | None = None,
        root: str | None = None,
        settlement: str | None = None,
        cycle: str | None = None,
    ) -> Expiration:
        """Return one expiration by its day or by the days left. Exactly one of the first three arguments is given.

        Args:
            near: day whose nearest expiration is returned. The later one if two are equally near.
            on: exact day of expiration.
            days: calendar days to expiration, as the service counted them. The nearest, or the later of two.
            root: consider this root only, such as ``SPXW`` or ``EW3``.
            settlement: consider this time of settlement only, ``AM`` or ``PM``.
            cycle: consider this cycle only, such as ``Regular`` for the monthly expirations.

        Raises:
            InvalidRequestError: no expiration fits, or several of one day do: choose by root or settlement.
        """
        if sum(choice is not None for choice in (near, on, days)) != 1:
            raise InvalidRequestError("exactly one of near, on and days must be given to choose an expiration")
        wanted = {"root": root, "settlement": settlement, "cycle": cycle}
        considered = [
            expiration
            for expiration in self.expirations
            if all(value is None or getattr(expiration, name) == value for name, value in wanted.items())
        ]
        if not considered:
            given = "".join(f", {name} {value}" for name, value in wanted.items() if value is not None)
            raise InvalidRequestError(
                f"chain must list an expiration to choose{given}: got {_named(self.expirations) or 'none'}"
            )
        if days is not None and (not isinstance(days, int) or isinstance(days, bool) or days < 0):
            raise InvalidRequestError(f"days must be an int of at least 0, got {days!r}")
        day: Any = on if near is None else near
        if days is None and (not isinstance(day, date) or isinstance(day, datetime)):
            raise InvalidRequestError(f"{'on' if near is None else 'near'} must be a datetime.date, got {day!r}")
        by_distance: dict[tuple[int, bool], list[Expiration]] = {}
        for each in considered:
            if days is None or each.days is not None:
                apart = (each.day - day).days if days is None else (each.days or 0) - days
                by_distance.setdefault((abs(apart), apart < 0), []).append(each)  # the later of two equally near
        found = by_distance[min(by_distance)] if by_distance else []
        if not found or (on is not None and found[0].day != on):
            sought = f"{days} days" if on is None else on
            raise InvalidRequestError(
                f"expiration must be one that the chain lists, got {sought}: it lists {_named(considered)}"
            )
        if len(found) > 1:
            raise InvalidRequestError(
                f"expiration must be a single one, got {_named(found)}: choose one by root, settlement or cycle"
            )
        return found[0]

    async def greeks(
        self,
        streams: MarketStreams,
        expirations: Expiration | Iterable[Expiration] | None = None,
        timeout: float = 10.0,
    ) -> ChainGreeks:
        """Return quotes and greeks of the options of some expirations, of one moment.

        It subscribes to all of them, waits until each has both, and ends the subscriptions. What came before a lost
        connection does not count.

        Args:
            streams: ``client.stream``.
            expirations: one or several. None for all, which may be thousands of options.
            timeout: seconds after which options without both are named in ``missing``, instead of waiting on.

        Raises:
            InvalidRequestError, ConfigurationError: an argument is invalid, or the service does not know a symbol.
            StreamError, APIError: the service granted no quotes.
        """
        if expirations is None:
            expirations = self.expirations
        chosen = (expirations,) if isinstance(expirations, Expiration) else tuple(expirations)
        if not all(isinstance(each, Expiration) for each in chosen):
            raise InvalidRequestError(f"expirations must be those of a chain, got {chosen!r}")
        check_seconds("timeout", timeout)
        options = [
            (symbol, streamer or symbol, option_type, strike, expiration)
            for expiration in chosen
            for strike in expiration.strikes
            for option_type, symbol, streamer in (
                ("C", strike.row.call, strike.row.call_streamer_symbol),
                ("P", strike.row.put, strike.row.put_streamer_symbol),
            )
            if symbol
        ]
        pending: set[str] = set()
        quotes: dict[str, Quote] = {}
        greeks: dict[str, Greeks] = {}
        names: Mapping[str, str] = {}
        limit = asyncio.timeout(timeout)
        try:
            async with limit, streams.quotes([name for _, name, *_ in options], (Quote, Greeks)) as events:
                names = events.symbols
                wanted = frozenset(names.values())
                pending = set(wanted)
                async for event in events:
                    if isinstance(event, Gap):  # earlier events may be much older than later ones
                        quotes, greeks, pending = {}, {}, set(wanted)
                    for row in event.events if isinstance(event, Snapshot) else (event,):
                        if isinstance(row, Quote | Greeks):
                            found: dict[str, Any] = quotes if isinstance(row, Quote) else greeks
                            found[row.event_symbol] = row
                            if row.event_symbol in quotes and row.event_symbol in greeks:
                                pending.discard(row.event_symbol)
                    if not pending:
                        break
        except TimeoutError:
            if not limit.expired():
                raise
        complete = [
            OptionGreeks(symbol, option_type, strike, expiration, quotes[event_symbol], greeks[event_symbol])
            for symbol, name, option_type, strike, expiration in options
            if (event_symbol := names.get(name, name)) in quotes and event_symbol in greeks
        ]
        found_symbols = {option.symbol for option in complete}
        return ChainGreeks(tuple(complete), tuple(symbol for symbol, *_ in options if symbol not in found_symbols))


def _named(expirations: Iterable[Expiration]) -> str:
    names = list(map(str, expirations))
    return ", ".join(names[:MAX_NAMED]) + (f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else "")


def _expiration(
    row: OptionExpiration | FuturesOptionExpiration, chain: NestedOptionChain | FuturesOptionChain
) -> Iterator[Expiration]:
    named: Any = chain if isinstance(row, OptionExpiration) else row
    root = named.root_symbol if named is chain else named.option_root_symbol
    by_price: dict[Decimal, Strike] = {}
    for each in row.strikes or ():
        if each.strike_price is not None and (each.call or each.put):  # the first row of a price counts
            by_price.setdefault(each.strike_price, Strike(each.strike_price, each))
    if row.expiration_date is not None and root and by_price:
        yield Expiration(
            day=row.expiration_date,
            days=row.days_to_expiration,
            root=root,
            underlying=named.underlying_symbol or "",
            settlement=row.settlement_type or "",
            cycle=row.expiration_type or "",
            strikes=tuple(by_price[price] for price in sorted(by_price)),
            row=row,
            chain=chain,
        )
