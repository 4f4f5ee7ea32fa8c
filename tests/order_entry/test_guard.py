"""The guard and the switch, against a whole brokerage on virtual time."""

import asyncio
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import attrs
import pytest

from brokerage_async import models, tickets
from brokerage_async.errors import ConfigurationError, InvalidRequestError, OrderRefusedError
from brokerage_async.journal import EntryState, MemoryJournal
from brokerage_async.order_entry import ChangeOutcome, OrderChange, OrderEntry, OrderGuard, Outcome, Placement, exposure
from brokerage_async.order_entry.exposure import UNLISTED, held_by, shows_quantity, underlying_of, usage_of, value_of
from tests import trading
from tests.http.calls import raised_by
from tests.protocol.values import raised
from tests.tables import for_each
from tests.trading import Floor, bracket_order, edit, on_floor, order

pytestmark = pytest.mark.virtual_time

REFUSED, PLACED = Outcome.REFUSED, Outcome.PLACED
NOW = datetime(2026, 6, 10, 14, tzinfo=UTC)


def guarded(here: Floor, **caps: Any) -> OrderEntry:
    """Return order entry of another process over the same journal."""
    return OrderEntry(here.client, here.journal, guard=OrderGuard(**caps))


def buy(quantity: int, price: str = "10", symbol: str = "AAPL") -> models.NewOrder:
    return tickets.limit(tickets.buy_to_open(symbol, quantity), price=price)


def short(quantity: int) -> models.NewOrder:
    return tickets.limit(tickets.sell_to_open("AAPL", quantity), price="900")


def stopped_by(placement: Placement) -> str:
    """Return the caps that an order was refused for, after checking that it names them."""
    assert placement.outcome is REFUSED, placement
    error = placement.error
    assert (error.code, raised(OrderRefusedError, placement.require).code) == ("guard_refused", "guard_refused")
    assert placement.external_identifier in error.message
    assert all(each.code in error.message for each in error.errors)
    return " ".join(str(each.code) for each in error.errors)


def codes_of(result: Placement | OrderChange) -> list[str | None]:
    return [result.error.code, *(each.code for each in result.error.errors)]


CAPS: dict[str, tuple[dict[str, Any], list[models.NewOrder], list[str]]] = {
    "value of one order": ({"max_order_value": 100}, [buy(10), buy(11)], ["", "max_order_value"]),
    "quantity of one order": ({"max_order_quantity": "10"}, [buy(10), buy(11)], ["", "max_order_quantity"]),
    "value in a minute": ({"max_value_per_minute": 150}, [buy(10), buy(6), buy(5)], ["", "max_value_per_minute", ""]),
    "value in a day": ({"max_value_per_day": 150}, [buy(10), buy(6), buy(5)], ["", "max_value_per_day", ""]),
    "orders in a minute": ({"max_orders_per_minute": 2}, [buy(1)] * 3, ["", "", "max_orders_per_minute"]),
    "orders in a day": ({"max_orders_per_day": 1}, [buy(1)] * 2, ["", "max_orders_per_day"]),
    "no order": ({"max_orders_per_day": 0}, [buy(1)], ["max_orders_per_day"]),
    "symbols": ({"symbols": ["AAPL"]}, [buy(1), buy(1, symbol="MSFT")], ["", "symbols"]),
    "instrument types": ({"instrument_types": ["Future"]}, [buy(1)], ["instrument_types"]),
    "net position": ({"max_net_quantity": 20}, [buy(15), buy(6), buy(5)], ["", "max_net_quantity", ""]),
    "net short": ({"max_net_quantity": 20}, [short(15), short(6), short(5)], ["", "max_net_quantity", ""]),
    "two caps": (
        {"max_value_per_day": 100, "max_orders_per_day": 1},
        [buy(10), buy(1)],
        ["", "max_value_per_day max_orders_per_day"],
    ),
}


@for_each("name, caps, orders, expected", [(name, *row) for name, row in CAPS.items()])
@on_floor()
async def test_caps_stop_the_orders_that_pass_them(
    here: Floor, name: str, caps: dict[str, Any], orders: list[models.NewOrder], expected: list[str]
) -> None:
    entry = guarded(here, **caps)
    placements = [await entry.place(here.account, each) for each in orders]
    assert ["" if each.outcome is PLACED else stopped_by(each) for each in placements] == expected
    assert len(here.wire.bodies["orders.submit"]) == expected.count("")


