"""Random tickets of `brokerage_async.tickets`, which are never refused for their form.

`python -m tests.simulator.tickets 1000` sends ten of each seed.
"""

import json
from collections import Counter
from datetime import date
from decimal import Decimal
from random import Random
from typing import Any

from brokerage_async import tickets
from brokerage_async._generated.operations import COMPLEX_ORDERS_DRY_RUN, ORDERS_DRY_RUN
from brokerage_async.errors import InvalidRequestError
from brokerage_async.models import InstrumentType, NewComplexOrder, NewOrder, NewOrderLeg, TimeInForce
from brokerage_async.protocol.request import encode_body
from brokerage_async.symbols import occ_symbol
from tests.seeded import play_seeds
from tests.simulator.harness import Harness

EXPIRATION = date(2026, 7, 17)
STRIKES = (180, 190, 195, 200, 205, 210, 220)
EQUITIES, COINS = ("AAPL", "MSFT", "SPY", "KO", "F"), ("BTC/USD", "ETH/USD")
FUTURES, FUTURE_OPTIONS = ("/ESU6",), ("./ESU6 ES3U6 260918P6000",)
FORCES = tuple(TimeInForce)
NOT_THE_FORM = {
    "cannot_close_against_more_than_existing_position",
    "cannot_open_against_existing_position",
    "illegal_buy_and_sell_on_same_symbol",
    "invalid_position_effect",
    "margin_check_failed",
    "size_limit_exceeded",
}
"""Codes of refusals that depend on the account."""


class Tickets:
    """Random tickets from a source of randomness. Those that the builders refuse are drawn again."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def any(self) -> NewOrder | NewComplexOrder:
        while True:
            try:
                return self.random.choice((self._single, self._complex))()
            except InvalidRequestError:
                continue

    def _option(self) -> str:
        kind, strike = self.random.choice("CP"), self.random.choice(STRIKES)
        return occ_symbol("AAPL", EXPIRATION, kind, strike)

    def _leg(self, symbol: str | None = None) -> NewOrderLeg:
        kinds = (EQUITIES, EQUITIES, [self._option()], COINS, FUTURES, FUTURE_OPTIONS)
        symbol = symbol or self.random.choice(self.random.choice(kinds))
        quantity = self.random.choice(("1", "2", "10", "0.5", "1.25"))
        if symbol in FUTURES:
            return self.random.choice((tickets.buy, tickets.sell))(symbol, quantity)
        kind = InstrumentType.CRYPTOCURRENCY if symbol in COINS else None
        build = self.random.choice((tickets.buy_to_open, tickets.sell_to_open, tickets.sell_to_close))
        return build(symbol, quantity, instrument_type=kind)

    def _legs(self) -> tuple[NewOrderLeg, ...]:
        if self.random.random() < 0.7:
            return (self._leg(),)
        symbols = {self._option() for _ in range(self.random.randint(2, 5))}
        return tuple(self._leg(symbol) for symbol in (*sorted(symbols), *self.random.choice(((), ("AAPL",)))))

    def _price(self) -> Decimal:
        return Decimal(self.random.randrange(5, 20_000, 5)) / 100

    def _terms(self) -> dict[str, Any]:
        if self.random.random() < 0.2:
            return {"until": date(2026, 6, self.random.randint(11, 30))}
        return {"time_in_force": self.random.choice([force for force in FORCES if force is not TimeInForce.GTD])}

    def _limit(self) -> NewOrder:
        legs = self._legs()
        return tickets.limit(*legs, **self._net(legs), **self._terms())

    def _net(self, legs: tuple[NewOrderLeg, ...]) -> dict[str, Any]:
        kinds = ("price", "debit", "credit") if len(legs) == 1 else ("debit", "credit")
        return {self.random.choice(kinds): self._price()}

    def _single(self) -> NewOrder:
        legs = self._legs()
        match self.random.randrange(6):
            case 0:
                return self._limit()
            case 1:
                return tickets.market(*legs, time_in_force=self.random.choice((*FORCES, *[TimeInForce.DAY] * 8)))
            case 2:
                return tickets.stop(*legs, trigger=self._price(), **self._terms())
            case 3:
                return tickets.stop_limit(*legs, trigger=self._price(), **self._net(legs), **self._terms())
            case 4:
                leg = tickets.buy_to_open(self.random.choice(EQUITIES[:3]))
                force = self.random.choice((TimeInForce.DAY, *FORCES))
                value = Decimal(self.random.randrange(100, 9_000)) / 100
                return tickets.notional(leg, value=value, time_in_force=force)
        long, short = self.random.sample(STRIKES, 2)
        return tickets.vertical("AAPL", EXPIRATION, self.random.choice("CP"), long=long, short=short, debit="1.85")

    def _complex(self) -> NewComplexOrder:
        first, second = self.random.sample(EQUITIES, 2)
        entry = tickets.limit(tickets.buy_to_open(first, 10), price=10)
        exits = tickets.closing_legs(entry)
        match self.random.randrange(4):
            case 0:
                profit = tickets.limit(*exits, price=12 + self.random.randrange(9))
                return tickets.bracket(entry, profit=profit, loss=tickets.stop(*exits, trigger=9))
            case 1:
                parts = (self._single(), tickets.limit(*exits, price=900), tickets.stop(*exits, trigger=2))
                return tickets.one_cancels_other(self.random.choice(parts), self.random.choice(parts))
            case 2:
                later = (self._limit() for _ in range(self.random.randint(1, 3)))
                return tickets.one_triggers_other(self._limit(), *later)
        return tickets.pair(entry, tickets.limit(tickets.sell_to_open(second, 10), price=10), at_most="0.44")


HARNESS = Harness(without=["cryptocurrency_orders_are_off"]).login()


def play(seed: int, count: int = 10) -> Counter[str]:
    """Send tickets of a seed, and return how many there were of each kind. AssertionError: one was refused."""
    source, kinds = Tickets(Random(seed)), Counter[str]()
    for _ in range(count):
        order = source.any()
        operation = ORDERS_DRY_RUN if isinstance(order, NewOrder) else COMPLEX_ORDERS_DRY_RUN
        body: dict[str, Any] = json.loads(encode_body(operation, order))
        kinds[body.get("type") or body["order-type"]] += 1
        refused = set(HARNESS.codes(body)) - NOT_THE_FORM
        assert not refused, f"{refused}: {body}"
    return kinds


if __name__ == "__main__":
    play_seeds(play)
