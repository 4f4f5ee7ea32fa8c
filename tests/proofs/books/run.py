"""Runs one seed on virtual time, and holds what the service shows of an account against the second computation."""

import asyncio
import contextlib
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any

import attrs

from brokerage_async import Client, errors, models
from brokerage_async.simulator import Simulator
from tests.loops import on_virtual_time

from .second import EQUITY_MARGIN_RATES, ZERO, Book, Fill, day_of
from .trader import Menu, Trader, known, menu_of, prices_of

INTERVAL = timedelta(minutes=5)
WORKING = ("Received", "Routed", "In Flight", "Live", "Contingent", "Cancel Requested", "Replace Requested")


@attrs.define
class Check:
    """Figures compared so far, and those that differ."""

    compared: int = 0
    differences: list[str] = attrs.field(factory=list)

    def same(self, what: str, shown: object, computed: object) -> None:
        self.compared += 1
        if shown != computed:
            self.differences.append(f"{what}: the service shows {shown}, computed {computed}")


async def check_account(
    client: Client, account: models.Account, menu: Menu, reserved: Mapping[str, Decimal], check: Check
) -> int:
    """Compare everything that the service shows of an account at this moment, and return the number of fills."""
    number = known(account.account_number)
    orders = [order async for order in client.orders.list(number, per_page=200, sort="Asc")]
    booked = [one async for one in client.transactions.list(number, per_page=2000, sort="Asc")]
    fills = {fill.exec_id: fill for order in orders for fill in fills_of(order)}
    book = Book(kind=known(account.margin_or_cash), facts=menu.facts)
    check_orders(orders, check)
    check_transactions(booked, fills, book, check)
    marks = await prices_of(client, [menu.facts[symbol] for symbol in book.holdings])
    positions = await client.positions.list(number, include_marks=True)
    check_positions(number, positions, book, marks, check)
    held = sum((left_reserved(order, reserved) for order in orders), ZERO)
    [balance] = await client.balances.list(number)
    check_balance(balance, book, marks, held, check)
    report = await client.margin.requirements(number)
    check.same(f"{number} margin requirement", known(report.margin_requirement), book.requirement(marks))
    for day, fees in book.fees.items():
        total = await client.transactions.total_fees(number, date=day)
        check.same(f"{number} fees of {day}", signed(total, "total_fees"), -fees)
    await check_history(client, balance, booked, book, marks, check)
    return len(fills)


def fills_of(order: models.Order) -> Iterator[Fill]:
    for leg in order.legs or ():
        for fill in leg.fills or ():
            yield Fill(
                exec_id=known(fill.ext_exec_id),
                at=known(fill.filled_at),
                symbol=known(leg.symbol),
                action=known(leg.action).value,
                quantity=known(fill.quantity),
                price=known(fill.fill_price),
            )


def check_orders(orders: Iterable[models.Order], check: Check) -> None:
    for order in orders:
        for leg in order.legs or ():
            left = known(leg.quantity) - sum((known(fill.quantity) for fill in leg.fills or ()), ZERO)
            check.same(f"{order.id} remaining {leg.symbol}", known(leg.remaining_quantity), left)
        shown = [known(leg.remaining_quantity) for leg in order.legs or ()]  # further legs may fill after the status
        check.same(f"{order.id} is filled", order.status is models.OrderStatus.FILLED, shown[:1] == [0])
        if order.status is models.OrderStatus.CANCELLED:
            check.same(f"{order.id} cancelled size", order.cancelled_size, sum(shown, ZERO))


def check_transactions(
    booked: Iterable[models.Transaction], fills: Mapping[str, Fill], book: Book, check: Check
) -> None:
    """Book deposits and fills in their order, and compare each transaction with its fill."""
    seen: set[str] = set()
    total = ZERO
    for row in booked:
        total += signed(row, "net_value")
        if row.transaction_type == "Receive Deliver":
            check_expiration(row, book, check)
            continue
        if row.transaction_type != "Trade":
            book.cash += signed(row, "value")
            check.same(f"{row.id} net value of a movement", signed(row, "net_value"), signed(row, "value"))
            continue
        fill = fills.get(str(row.exec_id)) or execution_of(row)
        seen.add(fill.exec_id)
        book.add(fill)
        check.same(f"{row.id} symbol", row.symbol, fill.symbol)
        check.same(f"{row.id} action", known(row.action).value, fill.action)
        check.same(f"{row.id} quantity", row.quantity, fill.quantity)
        check.same(f"{row.id} price", row.price, fill.price)
        check.same(f"{row.id} day", row.transaction_date, day_of(fill.at))
        fees = book.fees_of(fill)
        for name, amount in fees.items():
            check.same(f"{row.id} {name}", signed(row, name), -amount)
        value = book.values[fill.exec_id]
        check.same(f"{row.id} value", signed(row, "value"), value)
        check.same(f"{row.id} net value", signed(row, "net_value"), value - sum(fees.values(), ZERO))
    check.same("fills without a transaction", fills.keys() - seen, set())
    check.same("sum of the net values", total, book.cash)
    check.same("deliveries that are due", {key: units for key, units in book.due.items() if units}, {})


