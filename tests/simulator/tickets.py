"""Random tickets, and the rules that they break one at a time: `python -m tests.simulator.tickets 10000` checks both.

Tickets of `brokerage_async.tickets` are never refused for their form. A ticket that is changed to break one rule is
refused with the code of that rule.
"""

import copy
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import date
from decimal import Decimal
from random import Random
from typing import Any

from brokerage_async import tickets
from brokerage_async._generated.operations import COMPLEX_ORDERS_DRY_RUN, ORDERS_DRY_RUN
from brokerage_async.errors import InvalidRequestError
from brokerage_async.models import InstrumentType, NewComplexOrder, NewOrder, NewOrderLeg, TimeInForce
from brokerage_async.protocol.request import encode_body
from tests.simulator.harness import Harness

Body = dict[str, Any]
Change = Callable[[Body], Body | None]

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
        """Return a ticket of any kind."""
        complex_kinds = (self._bracket, self._exclusive, self._triggering, self._pair)
        kinds = (self._limit, self._market, self._stop, self._stop_limit, self._notional, self._spread, *complex_kinds)
        while True:
            try:
                return self.random.choice(kinds)()
            except InvalidRequestError:
                continue

    def _option(self) -> str:
        return tickets_option(self.random.choice("CP"), self.random.choice(STRIKES))

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


def tickets_option(kind: str, strike: int) -> str:
    return f"AAPL  {EXPIRATION:%y%m%d}{kind}{strike * 1000:08d}"


def body_of(order: NewOrder | NewComplexOrder) -> Body:
    """Return the JSON that is sent for a ticket."""
    operation = ORDERS_DRY_RUN if isinstance(order, NewOrder) else COMPLEX_ORDERS_DRY_RUN
    decoded: Body = json.loads(encode_body(operation, order))
    return decoded


def _with(changes: Body) -> Change:
    return lambda body: None if "gtc-date" in body else body | changes


def _without(name: str) -> Change:
    return lambda body: {key: each for key, each in body.items() if key != name}


def _leg_with(changes: Body) -> Change:
    return lambda body: body | {"legs": [body["legs"][0] | changes]}


def _second_leg(body: Body) -> Body:
    strike = next(each for each in STRIKES if tickets_option("C", each) != body["legs"][0]["symbol"])
    return body | {"legs": [*body["legs"], body["legs"][0] | {"symbol": tickets_option("C", strike)}]}


def _where(words: str, change: Change) -> Change:
    """Change a ticket only where the action of its leg contains some words."""
    return lambda body: change(body) if words in body["legs"][0]["action"] else None


GTC, CONDITION = {"time-in-force": "GTC"}, {"conditions": [{"action": "route", "symbol": "AAPL"}]}
LIMITS, ALL = ("Limit", "Stop Limit"), ("Limit", "Stop Limit", "Market", "Stop")
OPTION, FUTURE_OPTION, WHOLE = ("Equity Option",), ("Future Option",), ("Equity Option", "Future", "Future Option")
BREACHES: tuple[tuple[str, tuple[str, ...], tuple[str, ...], Change], ...] = (
    ("price_effect_missing", LIMITS, (), _without("price-effect")),
    ("price_not_allowed", ("Market", "Stop"), (), _with({"price-effect": "Debit"})),
    ("value_effect_missing", ("Notional Market",), (), _without("value-effect")),
    ("market_order_with_several_legs", ("Market",), OPTION, _second_leg),
    ("stop_order_with_several_legs", ("Stop",), OPTION, _second_leg),
    (
        "stop_order_not_supported",
        ("Limit",),
        FUTURE_OPTION,
        lambda body: body | {"order-type": "Stop Limit", "stop-trigger": "2.0"},
    ),
    ("gtc_market_orders_not_supported", ("Market", "Notional Market"), (), _with(GTC)),
    ("gtc_market_orders_not_supported", ("Stop",), ("Equity", "Equity Option"), _where("to Open", _with(GTC))),
    ("extended_hours_not_supported", LIMITS, WHOLE, _with({"time-in-force": "Ext"})),
    ("plain_action_not_supported", ("Market",), FUTURE_OPTION, _leg_with({"action": "Buy"})),
    ("incomplete_condition", ALL, (), _with({"rules": CONDITION})),
    ("cant_buy_for_credit", LIMITS, (), _where("Buy", lambda body: body | {"price-effect": "Credit"})),
    ("cant_sell_for_debit", LIMITS, (), _where("Sell", lambda body: body | {"price-effect": "Debit"})),
    ("fractional_quantity_not_supported", (*LIMITS, "Stop"), ("Equity",), _leg_with({"quantity": "10.5"})),
    ("notional_value_not_supported", ("Notional Market",), (), _with({"value": "4.99"})),
    ("invalid_quantity", ALL, WHOLE, _leg_with({"quantity": "0.5"})),
    ("invalid_quantity", ALL, ("Equity", *WHOLE), _leg_with({"quantity": "0"})),
    ("invalid_oco_order_type_combo", ("OCO",), (), lambda body: body | {"orders": [body["orders"][0]] * 2}),
    ("unsupported_complex_order_type", ("OCO", "PAIRS"), (), lambda body: body | {"type": "BLAST"}),
)
"""Changes that break one rule each: its code, the types of tickets with one leg, the types of the leg, the change.

A change returns None where it breaks no rule.
"""


def broken(source: Tickets) -> tuple[str, Body]:
    """Return a random ticket that breaks one rule, and the code of the rule."""
    code, forms, kinds, change = source.random.choice(BREACHES)
    while True:
        body = copy.deepcopy(body_of(source.any()))
        legs = body.get("legs", ())
        if body.get("type", body.get("order-type")) not in forms or len(legs) > 1:
            continue
        if kinds and legs[0]["instrument-type"] not in kinds:
            continue
        if (changed := change(body)) is not None:
            return code, changed


def misses(harness: Harness, source: Tickets, count: int, kinds: Counter[str] | None = None) -> Iterator[str]:
    """Yield every ticket refused for its form, and every broken one that is not refused with the code of its rule."""
    for _ in range(count):
        body = body_of(source.any())
        if unexpected := set(harness.codes(body)) - NOT_THE_FORM:
            yield f"{unexpected}: {body}"
        code, changed = broken(source)
        if set(found := harness.codes(changed)) - NOT_THE_FORM != {code}:
            yield f"{code} expected, got {found}: {changed}"
        if kinds is not None:
            kinds[body.get("type") or body["order-type"]] += 1
            kinds[code] += 1


def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    kinds: Counter[str] = Counter()
    harness = Harness(without=["cryptocurrency_orders_are_off"]).login()
    found = list(misses(harness, Tickets(Random(0)), count, kinds))
    print(f"{count} tickets and {count} broken ones: {len(found)} misses", dict(kinds), *found[:5], sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
