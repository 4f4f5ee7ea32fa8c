"""Seeded orders of all kinds through the public client."""

import asyncio
import random
from collections import Counter
from decimal import ROUND_HALF_UP, Decimal
from math import gcd

from brokerage_async import Client, errors, models, tickets
from brokerage_async.models import NewOrder, NewOrderLeg, OrderType, TimeInForce
from brokerage_async.simulator import Simulator

from .menu import Menu, known, prices_of

WAITS = (0.0, 0.0, 0.1, 0.3, 1.0, 3.0, 8.0, 20.0)
HOURS = 3600.0
LONG_WAIT = 0.0015
FORCES = (TimeInForce.DAY, TimeInForce.DAY, TimeInForce.GTC, TimeInForce.GTC_EXT, TimeInForce.IOC)


class Trader:
    """Places, replaces and cancels orders in several accounts, moves prices, and lets time pass.

    ``reserved`` holds what the service said a working order takes from the buying power, by order.
    """

    def __init__(self, client: Client, sim: Simulator, menu: Menu, accounts: tuple[str, ...], seed: int) -> None:
        self._client = client
        self._sim = sim
        self._menu = menu
        self._accounts = accounts
        self._rng = random.Random(seed)
        self._held: dict[tuple[str, str], Decimal] = Counter()  # type: ignore[assignment]  # Counts of Decimal.
        self._placed: list[tuple[str, str]] = []
        self.reserved: dict[str, Decimal] = {}
        self.counts: Counter[str] = Counter()

    @property
    def orders(self) -> int:
        return self.counts["accepted"] + self.counts["replaced"]

    async def step(self) -> None:
        rng = self._rng
        act = rng.choices((self.place, self.replace, self.cancel, self.move_price), (70, 14, 10, 6))[0]
        try:
            await act(rng.choice(self._accounts))
        except errors.UnprocessableError as refusal:
            self.counts[f"refused: {refusal.code}"] += 1
        await asyncio.sleep(rng.uniform(4, 20) * HOURS if rng.random() < LONG_WAIT else rng.choice(WAITS))

    # Acts

    async def place(self, account: str) -> None:
        legs = self.legs(account)
        order = await self.order(legs)
        placed = await self._client.orders.submit(account, order)
        self.counts["accepted"] += 1
        self.counts[f"{order.order_type}, {len(legs)} x {legs[0].instrument_type}"] += 1
        identifier = known(known(placed.order).id)
        self._placed.append((account, identifier))
        self.reserved[identifier] = taken(placed)
        for leg in legs:
            if leg.quantity is not None:
                self._held[account, leg.symbol] += leg.quantity if leg.action.startswith("Buy") else -leg.quantity

    async def replace(self, account: str) -> None:
        """Replace a working limit order by one at another price."""
        live = [one for one in await self._client.orders.live("me", [account]) if one.editable]
        limits = [one for one in live if one.order_type is OrderType.LIMIT and one.complex_order_id is None]
        if not limits:
            return
        old = limits[0] if self._rng.random() < 0.5 else self._rng.choice(limits)  # The newest may be about to trade.
        price = (known(old.price) * Decimal(self._rng.choice(("0.9", "0.97", "1.03", "1.2")))).quantize(Decimal("0.01"))
        edit = models.OrderEdit(
            order_type=OrderType.LIMIT,
            time_in_force=known(old.time_in_force),
            price=max(price, Decimal("0.01")),
            price_effect=old.price_effect,
        )
        checked = await self._client.orders.edit_dry_run(account, known(old.id), models.OrderEditDryRun.of(edit))
        new = await self._client.orders.replace(account, known(old.id), edit)
        self.counts["replaced"] += 1
        self._placed.append((account, known(new.id)))
        self.reserved[known(new.id)] = taken(checked)

    async def cancel(self, account: str) -> None:
        recent = [identifier for owner, identifier in self._placed[-40:] if owner == account]
        if recent:
            await self._client.orders.cancel(account, self._rng.choice(recent))
            self.counts["cancelled"] += 1

    async def move_price(self, account: str) -> None:
        symbol = self._menu.facts[self._rng.choice(list(self._menu.facts))].underlying
        factor = Decimal(self._rng.choice(("0.96", "0.99", "1.01", "1.04")))
        price = self._sim.price(symbol)
        self._sim.set_price(symbol, (price * factor).quantize(price))
        self.counts["price moved"] += 1

    # Orders

    def legs(self, account: str) -> list[NewOrderLeg]:
        menu, rng = self._menu, self._rng
        kind = rng.choices(("shares", "option", "spread", "futures", "coins"), (30, 20, 20, 18, 12))[0]
        if kind == "spread":
            group = rng.choice(menu.options)
            count = rng.choice((2, 2, 2, 3, 4))
            size = rng.randint(1, 5)
            chosen = rng.sample(group, count)
            return [self.leg(account, symbol, Decimal(size * rng.choice((1, 1, 1, 2)))) for symbol in chosen]
        if kind == "option":
            return [self.leg(account, rng.choice(rng.choice(menu.options)), Decimal(rng.randint(1, 12)))]
        if kind == "futures":
            return [self.leg(account, rng.choice(menu.futures), Decimal(rng.randint(1, 6)))]
        if kind == "coins":
            return [self.leg(account, rng.choice(menu.coins), Decimal(rng.randint(1, 200_000)) / 100_000)]
        return [self.leg(account, rng.choice(menu.shares), Decimal(rng.randint(1, 300)))]

    def leg(self, account: str, symbol: str, quantity: Decimal) -> NewOrderLeg:
        """Return a leg that closes a position at times, exactly, in part or beyond zero."""
        held = self._held.get((account, symbol), Decimal(0))
        closes = held != 0 and self._rng.random() < 0.6
        if closes and self._rng.random() < 0.5:
            quantity = abs(held)
        buys = held < 0 if closes else self._rng.random() < 0.55
        if closes:
            return (tickets.buy_to_close if buys else tickets.sell_to_close)(symbol, quantity)
        return (tickets.buy_to_open if buys else tickets.sell_to_open)(symbol, quantity)

    async def order(self, legs: list[NewOrderLeg]) -> NewOrder:
        rng, facts = self._rng, [self._menu.facts[leg.symbol] for leg in legs]
        kind = rng.choices(("limit", "market", "stop", "stop limit", "notional"), (55, 20, 10, 5, 10))[0]
        marks = await prices_of(self._client, facts)
        is_share = len(legs) == 1 and facts[0].kind == "Equity"
        force = rng.choice([each for each in FORCES if is_share or each is not TimeInForce.GTC_EXT])
        has_no_stops = facts[0].kind == "Future Option" and kind.startswith("stop")
        if kind == "limit" or len(legs) > 1 or has_no_stops:
            return self.limit(legs, marks, force)
        [leg], mark = legs, marks[legs[0].symbol]
        if kind == "notional" and facts[0].kind in ("Equity", "Cryptocurrency"):
            bare = models.NewOrderLeg(instrument_type=leg.instrument_type, symbol=leg.symbol, action=leg.action)
            most = int(mark * 95) if is_share else 2_000_000  # less than one share
            return tickets.notional(bare, value=Decimal(rng.randint(500, max(most, 501))) / 100)
        trigger = rounded(mark * Decimal(rng.choice(("0.97", "0.995", "1.005", "1.03"))))
        if kind == "stop":
            if leg.action.endswith("to Open") and force in (TimeInForce.GTC, TimeInForce.GTC_EXT):
                force = TimeInForce.DAY  # one that opens is never GTC
            return tickets.stop(leg, trigger=trigger, time_in_force=force)
        if kind == "stop limit":
            return tickets.stop_limit(
                leg, trigger=trigger, price=rounded(trigger * Decimal("1.01")), time_in_force=force
            )
        return tickets.market(leg)

    def limit(self, legs: list[NewOrderLeg], marks: dict[str, Decimal], force: TimeInForce) -> NewOrder:
        away = Decimal(self._rng.choice(("0.03", "0.01", "0.01", "0.003", "-0.004", "-0.05")))
        if len(legs) == 1:
            side = 1 if legs[0].action.startswith("Buy") else -1
            return tickets.limit(legs[0], price=rounded(marks[legs[0].symbol] * (1 + side * away)), time_in_force=force)
        units = gcd(*(int(known(leg.quantity)) for leg in legs))
        net = sum(
            (
                marks[leg.symbol] * known(leg.quantity) / units * (1 if leg.action.startswith("Buy") else -1)
                for leg in legs
            ),
            Decimal(0),
        )
        price = net + abs(net) * away
        if price >= 0:
            return tickets.limit(*legs, debit=rounded(price), time_in_force=force)
        return tickets.limit(*legs, credit=rounded(-price), time_in_force=force)


def taken(placed: models.PlacedOrderResponse) -> Decimal:
    effect = known(placed.buying_power_effect)
    debit = effect.change_in_buying_power_effect is models.PriceEffect.DEBIT
    return known(effect.change_in_buying_power) if debit else Decimal(0)


def rounded(price: Decimal) -> Decimal:
    places = Decimal("0.01") if price >= 2 else Decimal("0.0001")
    return max(price.quantize(places, ROUND_HALF_UP), places)