async def test_cap_is_free_again_when_its_window_has_passed(here: Floor) -> None:
    entry = guarded(here, max_value_per_minute=100, max_value_per_day=150)
    first = (await entry.place(here.account, buy(9))).require()
    await asyncio.sleep(5)
    (await entry.place(here.account, buy(1))).require()
    refused = await entry.place(here.account, buy(5))
    assert stopped_by(refused) == "max_value_per_minute"
    free_at = first.opened_at.timestamp() + 60  # the last of the earlier orders need not be waited for
    assert refused.error.retry_after == pytest.approx(free_at - here.sim.clock.now(), abs=1)
    assert "100 of 100 dollars are used, this one needs 50: free again at 20" in refused.error.message
    await asyncio.sleep(refused.error.retry_after)
    (await entry.place(here.account, buy(5))).require()
    never = await entry.place(here.account, buy(16))
    assert "it can never have as much" in str(never.error)
    assert never.error.retry_after is None


async def test_only_refused_and_unsent_orders_give_their_share_back(here: Floor) -> None:
    entry = guarded(here, max_orders_per_day=2, max_value_per_day=200)
    for fault, expected in (("status(422)", REFUSED), ("refuse", Outcome.NOT_SENT)):
        here.on_submit(fault, times=5)
        assert (await entry.place(here.account, buy(20))).outcome is expected
        here.sim.faults.clear()
    await trading.place_unknown(here, entry=entry, fault="drop_before")
    (await entry.place(here.account, buy(10))).require()
    assert stopped_by(await entry.place(here.account, buy(1))) == "max_value_per_day max_orders_per_day"


@on_floor(environment="production")
async def test_market_order_is_valued_by_the_far_side_of_one_quote(here: Floor) -> None:
    ticket = tickets.market(tickets.buy_to_open("AAPL", 10))
    quote = (await here.client.market_data.by_type(equity=["AAPL"]))[0]
    entry = guarded(here, max_order_value=quote.ask * 11, max_value_per_day=quote.ask * 11)
    here.wire.bodies.clear()
    (await entry.place(here.account, ticket)).require()
    assert len(here.wire.bodies["market_data.by_type"]) == 1
    assert stopped_by(await entry.place(here.account, ticket)) == "max_value_per_day"
    here.sim.faults.add("GET", "/market-data", "status(500)", times=9)
    refused = await entry.place(here.account, ticket)
    assert stopped_by(refused) == "max_order_value"
    assert "could not be valued" in str(refused.error)


EQUITY, OPTION = models.InstrumentType.EQUITY, models.InstrumentType.EQUITY_OPTION
FUTURE, FUTURE_OPTION = models.InstrumentType.FUTURE, models.InstrumentType.FUTURE_OPTION
CRYPTO, BOND = models.InstrumentType.CRYPTOCURRENCY, models.InstrumentType.FIXED_INCOME_SECURITY
CALL, QUOTED = "AAPL  260612C00110000", {"bid": Decimal(3), "ask": Decimal(4)}
COVERED = [(EQUITY, "AAPL", "Buy to Open"), (OPTION, CALL, "Sell to Open")]


class Measuring:
    """A context under a guard, and its executor, which knows quotes and units of contracts and notes the calls."""

    def __init__(self, caps: dict[str, Any], quote: dict[str, Any] = QUOTED, units: int | None = 50) -> None:
        self.guard, self.executor, self.contracts = OrderGuard(**caps), self, dict[str, Any]()
        self.quote, self.units, self.asked = quote, units, list[str]()

    async def execute(self, call: Any) -> Any:
        self.asked.append(" ".join([call.operation.name.split(".")[1], *call.query, *call.path.values()]))
        if call.query:
            return [models.MarketDataSnapshot(symbol=one, **self.quote) for some in call.query.values() for one in some]
        field = {"equity_option": "shares_per_contract", "future": "notional_multiplier", "future_option": "multiplier"}
        return SimpleNamespace(underlying_symbol=None, **{field[call.operation.name.split(".")[1]]: self.units})


def at_market(*legs: tuple[models.InstrumentType, str, str], price: int | None = None) -> models.NewOrder:
    made = [
        models.NewOrderLeg(action=models.LegAction(action), instrument_type=kind, symbol=symbol, quantity=Decimal(2))
        for kind, symbol, action in legs
    ]
    return attrs.evolve(buy(1), legs=tuple(made), price=None if price is None else Decimal(price))