def check_expiration(row: models.Transaction, book: Book, check: Check) -> None:
    """Book an end of a position at its expiration (all of it, on its day, for its value alone), or its delivery."""
    end = execution_of(row)
    if book.facts[end.symbol].option_type:
        held = book.holdings.get(end.symbol)
        check.same(f"{row.id} ended quantity", -end.bought, None if held is None else held.quantity)
        check.same(f"{row.id} day of expiration", day_of(end.at), book.facts[end.symbol].expires)
    book.expire(end, str(row.transaction_sub_type))
    for name in ("value", "net_value"):
        check.same(f"{row.id} {name} of an expiration", signed(row, name), book.values[end.exec_id])


def execution_of(row: models.Transaction) -> Fill:
    assert row.order_id is None, f"{row.id} has no fill"
    return Fill(
        exec_id=known(row.exec_id),
        at=known(row.executed_at),
        symbol=known(row.symbol),
        action=known(row.action).value,
        quantity=known(row.quantity),
        price=known(row.price),
    )


def check_positions(
    number: str, positions: Iterable[models.Position], book: Book, marks: Mapping[str, Decimal], check: Check
) -> None:
    shown = {known(row.symbol): row for row in positions}
    check.same(f"{number} positions", sorted(shown), sorted(book.holdings))
    for symbol in shown.keys() & book.holdings.keys():
        row, held, fact = shown[symbol], book.holdings[symbol], book.facts[symbol]
        what = f"{number} {symbol}"
        short = row.quantity_direction is models.QuantityDirection.SHORT
        check.same(f"{what} quantity", -known(row.quantity) if short else row.quantity, held.quantity)
        average = Decimal(held.average.numerator) / Decimal(held.average.denominator)
        check.same(f"{what} average price", round(known(row.average_open_price), 9), round(average, 9))
        check.same(f"{what} multiplier", row.multiplier, fact.multiplier)
        check.same(f"{what} mark price", row.mark_price, marks[symbol])
        check.same(f"{what} mark", row.mark, round(abs(held.quantity) * marks[symbol] * fact.multiplier, 2))
        today = row.realized_day_gain_date
        gain = held.gains[today] if today is not None else ZERO
        check.same(f"{what} gain of the day", signed(row, "realized_day_gain"), gain)


def check_balance(
    row: models.AccountBalance, book: Book, marks: Mapping[str, Decimal], reserved: Decimal, check: Check
) -> None:
    number = row.account_number
    values = {name: ZERO for kind in VALUES.values() for name in (f"long_{kind}_value", f"short_{kind}_value")}
    futures = ZERO
    for symbol, held in book.holdings.items():
        fact, worth = book.facts[symbol], book.worth(symbol, marks[symbol])
        amount = Decimal(worth.numerator) / Decimal(worth.denominator)
        long = held.quantity > 0
        values[f"{'long' if long else 'short'}_{VALUES[fact.kind]}_value"] += amount if long else -amount
        if fact.kind == "Future":
            futures += book.group_requirement([symbol], marks)
    net_liq, required = book.net_liq(marks), book.requirement(marks)
    maintenance = round(required * Decimal("0.6"), 2)
    power = net_liq - required - reserved
    figures = {
        "cash_balance": book.cash,
        "cash_settle_balance": book.cash,
        "net_liquidating_value": net_liq,
        "margin_equity": net_liq,
        "reg_t_margin_requirement": required,
        "maintenance_requirement": maintenance,
        "maintenance_excess": net_liq - maintenance,
        "futures_margin_requirement": futures,
        "derivative_buying_power": power,
        "available_trading_funds": power,
        "equity_buying_power": power / EQUITY_MARGIN_RATES[book.kind],
        "used_derivative_buying_power": net_liq - power,
        "cash_available_to_withdraw": max(ZERO, min(book.cash, power)),
        **values,
    }
    for name, amount in figures.items():
        check.same(f"{number} {name}", getattr(row, name), round(amount, 2))


