"""Seeded orders of all kinds through the public client, on instruments as the service lists them."""

import asyncio
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from decimal import ROUND_HALF_UP, Decimal
from math import gcd
from typing import Any, TypeVar

import attrs

from brokerage_async import Client, errors, models, symbols, tickets
from brokerage_async.models import NewOrder, NewOrderLeg, OrderType, TimeInForce
from brokerage_async.simulator import Simulator

from .second import Fact

T = TypeVar("T")

SHARES = ("AAPL", "SPY", "QQQ", "F", "KO", "BRK/B", "MSFT", "HALT", "GONE")
OPTIONS_ON = ("AAPL", "SPY", "QQQ")
INDEX = "SPX"
PRODUCTS = ("ES", "CL", "6E", "MYM")
COINS = ("BTC/USD", "ETH/USD", "ADA/USD")
STRIKES, EXPIRATIONS = 8, 3
MAX_SYMBOLS = 100


@attrs.frozen(kw_only=True)
class Menu:
    """Facts by symbol, and the symbols of options in groups of one underlying."""

    facts: Mapping[str, Fact]
    options: list[list[str]]

    def of(self, kind: str) -> list[str]:
        return [one.symbol for one in self.facts.values() if one.kind == kind]


async def menu_of(client: Client) -> Menu:
    equities = [one async for one in client.instruments.equities(symbols=SHARES)]
    invented = [one async for one in client.instruments.equities(per_page=60) if "Holdings" in known(one.description)]
    futures = [one async for one in client.instruments.futures(product_codes=PRODUCTS)]
    traded = [one for one in futures if one.active_month or one.next_active_month]
    sizes = {known(one.symbol): known(one.notional_multiplier) for one in futures}
    coins = await client.instruments.cryptocurrencies(symbols=COINS)
    listed = [list(near(await client.option_chains.flat(symbol))) for symbol in OPTIONS_ON]
    chains = [list(near(await client.instruments.futures_option_chain(code))) for code in PRODUCTS]
    groups = [[option_fact(one, Decimal(known(one.shares_per_contract))) for one in group] for group in listed]
    groups.append(list(index_facts(groups[0])))
    groups += [[option_fact(one, sizes[known(one.underlying_symbol)]) for one in group] for group in chains]
    every = [fact("Equity", one) for one in (*equities, *invented[:4])]
    every += [fact("Future", one, sizes[known(one.symbol)]) for one in traded]
    every += [fact("Cryptocurrency", one) for one in coins]
    every += [one for group in groups for one in group]
    options = [[one.symbol for one in group] for group in groups]
    return Menu(facts={one.symbol: one for one in every}, options=options)


