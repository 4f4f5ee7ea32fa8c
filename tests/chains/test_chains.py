"""The public names of the room, and the example of its docstring."""

import ast
import textwrap
from datetime import date

from brokerage_async import Client, Environment, StaticToken, chains, tickets
from brokerage_async.chains import Expiration, OptionChain
from brokerage_async.models import NewOrder
from brokerage_async.symbols import occ_symbol
from tests.fake_transport import FakeTransport, ok


def strike(day: date, price: int) -> dict[str, str]:
    return {"strike-price": f"{price}.0", "call": occ_symbol("AAPL", day, "C", price)}


async def test_example_builds_a_spread_from_a_nested_chain() -> None:
    assert chains.__doc__ is not None
    example = textwrap.dedent(next(part for part in chains.__doc__.split("\n\n") if part.startswith("    ")))
    code = compile(example, "example", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    days = {25: date(2026, 6, 5), 46: date(2026, 6, 26)}
    expirations = [
        {
            "expiration-date": str(day),
            "days-to-expiration": left,
            "strikes": [strike(day, price) for price in (110, 115)],
        }
        for left, day in days.items()
    ]
    row = {"underlying-symbol": "AAPL", "root-symbol": "AAPL", "expirations": expirations}
    service = FakeTransport(ok({"items": [row]}))
    async with Client(Environment.sandbox("https://service"), StaticToken("token"), transport=service) as client:
        names = {"client": client, "OptionChain": OptionChain, "tickets": tickets}
        await eval(code, names)
    june, order = names["june"], names["order"]
    assert isinstance(june, Expiration)
    assert isinstance(order, NewOrder)
    assert june.day == date(2026, 6, 26)
    assert [leg.symbol for leg in order.legs] == ["AAPL  260626C00110000", "AAPL  260626C00115000"]
    assert str(order.price) == "1.85"