@for_each(
    "legs, value, asked",
    [
        ([(EQUITY, "AAPL", "Buy to Open")], 8, ["by_type equity"]),
        ([(EQUITY, "AAPL", "Sell to Close")], 6, ["by_type equity"]),
        ([(CRYPTO, "BTC/USD", "Buy to Open")], 8, ["by_type cryptocurrency"]),
        ([(OPTION, CALL, "Buy to Open")], 400, ["by_type equity-option", f"equity_option {CALL}"]),
        ([(FUTURE, "/ESZ6", "Sell")], 300, ["by_type future", "future /ESZ6"]),
        ([(FUTURE_OPTION, "./ESZ6 E", "Buy")], 400, ["by_type future-option", "future_option ./ESZ6 E"]),
        (COVERED, 308, ["by_type equity equity-option", f"equity_option {CALL}"]),
    ],
)
async def test_value_is_quantity_times_multiplier_times_far_side_of_quote(legs: Any, value: int, asked: Any) -> None:
    """Each contract is read once, and an order with a price needs no quote."""
    context: Any = Measuring({"max_value_per_day": 10_000})
    for ticket, total in ((at_market(*legs), value), (at_market(*legs), value), (at_market(legs[-1], price=10), None)):
        usage = await usage_of(context, "A1", "x", ticket)
        assert (usage.value, usage.max_value_per_day) == (total or (1000 if asked[1:] else 20), 10_000)
    assert context.asked == [*asked, asked[0]]


OF_MONEY, STOCK = tickets.notional(tickets.buy_to_open("AAPL"), value=40), at_market((EQUITY, "AAPL", "Buy to Open"))
BONDS, FUTURES = at_market((BOND, "T", "Buy to Open")), at_market((FUTURE, "/ESZ6", "Buy"), price=1)
PAIR = at_market((EQUITY, "AAPL", "Buy to Open"), (EQUITY, "MSFT", "Sell to Open"))
TOO_MUCH = "{} in one order, 9 are allowed: it can never have as much"


@for_each(
    "caps, values, ticket, cap, reason, requests",
    [
        ({"max_order_value": 9}, {"quote": {}}, STOCK, "max_order_value", "AAPL has no ask", 1),
        ({"max_value_per_minute": 9}, {"quote": {"ask": Decimal(0)}}, STOCK, "max_value_per_minute", "has no ask", 1),
        ({"max_value_per_day": 9}, {}, BONDS, "max_value_per_day", "T has no ask", 0),
        ({"max_order_value": 9}, {"units": None}, FUTURES, "max_order_value", "/ESZ6 shows no multiplier", 1),
        ({"max_order_quantity": 9}, {"quote": {}}, OF_MONEY, "max_order_quantity", "AAPL has no ask", 1),
        ({"max_order_quantity": 9}, {}, OF_MONEY, "max_order_quantity", TOO_MUCH.format("10 shares or contracts"), 1),
        ({"max_order_value": 9}, {}, OF_MONEY, "max_order_value", TOO_MUCH.format("40 dollars"), 0),
        ({"max_order_value": 9, "symbols": ["MSFT"]}, {}, STOCK, "symbols", "AAPL must be one of MSFT", 0),
        ({"max_order_value": 9, "instrument_types": []}, {}, FUTURES, "instrument_types", "must be one of none", 0),
        ({"max_net_quantity": 9}, {}, PAIR, "max_net_quantity", "an order must have one underlying, got 2", 0),
        ({"max_order_value": 9}, {}, None, "guard", "its terms could not be read", 0),
    ],
)
async def test_order_that_cannot_be_measured_or_is_too_large_names_the_cap_without_needless_requests(
    caps: Any, values: Any, ticket: models.NewOrder | None, cap: str, reason: str, requests: int
) -> None:
    context: Any = Measuring(caps, **values)
    with pytest.raises(OrderRefusedError, match=f"^order x of account A1: {cap}: .*{reason}") as caught:
        await usage_of(context, "A1", "x", ticket)
    assert (caught.value.code, [each.code for each in caught.value.errors]) == ("guard_refused", [cap])
    assert (caught.value.account_number, len(context.asked)) == ("A1", requests)


