"""``brokerage-async quote | search | chain``: prices, the search for instruments, and chains of options."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any

import typer

from .command import Output, connect, day, values_of
from .console import complain, echo_json, say, show_items
from .lazy import attrs, chains, clients, errors, models
from .reading import exclude, read_number
from .tables import moment, plain, raw

STRIKES_SHOWN = 10


async def quote(
    symbols: Annotated[list[str], typer.Argument(help="such as AAPL, 'AAPL  260612C00110000', /ESZ6 or BTC/USD")],
    index: Annotated[list[str] | None, typer.Option(help="an index such as SPX, may be repeated")] = None,
    *,
    output: Output,
) -> None:
    """Show the prices of instruments of any type."""
    indices = index or []
    async with connect(simulated=output.simulated) as service:
        result = await service.client.bulk.market_data([*symbols, *indices], types=dict.fromkeys(indices, "Index"))
    if output.as_json:
        echo_json(raw(list(result.found.values())))
    elif result.found:
        show_items(
            result.found.items(), lambda found: quote_row(*found), "Prices",
            numbers=("bid", "ask", "last", "change", "%", "volume"), whole=("symbol",),
            dispensable=("type", "at", "volume", "%"),
        )  # fmt: skip
    for symbol, error in result.failed.items():
        say(f"failed: {symbol}: {error}", style="red", err=True)
    if result.missing:
        say(f"unknown to the service: {', '.join(result.missing)}", style="yellow", err=True)
    if result.missing or result.failed:
        raise typer.Exit(1)


async def search(
    words: Annotated[str, typer.Argument(help="part of a symbol or of a description")],
    instrument_type: Annotated[
        list[str] | None,
        typer.Option(
            "--type", help="such as Equity or Future, may be repeated", autocompletion=values_of("InstrumentType")
        ),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, max=100, help="show at most so many; by default 25")] = None,
    *,
    output: Output,
) -> None:
    """Search instruments by symbol or description."""
    async with connect(simulated=output.simulated) as service:
        found = await service.client.search.instruments(query=words, types=instrument_type or None, limit=limit)

    def row(hit: models.InstrumentSearchHit) -> dict[str, str]:
        kind, exchange, description = str(hit.instrument_type or ""), hit.exchange or "", hit.description or ""
        return {"symbol": hit.symbol or "", "type": kind, "exchange": exchange, "description": description}

    show_items(
        found, row, "Instruments", as_json=output.as_json, empty=f"Nothing was found for {words!r}.",
        whole=("symbol",), folded=("description",), dispensable=("exchange",),
    )  # fmt: skip


def quote_row(symbol: str, prices: models.MarketDataSnapshot) -> dict[str, str]:
    """Return the cells of an instrument's prices. The change is that since the previous close."""
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
        "volume": "" if prices.volume is None else f"{prices.volume.normalize():,f}",
        "at": moment(prices.updated_at),
    }


def price_of(rows: Iterable[models.MarketDataSnapshot]) -> Decimal | None:
    """Return the last price, or the nearest substitute, of the first row that has one."""
    for row in rows:
        for price in (row.last, row.mark, row.mid, row.close, row.prev_close):
            if price is not None:
                return price
    return None


