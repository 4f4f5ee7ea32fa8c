"""Roll a short option to a later expiration, at the same strike.

    python examples/roll_option.py AAPL            shows what would be done
    python examples/roll_option.py AAPL --send     does it

One order buys the old option back and sells the new one, so nothing can happen between them. It is sent only if the
roll brings in money.
"""

from __future__ import annotations

import asyncio
import os
import sys
from decimal import ROUND_DOWN, Decimal

from brokerage_async import Client
from brokerage_async.chains import OptionChain
from brokerage_async.journal import SqliteJournal
from brokerage_async.models import InstrumentType, NewOrder, Position, QuantityDirection
from brokerage_async.symbols import parse_occ
from brokerage_async.tickets import buy_to_close, limit, sell_to_open

LATER = 30  # days from the old expiration to the new one, at least
CENT = Decimal("0.01")


async def short_option(client: Client, account: str, underlying: str) -> Position:
    """Return the short option on the underlying that expires first."""
    positions = await client.positions.list(
        account, underlying_symbols=[underlying], instrument_type=InstrumentType.EQUITY_OPTION
    )
    short = [each for each in positions if each.quantity_direction is QuantityDirection.SHORT and each.symbol]
    if not short:
        raise SystemExit(f"no short option on {underlying}")
    return min(short, key=lambda position: parse_occ(position.symbol or "").expiration)


async def mark_of(client: Client, *symbols: str) -> list[Decimal]:
    """Return the mark of each option."""
    quotes = {quote.symbol: quote.mark for quote in await client.market_data.by_type(equity_option=symbols)}
    marks = [mark for symbol in symbols if (mark := quotes.get(symbol)) is not None]
    if len(marks) < len(symbols):
        raise SystemExit(f"no price for one of {', '.join(symbols)}")
    return marks


async def roll(client: Client, position: Position) -> NewOrder:
    """Return the order that rolls a position, for the difference of the marks."""
    old, quantity = position.symbol or "", position.quantity or Decimal(0)
    parts = parse_occ(old)
    chain = OptionChain.of(await client.option_chains.nested(parts.root))
    later = [each for each in chain.expirations if (each.day - parts.expiration).days >= LATER]
    if not later:
        raise SystemExit(f"no expiration {LATER} days after {parts.expiration}")
    new = later[0].strike(at=parts.strike).option(parts.option_type)
    old_mark, new_mark = await mark_of(client, old, new)
    credit = (new_mark - old_mark).quantize(CENT, rounding=ROUND_DOWN)
    if credit <= 0:
        raise SystemExit(f"rolling {old} to {new} would cost {-credit}")
    return limit(buy_to_close(old, quantity), sell_to_open(new, quantity), credit=credit)


async def main(arguments: list[str]) -> None:
    underlying, *options = arguments
    account = os.environ["BROKERAGE_ACCOUNT"]
    async with Client.from_env() as client, SqliteJournal("orders.journal") as journal:
        order = await roll(client, await short_option(client, account, underlying))
        for leg in order.legs:
            print(leg.action, leg.quantity, leg.symbol)
        print("for a credit of", order.price)
        if "--send" not in options:
            preview = await client.orders.dry_run(account, order)
            effect = preview.buying_power_effect
            print("change in buying power:", effect and effect.change_in_buying_power)
            return
        placement = (await client.order_entry(journal).place(account, order)).require()
        print("order", placement.order_id)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