async def test_replacement_of_an_order_that_does_not_show_its_legs_is_refused() -> None:
    context: Any = Measuring({"max_order_value": 9})
    shown = models.OrderLeg(symbol="AAPL", action=models.LegAction.BUY_TO_OPEN, instrument_type=EQUITY)
    for original in (None, models.Order(id="1"), models.Order(id="1", legs=(shown, models.OrderLeg(symbol="MSFT")))):
        with pytest.raises(OrderRefusedError, match="the replacement of order 1 of account A1: guard: its terms"):
            await exposure.usage_of_replacement(context, "A1", "1", original, edit())


def owned(quantity: int | None, symbol: str | None = "AAPL", **terms: Any) -> models.Position:
    return models.Position(symbol=symbol, quantity=None if quantity is None else Decimal(quantity), **terms)


def listed(action: str, size: int, status: str = "Live", *, filled: float = 60, left: Any = None, **terms: Any) -> Any:
    """Return a listed order with a fill of 3 some seconds ago."""
    fill = models.Fill(quantity=Decimal(3), filled_at=NOW - timedelta(seconds=filled))
    leg: Any = {"symbol": "AAPL", "action": models.LegAction(action), "remaining_quantity": left, "fills": (fill,)}
    legs = (models.OrderLeg(quantity=Decimal(size), **leg),)
    return models.Order(status=models.OrderStatus(status), legs=legs, **terms)


@for_each(
    "positions, orders, long, short",
    [
        ([owned(5), owned(2, CALL, underlying_symbol="AAPL", quantity_direction="Short")], [], 3, -3),
        ([owned(9, "MSFT"), owned(None), owned(9, None)], [], 0, 0),
        ([owned(4, None, underlying_symbol="AAPL")], [], 4, -4),
        ([], [listed("Buy to Open", 5), listed("Sell to Open", 2), listed("Sell", 1)], 5, 3),
        ([], [listed("Buy", 5, underlying_symbol="MSFT"), listed("Buy", 5, "Cancelled")], 0, 0),
        ([], [listed("Buy", 9, left=Decimal(4)), listed("Sell", 9, left=Decimal(0))], 4, 0),
        # Exits wait for their entry, and replacements for their original.
        ([], [listed("Sell to Close", 5, "Contingent"), listed("Buy to Open", 5, "Contingent")], 5, 0),
        ([], [listed("Buy to Open", 5, "Contingent", replaces_order_id="1")], 0, 0),
        # A fill counts until a position shows it, or must have shown it.
        ([owned(5)], [listed("Buy", 3, "Filled", filled=4.9)], 8, -5),
        ([owned(5)], [listed("Buy", 3, "Filled", filled=5)], 5, -5),
        ([owned(5, updated_at=NOW - timedelta(seconds=1))], [listed("Buy", 3, "Filled", filled=1)], 5, -5),
        ([owned(5, updated_at=NOW - timedelta(seconds=2))], [listed("Sell", 3, "Filled", filled=1)], 5, -2),
    ],
)
def test_net_position_is_held_or_may_still_be_filled(positions: Any, orders: Any, long: int, short: int) -> None:
    assert held_by("AAPL", orders, positions, NOW) == (long, short)


async def test_net_position_counts_positions_and_working_orders_at_worst(here: Floor) -> None:
    """That of options counts by underlying, whatever their root is."""
    trading.hold(here, quantity=10)
    entry = guarded(here, max_net_quantity=15)
    sell = tickets.limit(tickets.sell_to_close("AAPL", 10), price="900")
    sold = (await entry.place(here.account, sell)).require()  # at worst 0, and still 10 if it is not filled
    await entry.cancel(here.account, sold.order_id, wait=True)
    option = (await here.client.option_chains.flat("BRK/B"))[-1].symbol
    assert option.startswith("BRKB ")
    for ticket, stopped in (
        (buy(6), "max_net_quantity"), (buy(5), ""), (buy(1), "max_net_quantity"), (buy(15, symbol="MSFT"), ""),
        (buy(10, symbol="BRK/B"), ""),
        (tickets.limit(tickets.buy_to_open(option, 6), price=1), "max_net_quantity"),
        (tickets.limit(tickets.buy_to_open(option, 5), price=1), ""),
        (buy(1, symbol="BRK/B"), "max_net_quantity"),
    ):  # fmt: skip
        placement = await entry.place(here.account, ticket)
        assert ("" if placement.outcome is PLACED else stopped_by(placement)) == stopped, ticket
    (await entry.cancel_all(here.account))
    assert stopped_by(await entry.place(here.account, buy(6))) == "max_net_quantity"  # the lists may lag behind
    await asyncio.sleep(UNLISTED.total_seconds())
    (await entry.place(here.account, buy(5))).require()
    here.sim.faults.add("GET", "/positions", "status(500)", times=9)
    unread = await entry.place(here.account, buy(1, symbol="MSFT"))
    assert stopped_by(unread) == "max_net_quantity"
    assert "the net position could not be read" in str(unread.error)


