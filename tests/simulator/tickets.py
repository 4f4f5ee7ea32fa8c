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
        complex_kinds = (self._bracket, self._exclusive, self._triggering, self._pair)
        kinds = (self._limit, self._market, self._stop, self._stop_limit, self._notional, self._spread, *complex_kinds)
        while True:
            try:
                return self.random.choice(kinds)()
            except InvalidRequestError:
                continue

    def _option(self) -> str:
        kind, strike = self.random.choice("CP"), self.random.choice(STRIKES)
        return occ_symbol("AAPL", EXPIRATION, kind, strike)

    def _symbol(self) -> str:
        kinds = (EQUITIES, EQUITIES, [self._option()], COINS, FUTURES, FUTURE_OPTIONS)
        return self.random.choice(self.random.choice(kinds))

    def _leg(self, symbol: str | None = None) -> NewOrderLeg:
        symbol = symbol or self._symbol()
        quantity = self.random.choice(("1", "2", "10", "0.5", "1.25"))
        if symbol in FUTURES:
            return self.random.choice((tickets.buy, tickets.sell))(symbol, quantity)
        kind = InstrumentType.CRYPTOCURRENCY if symbol in COINS else None
        return self.random.choice((tickets.buy_to_open, tickets.sell_to_open, tickets.sell_to_close))(
            symbol, quantity, instrument_type=kind
        )

    def _price(self) -> Decimal:
        return Decimal(self.random.randrange(5, 20_000, 5)) / 100

    def _terms(self) -> dict[str, Any]:
        if self.random.random() < 0.2:
            return {"until": date(2026, 6, self.random.randint(11, 30))}
        return {"time_in_force": self.random.choice([force for force in FORCES if force is not TimeInForce.GTD])}

    def _net(self, legs: tuple[NewOrderLeg, ...]) -> dict[str, Any]:
        kinds = ("price", "debit", "credit") if len(legs) == 1 else ("debit", "credit")
        return {self.random.choice(kinds): self._price()}

    def _legs(self) -> tuple[NewOrderLeg, ...]:
        if self.random.random() < 0.7:
            return (self._leg(),)
        symbols = {self._option() for _ in range(self.random.randint(2, 5))}
        return tuple(self._leg(symbol) for symbol in (*sorted(symbols), *self.random.choice(((), ("AAPL",)))))

    def _limit(self) -> NewOrder:
        legs = self._legs()
        return tickets.limit(*legs, **self._net(legs), **self._terms())

    def _market(self) -> NewOrder:
        return tickets.market(*self._legs(), time_in_force=self.random.choice((*FORCES, *[TimeInForce.DAY] * 8)))

    def _stop(self) -> NewOrder:
        return tickets.stop(*self._legs(), trigger=self._price(), **self._terms())

    def _stop_limit(self) -> NewOrder:
        legs = self._legs()
        return tickets.stop_limit(*legs, trigger=self._price(), **self._net(legs), **self._terms())

    def _notional(self) -> NewOrder:
        leg = tickets.buy_to_open(self.random.choice(EQUITIES[:3]))
        force = self.random.choice((TimeInForce.DAY, *FORCES))
        return tickets.notional(leg, value=Decimal(self.random.randrange(100, 9_000)) / 100, time_in_force=force)

    def _spread(self) -> NewOrder:
        long, short = self.random.sample(STRIKES, 2)
        return tickets.vertical("AAPL", EXPIRATION, self.random.choice("CP"), long=long, short=short, debit="1.85")

    def _bracket(self) -> NewComplexOrder:
        entry = tickets.limit(tickets.buy_to_open(self.random.choice(EQUITIES), 10), price=10)
        exits = tickets.closing_legs(entry)
        return tickets.bracket(
            entry,
            profit=tickets.limit(*exits, price=12 + self.random.randrange(9)),
            loss=tickets.stop(*exits, trigger=9),
        )

    def _exclusive(self) -> NewComplexOrder:
        sale = tickets.sell_to_close(self.random.choice(EQUITIES), 10)
        usual = (lambda: tickets.limit(sale, price=900), lambda: tickets.stop(sale, trigger=2))
        makers = (self._limit, self._stop, *usual)
        return tickets.one_cancels_other(self.random.choice(makers)(), self.random.choice(makers)())

    def _triggering(self) -> NewComplexOrder:
        return tickets.one_triggers_other(self._limit(), *(self._limit() for _ in range(self.random.randint(1, 3))))

    def _pair(self) -> NewComplexOrder:
        first, second = self.random.sample(EQUITIES, 2)
        return tickets.pair(
            tickets.limit(tickets.buy_to_open(first, 10), price=10),
            tickets.limit(tickets.sell_to_open(second, 10), price=10),
            at_most="0.44",
        )


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