def near(options: Iterable[Any]) -> Iterator[Any]:
    """Yield the options of some strikes in the middle of the first expirations."""
    by_day: dict[Any, dict[Any, list[Any]]] = {}
    for option in options:
        by_day.setdefault(option.expiration_date, {}).setdefault(option.strike_price, []).append(option)
    for day in sorted(by_day)[:EXPIRATIONS]:
        strikes = sorted(by_day[day])
        first = max(0, (len(strikes) - STRIKES) // 2)
        for strike in strikes[first : first + STRIKES]:
            yield from by_day[day][strike]


def fact(kind: str, row: Any, multiplier: Decimal = Decimal(1)) -> Fact:
    return Fact(symbol=row.symbol, kind=kind, underlying=row.symbol, multiplier=multiplier)


def option_fact(option: models.EquityOption | models.FutureOption, multiplier: Decimal) -> Fact:
    return Fact(
        symbol=known(option.symbol),
        kind="Equity Option" if isinstance(option, models.EquityOption) else "Future Option",
        underlying=known(option.underlying_symbol),
        multiplier=multiplier,
        strike=known(option.strike_price),
        option_type=known(option.option_type).value,
        expires=known(option.expiration_date),
    )


def index_facts(like: Iterable[Fact]) -> Iterator[Fact]:
    """Yield options on an index, which are traded without being listed, with the terms of listed ones."""
    for number, one in enumerate(like):
        strike = Decimal(5900 + 25 * (number // 2 % STRIKES))
        symbol = symbols.occ_symbol(INDEX, one.expires, one.option_type, strike)
        yield attrs.evolve(one, symbol=symbol, underlying=INDEX, strike=strike)


async def prices_of(client: Client, facts: Iterable[Fact]) -> dict[str, Decimal]:
    """Return the marks of instruments and of their underlyings."""
    wanted: dict[str, dict[str, None]] = {}
    for one in facts:
        wanted.setdefault(one.kind.lower().replace(" ", "_"), {})[one.symbol] = None
        underlying_kind = {"Equity Option": "equity", "Future Option": "future"}.get(one.kind)
        if one.underlying == INDEX:
            wanted.setdefault("index", {})[INDEX] = None
        elif underlying_kind is not None:
            wanted.setdefault(underlying_kind, {})[one.underlying] = None
    marks: dict[str, Decimal] = {}
    for kind, names in wanted.items():
        every = list(names)
        for start in range(0, len(every), MAX_SYMBOLS):
            asked: Any = {kind: every[start : start + MAX_SYMBOLS]}
            marks |= {known(row.symbol): known(row.mark) for row in await client.market_data.by_type(**asked)}
    return marks


def known(value: T | None) -> T:
    assert value is not None
    return value


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
        factor, cent = Decimal(self._rng.choice(("0.9", "0.97", "1.03", "1.2"))), Decimal("0.01")
        price = max((known(old.price) * factor).quantize(cent), cent)
        terms = {"time_in_force": known(old.time_in_force), "price": price, "price_effect": old.price_effect}
        edit = models.OrderEdit(order_type=OrderType.LIMIT, **terms)
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
            return [self.leg(account, rng.choice(menu.of("Future")), Decimal(rng.randint(1, 6)))]
        if kind == "coins":
            return [
                self.leg(account, rng.choice(menu.of("Cryptocurrency")), Decimal(rng.randint(1, 200_000)) / 100_000)
            ]
        return [self.leg(account, rng.choice(menu.of("Equity")), Decimal(rng.randint(1, 300)))]

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
            price = rounded(trigger * Decimal("1.01"))
            return tickets.stop_limit(leg, trigger=trigger, price=price, time_in_force=force)
        return tickets.market(leg)

    def limit(self, legs: list[NewOrderLeg], marks: dict[str, Decimal], force: TimeInForce) -> NewOrder:
        away = Decimal(self._rng.choice(("0.03", "0.01", "0.01", "0.003", "-0.004", "-0.05")))
        if len(legs) == 1:
            side = 1 if legs[0].action.startswith("Buy") else -1
            return tickets.limit(legs[0], price=rounded(marks[legs[0].symbol] * (1 + side * away)), time_in_force=force)
        units = gcd(*(int(known(leg.quantity)) for leg in legs))
        net = Decimal(0)
        for leg in legs:
            amount = marks[leg.symbol] * known(leg.quantity) / units
            net += amount if leg.action.startswith("Buy") else -amount
        price = net + abs(net) * away
        terms = {"debit": rounded(price)} if price >= 0 else {"credit": rounded(-price)}
        return tickets.limit(*legs, **terms, time_in_force=force)


def taken(placed: models.PlacedOrderResponse) -> Decimal:
    effect = known(placed.buying_power_effect)
    debit = effect.change_in_buying_power_effect is models.PriceEffect.DEBIT
    return known(effect.change_in_buying_power) if debit else Decimal(0)


def rounded(price: Decimal) -> Decimal:
    places = Decimal("0.01") if price >= 2 else Decimal("0.0001")
    return max(price.quantize(places, ROUND_HALF_UP), places)