def test_order_whose_quantity_is_not_listed_counts_by_its_share() -> None:
    """The share in the journal is left out only for an order that the list measures."""
    for quantity, status, name, is_measured in (
        (Decimal(1), "Live", "mine", True), (None, "Live", "mine", False), (None, "Filled", "mine", True),
        (Decimal(1), "Live", None, False),
    ):  # fmt: skip
        legs = (models.OrderLeg(symbol="AAPL", quantity=quantity),)
        listed = models.Order(id="1", status=models.OrderStatus(status), external_identifier=name, legs=legs)
        assert shows_quantity(listed) is is_measured, (quantity, status, name)


async def test_many_orders_at_once_never_pass_a_cap(here: Floor) -> None:
    entries = [guarded(here, max_value_per_day=500, max_net_quantity=60) for _ in range(4)]
    placements = await asyncio.gather(*(entries[n % 4].place(here.account, buy(10)) for n in range(12)))
    assert [each.outcome for each in placements].count(PLACED) == 5


async def test_complex_order_counts_what_it_opens(here: Floor) -> None:
    entry = guarded(here, max_order_value=100, max_value_per_day=150, max_net_quantity=10)
    (await entry.place_complex(here.account, bracket_order())).require()  # exits at 900 each, which close
    refused = await entry.place_complex(here.account, bracket_order())
    assert stopped_by(refused) == "max_value_per_day max_net_quantity"
    trading.hold(here, "MSFT")
    refused = await entry.place_complex(here.account, trading.exclusive_orders(symbol="MSFT"))
    assert stopped_by(refused) == "max_order_value"


async def test_replacement_is_journaled_and_counts_what_it_adds(here: Floor, caplog: pytest.LogCaptureFixture) -> None:
    entry = guarded(here, max_order_value=130, max_value_per_day=120, max_orders_per_day=2)
    placed = (await entry.place(here.account, buy(10), label="dip")).require()
    for price, cap in (("14", "max_order_value"), ("13", "max_value_per_day")):
        change = await entry.replace(here.account, placed.order_id, edit(price))
        assert (change.outcome, codes_of(change)) == (ChangeOutcome.REFUSED, ["guard_refused", cap])
        assert f"the replacement of order {placed.order_id}" in change.error.message
    change = await entry.replace(here.account, placed.order_id, edit("12"))
    assert change.outcome is ChangeOutcome.APPLIED
    _, journaled = await here.journaled()
    assert (journaled.state, journaled.replaces, journaled.label) == (EntryState.PLACED, placed.order_id, "dip")
    assert journaled.order_id == change.order_id
    change = await entry.edit(here.account, change.order_id, edit("11"))
    assert codes_of(change) == ["guard_refused", "max_orders_per_day"]
    assert "2 of 2 orders are used" in str(change.error)
    assert "could not record" not in caplog.text


@for_each("fault, outcome", [("drop_after", PLACED), ("drop_before", Outcome.UNKNOWN)])
@on_floor()
async def test_replacement_that_a_crash_interrupts_is_recovered(here: Floor, fault: str, outcome: Outcome) -> None:
    placed = (await here.entry.place(here.account, buy(10))).require()
    here.sim.faults.add("PUT", r"/orders/\d+$", fault, times=1)
    await trading.cancelled(here.entry.replace(here.account, placed.order_id, edit()), 1)
    said = list[str]()
    [found] = await here.another_entry().recover(report=said.append)
    assert found.outcome is outcome
    assert found.order_id != placed.order_id
    [line] = said
    assert line.startswith(f"searches for 1 order of account {here.account} until found, at most until ")
    entry = (await here.journaled())[-1]
    assert entry.state is (EntryState.PLACED if outcome is PLACED else EntryState.OPEN)