VALUES = {
    "Equity": "equity",
    "Equity Option": "derivative",
    "Future": "futures",
    "Future Option": "futures_derivative",
    "Cryptocurrency": "cryptocurrency",
}
"""Names of instrument types within the figures of a balance."""


def left_reserved(order: models.Order, reserved: Mapping[str, Decimal]) -> Decimal:
    """Return the buying power that an order still holds: less with each partial fill, nothing once it is replaced."""
    amount = reserved.get(known(order.id), ZERO)
    if str(order.status) not in WORKING or order.status is models.OrderStatus.REPLACE_REQUESTED:
        return ZERO
    leg = known(order.legs)[0]
    left = known(leg.quantity)
    for fill in leg.fills or ():
        before, left = left, left - known(fill.quantity)
        amount = round(amount * left / before, 3)
    return amount


async def check_history(
    client: Client,
    balance: models.AccountBalance,
    booked: Sequence[models.Transaction],
    book: Book,
    marks: Mapping[str, Decimal],
    check: Check,
) -> None:
    """Compare the past with the bookings up to then: the cash of snapshots, and the newest net liquidating value."""
    number, now = known(balance.account_number), known(balance.updated_at)
    async for row in client.balances.snapshots(number, start_date=min(book.fees, default=None)):
        until = known(row.updated_at)
        cash = sum((signed(one, "net_value") for one in booked if known(one.executed_at) <= until), ZERO)
        check.same(f"{number} cash of {until:%F %R}", row.cash_balance, round(cash, 2))
    newest = (await client.balances.net_liq_history(number, time_back=models.NetLiqRange.DAY))[-1]
    if now - known(newest.time) < INTERVAL:  # The last interval of a session ends with it.
        check.same(f"{number} newest net liquidating value", newest.close, book.net_liq(marks))


def signed(row: Any, name: str) -> Decimal:
    amount = getattr(row, name) or ZERO
    return -amount if getattr(row, f"{name}_effect") is models.PriceEffect.DEBIT else amount


CASH = 50_000_000
SETTLED = 30.0
ATTEMPTS = 10


@on_virtual_time
async def play(seed: int, orders: int = 5_000, check_every: int = 500) -> Counter[str]:
    """Place orders of a seed, replacements included, and compare all books every few steps and at the end.

    Return what happened. AssertionError: figures differ.
    """
    sim = Simulator("production", seed=seed, equities=60, equity_options=5_000, chain_rows=1_200, cash=CASH)
    check = Check()
    async with sim.client() as client:
        menu = await menu_of(client)
        trader = Trader(client, sim, menu, sim.account_numbers, seed)
        # The second account has complex orders that the trader does not see until all have ended.
        for number in itertools.count(1):
            await trader.step()
            if number % check_every == 0:
                await _check(client, sim.account_numbers[::2], menu, trader, check)
            if trader.orders >= orders:
                break
        await _end_all(client, sim.account_numbers)
        fills = await _check(client, sim.account_numbers, menu, trader, check)
    assert not check.differences, "\n".join(check.differences[:50])
    return trader.counts + Counter({"fills": fills, "figures compared": check.compared})


async def _check(client: Client, accounts: Sequence[str], menu: Menu, trader: Trader, check: Check) -> int:
    owned = {known(one.account).account_number: known(one.account) for one in await client.accounts.list("me")}
    return sum([await check_account(client, owned[number], menu, trader.reserved, check) for number in accounts])


async def _end_all(client: Client, accounts: Sequence[str]) -> None:
    for _ in range(ATTEMPTS):
        listed = [order for account in accounts for order in await client.orders.list(account).collect()]
        working = [order for order in listed if known(order.status) in WORKING]
        if not working:
            return
        for order in working:
            with contextlib.suppress(errors.UnprocessableError):
                await client.orders.cancel(known(order.account_number), known(order.id))
        await asyncio.sleep(SETTLED)
    raise AssertionError(f"{len(working)} orders do not end")
