"""Nested option chains as one list of expirations, and the selection of one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import attrs

from .._generated.models import (
    FuturesOptionChain,
    FuturesOptionExpiration,
    NestedFuturesOptionChain,
    NestedOptionChain,
    OptionExpiration,
)
from ..errors import InvalidRequestError
from .expiration import Expiration, Strike
from .greeks import ChainGreeks, MarketStreams, read_greeks

STANDARD = "Standard"
MAX_NAMED = 6
"""Candidates that a message names."""


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
        if isinstance(rows, NestedFuturesOptionChain):
            found = [
                each
                for chain in rows.option_chains or ()
                for row in chain.expirations or ()
                for each in _expiration(row, chain, row.option_root_symbol, row.underlying_symbol)
            ]
        else:
            given: Any = rows
            is_one = isinstance(rows, NestedOptionChain) or not isinstance(rows, Iterable)
            chains: list[Any] = [given] if is_one else list(given)
            if others := [each for each in chains if not isinstance(each, NestedOptionChain)]:
                raise InvalidRequestError(f"rows must be nested option chains, got {type(others[0]).__name__}")
            if len(names := {chain.underlying_symbol for chain in chains}) > 1:
                listed = ", ".join(sorted(map(str, names)))
                raise InvalidRequestError(f"rows must be of one underlying, got {listed}: build a chain of each")
            found = [
                each
                for chain in chains
                if adjusted or chain.option_chain_type in (None, STANDARD)
                for row in chain.expirations or ()
                for each in _expiration(row, chain, chain.root_symbol, chain.underlying_symbol)
            ]
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
        found = _closest(considered, _distance(near, on, days))
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
        return await read_greeks(streams, chosen, timeout)


def _closest(expirations: Iterable[Expiration], distance: Callable[[Expiration], int | None]) -> list[Expiration]:
    """Return the expirations at the least distance, the later ones where two distances are equal."""
    by_distance: dict[tuple[int, bool], list[Expiration]] = {}
    for expiration in expirations:
        if (apart := distance(expiration)) is not None:
            by_distance.setdefault((abs(apart), apart < 0), []).append(expiration)
    return by_distance[min(by_distance)] if by_distance else []


def _distance(near: date | None, on: date | None, days: int | None) -> Callable[[Expiration], int | None]:
    """Return a function that counts the days from the wanted expiration to the one given."""
    if days is not None:
        if not isinstance(days, int) or isinstance(days, bool) or days < 0:
            raise InvalidRequestError(f"days must be an int of at least 0, got {days!r}")
        return lambda expiration: None if expiration.days is None else expiration.days - days
    day = near if near is not None else on
    if not isinstance(day, date) or isinstance(day, datetime):
        raise InvalidRequestError(f"{'on' if near is None else 'near'} must be a datetime.date, got {day!r}")
    return lambda expiration: (expiration.day - day).days


def _named(expirations: Iterable[Expiration]) -> str:
    names = list(map(str, expirations))
    return ", ".join(names[:MAX_NAMED]) + (f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else "")


def _expiration(
    row: OptionExpiration | FuturesOptionExpiration,
    chain: NestedOptionChain | FuturesOptionChain,
    root: str | None,
    underlying: str | None,
) -> Iterator[Expiration]:
    by_price: dict[Decimal, Strike] = {}
    for each in row.strikes or ():
        if each.strike_price is not None and (each.call or each.put):  # the first row of a price counts
            by_price.setdefault(each.strike_price, Strike(each.strike_price, each))
    strikes = tuple(by_price[price] for price in sorted(by_price))
    if row.expiration_date is not None and root and strikes:
        yield Expiration(
            day=row.expiration_date,
            days=row.days_to_expiration,
            root=root,
            underlying=underlying or "",
            settlement=row.settlement_type or "",
            cycle=row.expiration_type or "",
            strikes=strikes,
            row=row,
            chain=chain,
        )