async def test_halt_stops_everything_but_cancellations_until_it_is_resumed(here: Floor) -> None:
    entry, another = here.entry, here.another_entry()
    placed = (await entry.place(here.account, buy(10))).require()
    here.on_submit("refuse", times=5)
    assert (await entry.place(here.account, order("mine"))).outcome is Outcome.NOT_SENT
    here.sim.faults.clear()
    assert await entry.halt("the model drifts") == []
    await entry.halt("again")
    sent = len(here.wire.bodies["orders.submit"])
    for stopped in (
        await entry.place(here.account, order("mine")),
        await another.place(here.account, buy(1)),
        await another.place_complex(here.account, bracket_order()),
        await another.replace(here.account, placed.order_id, edit()),
        await another.edit(here.account, placed.order_id, edit()),
    ):
        assert (stopped.outcome, codes_of(stopped)) == ("refused", ["halted"])
        assert "the model drifts" in str(stopped.error)
    assert (len(here.wire.bodies["orders.submit"]), here.wire.bodies["orders.replace"]) == (sent, [])
    assert [halt.reason for halt in (await another.status()).halts] == ["the model drifts"]
    assert (await another.cancel(here.account, placed.order_id)).outcome is ChangeOutcome.APPLIED
    assert await entry.resume()
    assert not await entry.resume()
    (await another.place(here.account, buy(1))).require()


async def test_halt_of_an_account_or_a_label_stops_no_other(here: Floor) -> None:
    await here.entry.halt("label", label="dip")
    await here.entry.halt("account", account_number="another")
    assert (await here.entry.place(here.account, buy(1), label="dip")).outcome is REFUSED
    placed = (await here.entry.place(here.account, order("mine"), label="other")).require()
    (await here.entry.place(here.account, buy(1))).require()
    await here.entry.halt("label", label="other")
    for name in (None, "another"):  # a replacement has the label of its original, whatever its name is
        change = await here.entry.replace(here.account, placed.order_id, edit(external_identifier=name))
        assert (change.outcome, codes_of(change)) == (ChangeOutcome.REFUSED, ["halted"])
    assert not await here.entry.resume()
    assert await here.entry.resume(label="dip")
    (await here.entry.place(here.account, buy(1), label="dip")).require()


async def test_halt_returns_the_attempts_before_it_and_stops_the_next_one(here: Floor) -> None:
    here.on_submit("drop_before", times=2)
    placing = asyncio.create_task(here.entry.place(here.account, order("mine"), resubmit=1))
    await asyncio.sleep(2)
    recorded = await here.another_entry().halt("enough")
    assert [(each.external_identifier, each.outcome) for each in recorded] == [("mine", Outcome.UNKNOWN)]
    assert (recorded[0].code, recorded[0].note[:24]) == ("in_progress", "recorded before the halt")
    await asyncio.wait({placing})
    assert "are halted since" in str(placing.exception())
    assert len(here.wire.bodies["orders.submit"]) == 1
    here.sim.faults.clear()
    await here.entry.resume()
    (await here.entry.place(here.account, order("mine"), resubmit=1)).require()


async def test_outcomes_that_repeat_halt_the_journal(here: Floor) -> None:
    for _ in range(3):  # of one order, they count as one
        entry = guarded(here, max_order_quantity=1, halt_after_refusals=(2, 3600.0))
        assert stopped_by(await entry.place(here.account, order("mine"))) == "max_order_quantity"
    assert await here.journal.halts() == []
    await here.entry.resume()
    for rule, fault in (("halt_after_refusals", "status(422)"), ("halt_after_unknown", "drop_before")):
        entries = [guarded(here, **{rule: (3, 3600.0)}) for _ in range(3)]
        for number in range(4):
            here.on_submit(fault)
            (placement,) = await asyncio.gather(entries[number % 3].place(here.account, buy(1)), return_exceptions=True)
            code = getattr(placement, "error", None) and placement.error.code  # type: ignore[union-attr]
            assert (code == "halted") is (number == 3), (rule, number, placement)
        [halt] = (await here.entry.status()).halts
        assert halt.reason.startswith("automatic: 3 times ")
        await here.entry.resume()
        here.sim.faults.clear()
        (await here.entry.place(here.account, buy(1))).require()


