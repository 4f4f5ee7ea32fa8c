"""Market commands: prices of instruments, and the search for them."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

import attrs
import typer

from ..models import InstrumentSearchHit, MarketDataSnapshot
from .console import columns, echo_json, err, say, show
from .service import connect
from .tables import Layout, Row, moment, plain, raw, table_of

__all__ = ["Quoting", "Searching", "price_of", "quote", "quote_row", "search"]

QUOTES = Layout(
    title="Prices",
    headings=("symbol", "type", "bid", "ask", "last", "change", "%", "volume", "at"),
    right=frozenset({"bid", "ask", "last", "change", "%", "volume"}),
    unbroken=frozenset({"symbol"}),
    dispensable=("type", "at", "volume", "%"),
)
HITS = Layout(
    title="Instruments",
    headings=("symbol", "type", "exchange", "description"),
    unbroken=frozenset({"symbol"}),
    folded=frozenset({"description"}),
    dispensable=("exchange",),
)


@attrs.frozen(kw_only=True)
class Quoting:
    """Options of a request for prices."""

    symbols: tuple[str, ...]
    indices: tuple[str, ...] = ()
    as_json: bool = False
    simulated: bool = False


@attrs.frozen(kw_only=True)
class Searching:
    """Options of a search."""

    words: str
    types: tuple[str, ...] = ()
    limit: int | None = None
    as_json: bool = False
    simulated: bool = False


async def quote(quoting: Quoting) -> None:
    """Show the prices of instruments; leave with exit code 1 if the service has none of one."""
    async with connect(simulated=quoting.simulated) as service:
        types = dict.fromkeys(quoting.indices, "Index")
        result = await service.client.bulk.market_data([*quoting.symbols, *quoting.indices], types=types)
    if quoting.as_json:
        echo_json(raw(list(result.found.values())))
    elif result.found:
        rows = (quote_row(symbol, found) for symbol, found in result.found.items())
        show(table_of(rows, QUOTES, columns()))
    for symbol, error in result.failed.items():
        say(f"failed: {symbol}: {error}", style="red", to=err)
    if result.missing:
        say(f"unknown to the service: {', '.join(result.missing)}", style="yellow", to=err)
    if result.missing or result.failed:
        raise typer.Exit(1)


async def search(searching: Searching) -> None:
    """Show the instruments whose symbol or description fits the words."""
    async with connect(simulated=searching.simulated) as service:
        found = await service.client.search.instruments(
            query=searching.words, types=searching.types or None, limit=searching.limit
        )
    if searching.as_json:
        echo_json(raw(found))
    elif found:
        show(table_of(map(hit_row, found), HITS, columns()))
    else:
        say(f"Nothing was found for {searching.words!r}.")


def quote_row(symbol: str, prices: MarketDataSnapshot) -> Row:
    """Return the cells of an instrument's prices; the change is that since the previous close."""
    last, before = price_of([prices]), prices.prev_close
    change = None if last is None or before is None else last - before
    return {
        "symbol": symbol,
        "type": str(prices.instrument_type or ""),
        "bid": plain(prices.bid),
        "ask": plain(prices.ask),
        "last": plain(last),
        "change": "" if change is None else f"{change:+f}",
        "%": "" if change is None or not before else f"{change / before * 100:+.2f}",
        "volume": "" if prices.volume is None else f"{prices.volume:,f}",
        "at": moment(prices.updated_at),
    }


def price_of(rows: Iterable[MarketDataSnapshot]) -> Decimal | None:
    """Return the last price of the first row that has one, or what comes nearest to it."""
    for row in rows:
        for price in (row.last, row.mark, row.mid, row.close, row.prev_close):
            if price is not None:
                return price
    return None


def hit_row(hit: InstrumentSearchHit) -> Row:
    """Return the cells of an instrument that was found."""
    return {
        "symbol": hit.symbol or "",
        "type": str(hit.instrument_type or ""),
        "exchange": hit.exchange or "",
        "description": hit.description or "",
    }