async def chain(
    symbol: Annotated[str, typer.Argument(help="underlying such as SPX, product such as /ES, or future such as /ESZ6")],
    on: Annotated[datetime | None, day("strikes of the expiration on this day")] = None,
    near: Annotated[datetime | None, day("strikes of the expiration nearest to this day")] = None,
    days: Annotated[int | None, typer.Option(min=0, help="strikes of the expiration nearest to so many days")] = None,
    root: Annotated[str | None, typer.Option(help="only of this root, such as SPXW")] = None,
    settlement: Annotated[str | None, typer.Option(help="only with this settlement, AM or PM")] = None,
    cycle: Annotated[str | None, typer.Option(help="only of this cycle, such as Regular or Weekly")] = None,
    around: Annotated[str | None, typer.Option(help="price that the strikes are around [default: the current]")] = None,
    strikes: Annotated[int | None, typer.Option(min=1, help="number of strikes [default: 10]")] = None,
    *,
    output: Output,
) -> None:
    """Show the expirations of an underlying, or with --on, --near or --days the strikes around the money of one."""
    price = None if around is None else read_number("--around", around)
    chosen = (on, near, days) != (None, None, None)
    if not chosen:
        exclude("a list of expirations", {"--around": around, "--strikes": strikes})
    kind = {"root": root, "settlement": settlement, "cycle": cycle}
    async with connect(simulated=output.simulated) as service:
        nested, future = await read_chain(service.client, symbol)
        listed = chains.OptionChain.of(nested)
        if future is not None:
            listed = chains.OptionChain(tuple(each for each in listed.expirations if each.underlying == future))
        if chosen:
            expiration = listed.expiration(near=near and near.date(), on=on and on.date(), days=days, **kind)
            underlying = expiration.underlying
            if price is None:
                is_future, asked = underlying.startswith("/"), [underlying]
                types: dict[str, Any] = {"future": asked} if is_future else {"equity": asked, "index": asked}
                try:
                    price = price_of(await service.client.market_data.by_type(**types))
                except (errors.APIError, errors.ConfigurationError) as error:
                    complain(error)
            if price is None:
                raise errors.InvalidRequestError(f"the service gives no price of {underlying}: pass --around PRICE")
            around_it = expiration.nearest(price, strikes or STRIKES_SHOWN)
            await show_strikes(service.client, expiration, around_it, price, as_json=output.as_json)
        elif output.as_json:
            echo_json(raw(nested))
        else:
            fitting = [
                each
                for each in listed.expirations
                if all(value is None or getattr(each, name) == value for name, value in kind.items())
            ]
            headings = ("expiration", "days", "root", "cycle", "settlement", "underlying", "strikes")

            def row(each: chains.Expiration) -> dict[str, str]:
                days = "" if each.days is None else str(each.days)
                named = (each.root, each.cycle, each.settlement, each.underlying)
                return dict(zip(headings, (str(each.day), days, *named, str(len(each.strikes))), strict=True))

            show_items(
                fitting, row, "Expirations", headings=headings, numbers=("days", "strikes"),
                dispensable=("underlying", "settlement", "cycle"),
            )  # fmt: skip


async def show_strikes(
    client: clients.Client,
    expiration: chains.Expiration,
    strikes: Sequence[chains.Strike],
    price: Decimal,
    *,
    as_json: bool,
) -> None:
    """Show strikes with the prices of their options, or without and why, where the service serves no prices."""
    empty, rows = models.MarketDataSnapshot(), tuple(strike.row for strike in strikes)
    prices: Mapping[str, models.MarketDataSnapshot] = {}
    try:
        prices = (await client.bulk.market_data([each for row in rows for each in (row.call, row.put) if each])).found
    except (errors.APIError, errors.ConfigurationError) as error:
        complain(error)
    if as_json:
        echo_json({
            "underlying-symbol": expiration.underlying,
            "root-symbol": expiration.root,
            "around": plain(price),
            "expiration": raw(attrs.evolve(expiration.row, strikes=rows)),
            "prices": [raw(found) for found in prices.values()],
        })  # fmt: skip
        return

    def cells(strike: chains.Strike) -> dict[str, str]:
        call, put = strike.row.call or "", strike.row.put or ""
        of_call, of_put = prices.get(call, empty), prices.get(put, empty)
        return {
            "call": call, "call bid": plain(of_call.bid), "call ask": plain(of_call.ask),
            "strike": plain(strike.price),
            "put bid": plain(of_put.bid), "put ask": plain(of_put.ask), "put": put,
        }  # fmt: skip

    show_items(
        strikes, cells, f"{expiration} of {expiration.underlying} around {plain(price)}",
        numbers=("call bid", "call ask", "strike", "put bid", "put ask"), whole=("call", "put"),
        dispensable=(("call", "put"),),
    )  # fmt: skip


async def read_chain(
    client: clients.Client, symbol: str
) -> tuple[models.NestedFuturesOptionChain | list[models.NestedOptionChain], str | None]:
    """Return the chain of a symbol, and the future that is asked for, if any.

    ``/ES`` is a futures product, and ``/ESZ6`` one future of it. Other symbols are underlyings of equity options.
    """
    if not symbol.startswith("/"):
        return await client.option_chains.nested(symbol), None
    try:
        from ..symbols import parse_future

        product = parse_future(symbol, on=client.watch.now().date()).product
    except errors.InvalidRequestError:
        return await client.option_chains.nested_futures(symbol[1:]), None
    return await client.option_chains.nested_futures(product), symbol