async def test_pruned_identifier_stays_used_and_its_share_counted(here: Floor) -> None:
    entry = guarded(here, max_orders_per_day=1)
    (await entry.place(here.account, order("mine"))).require()
    await asyncio.sleep(1)
    assert await here.journal.prune(before=await here.journal.now()) == 1
    assert await here.journaled() == []
    error = await raised_by(entry.place(here.account, order("mine")), InvalidRequestError, "pruned")
    assert error.code == "identifier_in_use"
    with pytest.raises(InvalidRequestError, match="time zone"):
        await here.journal.prune(before=datetime(2026, 3, 2))  # noqa: DTZ001 - naive on purpose
    assert stopped_by(await entry.place(here.account, order("another"))) == "max_orders_per_day"


async def test_values_that_make_no_sense_are_refused(here: Floor) -> None:
    for values in (
        {"max_order_value": 1.5}, {"max_order_value": -1}, {"max_orders_per_day": "3"}, {"symbols": "AAPL"},
        {"halt_after_unknown": 3}, {"halt_after_unknown": (1, 86_401)},
        {"halt_after_refusals": (0, 60)}, {"halt_after_refusals": (1, -1)},
    ):  # fmt: skip
        raised(ConfigurationError, OrderGuard, match=f"OrderGuard.{next(iter(values))}", **values)
    for cap in ("order_value", "order_quantity", "value_per_minute", "value_per_day", "net_quantity"):
        assert getattr(OrderGuard(**{f"max_{cap}": "1.50"}), f"max_{cap}") == Decimal("1.50"), cap
    assert OrderGuard(halt_after_unknown=(1, 86_400)).halt_after_unknown == (1, 86_400)
    with pytest.raises(ConfigurationError, match="guard must be an OrderGuard"):
        here.client.order_entry(MemoryJournal(), guard={"max_order_value": 1})  # type: ignore[arg-type]
    await here.entry.halt("all")
    for scope in ({"account_number": ""}, {"label": ""}, {"account_number": 5}):
        for call in (here.entry.resume, lambda **scope: here.entry.halt("why", **scope)):
            await raised_by(call(**scope), InvalidRequestError, "must be a")
    [halt] = await here.journal.halts()
    assert (halt.account_number, halt.label) == (None, None)


async def test_every_component_keeps_the_lists_and_the_quantity_of_one_order(here: Floor) -> None:
    def entry_with_exits(symbol: str, quantity: int) -> models.NewComplexOrder:
        exits = tickets.sell_to_close(symbol, quantity)
        profit, loss = tickets.limit(exits, price="900"), tickets.stop(exits, trigger="5")
        return attrs.evolve(bracket_order(), orders=(profit, loss))

    small = tickets.limit(tickets.sell_to_close("AAPL", 1), price="900")
    large = tickets.stop_limit(tickets.sell_to_close("AAPL", 1000), price="95", trigger="96")
    for cap, value, asked in (
        ("max_order_quantity", 10, entry_with_exits("AAPL", 1000)),
        ("symbols", ["AAPL"], entry_with_exits("SPY", 10)),
        ("max_order_quantity", 10, tickets.one_cancels_other(small, large)),
        ("max_order_value", 90_000, tickets.one_cancels_other(small, large)),
    ):
        stopped = stopped_by(await guarded(here, **{cap: value}).place_complex(here.account, asked))
        assert set(stopped.split()) == {cap}, (cap, stopped)


def test_value_of_small_quantities_is_exact_and_every_symbol_has_its_underlying() -> None:
    (leg,) = at_market((CRYPTO, "BTC/USD", "Buy to Open")).legs
    for quantities, sets in ((["0.0000009"], "0.0000009"), (["1.00000001"], "1.00000001"), (["4", "6"], "2")):
        legs = tuple(attrs.evolve(leg, quantity=Decimal(each)) for each in quantities)
        asked = attrs.evolve(buy(1, "100000"), time_in_force=models.TimeInForce.GTC, legs=legs)
        assert value_of(asked, {"BTC/USD": Decimal(1)}, {}) == Decimal(sets) * 100_000
    symbols = {
        "AAPL": "AAPL", "BRK/B": "BRK/B", "AAPL  260612C00110000": "AAPL", "GOOGLX260612C00110000": "GOOGLX",
        "/ES": "/ES", "/ESZ6": "/ES", "./ESZ6 EW3U6 260918P9100": "/ES", "BTC/USD": "BTC/USD",
    }  # fmt: skip
    assert {symbol: underlying_of(symbol) for symbol in symbols} == symbols
