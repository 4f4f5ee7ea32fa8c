"""Readings of lists, and what a ledger makes of them."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import attrs

from brokerage_async import models
from brokerage_async.watch.ledger import Books, Discrepancy, Execution, Item, Ledger
from tests.tables import for_each

NOON = datetime(2026, 6, 10, 16, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def fill(number: int, quantity: int, price: str = "100", seconds: float = 10) -> models.Fill:
    return models.Fill(
        fill_id=f"F{number}", ext_exec_id=f"X{number}", quantity=Decimal(quantity), fill_price=Decimal(price),
        filled_at=at(seconds),
    )  # fmt: skip


def order(*fills: models.Fill, quantity: int = 10, status: str = "Live", **options: Any) -> models.Order:
    leg: dict[str, Any] = {"symbol": "AAPL", "action": "Buy to Open", "fills": fills, **options.pop("leg", {})}
    legs = (models.OrderLeg(quantity=Decimal(quantity), **leg),)
    return models.Order(id="1", status=models.OrderStatus(status), legs=legs, received_at=at(0), **options)


def row(number: int, quantity: int, price: str = "100", seconds: float = 10, **options: Any) -> models.Transaction:
    given: dict[str, Any] = {
        "id": f"T{number}", "order_id": "1", "symbol": "AAPL", "transaction_type": models.TransactionType.TRADE,
        "transaction_sub_type": models.TransactionSubType("Buy to Open"), "action": models.LegAction.BUY_TO_OPEN,
        "quantity": Decimal(quantity), "price": Decimal(price), "executed_at": at(seconds),
        "exec_id": f"X{number}", "ext_exec_id": f"X{number}",
    }  # fmt: skip
    return models.Transaction(**{**given, **options})


def position(quantity: int, average: str = "100", symbol: str = "AAPL", **options: Any) -> models.Position:
    direction = models.QuantityDirection.LONG if quantity > 0 else models.QuantityDirection.SHORT
    return models.Position(
        symbol=symbol, quantity=Decimal(abs(quantity)), quantity_direction=direction,
        average_open_price=Decimal(average), **options,
    )  # fmt: skip


@attrs.define
class Reader:
    ledger: Ledger = attrs.field(factory=lambda: Ledger("A"))
    now: float = 20.0

    def observe(self, *orders: models.Order, wait: float = 60) -> list[Any]:
        self.now += wait
        news = self.ledger.observe(orders, at(self.now), at(0))
        return [(each.kind, each.fill_id, each.quantity, each.price) for each in news]

    def reconcile(
        self, positions: Sequence[models.Position] = (), rows: Sequence[models.Transaction] = (), times: int = 2
    ) -> list[Any]:
        news = []
        for _ in range(times):
            self.now += 60
            news += self.ledger.reconcile(positions, rows, at(self.now))
        return [(each.kind, each.fill_id, each.quantity, each.price) for each in news]

    @property
    def off(self) -> list[Any]:
        found = (each for each in self.ledger.items() if isinstance(each, Discrepancy))
        return [(each.kind, each.subject, each.expected, each.seen) for each in found]

    def begin(self, *orders: models.Order, positions: Sequence[models.Position] = ()) -> Reader:
        self.observe(*orders)
        self.reconcile(positions, times=1)
        return self


def test_fill_is_new_once_and_changes_are_events_of_it() -> None:
    old, first, second = fill(0, 1, seconds=-5), fill(1, 3, seconds=12), fill(2, 2, seconds=11)
    reader = Reader()
    assert reader.observe(order(old)) == []
    assert reader.observe(order(old, first, second)) == [("fill", "F2", 2, 100), ("fill", "F1", 3, 100)]
    assert reader.observe(order(old, first, second)) == []
    assert reader.observe(order(old, fill(1, 3, "101"), second)) == [("correction", "F1", 3, 101)]
    assert reader.observe(order(fill(0, 4, seconds=-5), fill(1, 3, "101"), second)) == [("correction", "F0", 4, 100)]
    first = fill(0, 4, seconds=-5)
    rest = order(first, second)
    reader.observe(order())  # a list may lag
    assert reader.reconcile([], times=1) == []
    assert reader.observe(order(fill(0, 4, seconds=-5), fill(1, 3, "101"), second)) == []
    for listed, rows, news in (
        (rest, [row(1, 3, "101")], []),  # its transaction stands
        (order(leg={"fills": None}), [], []),  # a leg without a list says nothing
        (rest, [], [("bust", "F1", 3, 101)]),
    ):
        reader.observe(listed)
        assert reader.reconcile([], rows, times=1) == []
        reader.observe(listed)
        assert reader.reconcile([], rows, times=1) == news, listed
        if not news:
            assert reader.observe(order(first, second, fill(1, 3, "101"))) == []
    assert reader.observe() == []  # an order that left its list says nothing
    assert reader.observe(order(fill(1, 3, "101"), second)) == [("correction", "F1", 3, 101)]


def test_fills_with_one_identifier_are_two() -> None:
    reader, twice = Reader(), order(fill(1, 3), fill(1, 2, "99"))
    assert reader.observe(twice) == [("fill", "F1", 3, 100), ("fill", "F1#2", 2, 99)]
    assert reader.observe(twice) == []
    legs = (order(fill(1, 3)).legs or ()) + (order(fill(1, 2, "99")).legs or ())
    assert reader.observe(attrs.evolve(twice, legs=legs)) == []
    other = order(fill(3, 1, seconds=11), leg={"symbol": "KO"}).legs or ()
    reader.observe(
        attrs.evolve(twice, legs=(*(order(*legs[0].fills or (), fill(2, 1, seconds=12)).legs or ()), *other))
    )
    seen = [each.last.fill_id for each in reader.ledger.items() if isinstance(each, Execution)]
    assert seen == ["F1", "F1#2", "F3", "F2"], "fills of an order come in the order of their times"
    bare = [attrs.evolve(fill(0, n, seconds=n), fill_id=None, ext_exec_id=None) for n in (13, 12, 11)]  # newest first
    reader = Reader().begin(order())
    assert [[each[0] for each in reader.observe(order(*bare[n:]))] for n in (2, 0, 0)] == [["fill"], ["fill"] * 2, []]


def test_fill_that_only_transactions_show_is_reported_if_the_sums_say_so() -> None:
    reader = Reader().begin(order())
    reader.observe(order(fill(1, 3)))
    seven, three = row(2, 7), row(1, 3)
    for rows, news in (
        ([three], []),
        ([row(1, 1), row(9, 2, exec_id="X1", ext_exec_id="X1")], []),  # one fill in two parts
        ([row(9, 3)], []),  # other identifiers
        ([row(8, 1), row(9, 2)], []),  # booked in other parts
        ([row(9, 4)], []),  # a sum that no row makes up
        ([three, seven], [("fill", "X2", 7, 100)]),
        ([three, seven], []),
    ):
        assert reader.reconcile([position(3)], rows) == news, rows
    assert reader.observe(order(fill(1, 3), fill(2, 7))) == []  # listed at last
    assert reader.observe(order(fill(1, 3), fill(2, 7, "99"))) == [("correction", "X2", 7, 99)]


def test_reversed_transaction_is_a_bust_or_a_correction() -> None:
    again = row(3, 3, "98", exec_id="X1", ext_exec_id="X1")
    reversal = row(2, 3, reverses_id="T1", action=models.LegAction.SELL_TO_CLOSE)
    for rows, listed, news in (
        ([reversal, row(1, 3)], [fill(1, 3)], [("bust", "F1", 3, 100)]),
        ([reversal], [fill(1, 3)], [("bust", "F1", 3, 100)]),  # the first one is out of reach
        ([reversal, row(1, 3), again], [fill(1, 3)], [("correction", "F1", 3, 98)]),
        ([reversal, row(1, 3), again], [fill(1, 3, "98")], []),  # the list was first
        ([reversal, row(1, 3)], [], [("fill", "X1", 3, 100), ("bust", "X1", 3, 100)]),  # it came and went
    ):
        reader = Reader().begin(order())
        reader.observe(order(*listed))
        assert reader.reconcile([], rows) == news, rows
        assert reader.observe(order(*listed)) == []  # though the list still has it
        assert reader.reconcile([], rows) == []


def test_bust_and_unlisted_fill_of_one_leg_are_reported_together() -> None:
    reader = Reader().begin(order())
    reader.observe(order(fill(1, 3)))
    rows = [row(3, 3, reverses_id="T1"), row(1, 3), row(2, 7)]
    assert sorted(reader.reconcile([position(7)], rows)) == [("bust", "F1", 3, 100), ("fill", "X2", 7, 100)]
    assert reader.off == []


def test_one_reversal_decides_about_one_of_two_fills_alike() -> None:
    strange: dict[str, Any] = {"exec_id": "Y", "ext_exec_id": "Y"}
    for again, kind in (([], "bust"), ([row(4, 3, "98", **strange)], "correction")):
        reader = Reader().begin(order())
        reader.observe(order(fill(1, 3), fill(2, 3)))
        rows = [row(3, 3, reverses_id="T1", **strange), row(1, 3, **strange)]
        rows += [row(2, 3, exec_id="Z", ext_exec_id="Z"), *again]
        assert [each[0] for each in reader.reconcile([], rows, times=5)] == [kind]


def test_what_does_not_add_up_lasts_before_it_counts_and_is_kept_until_it_changes() -> None:
    reader = Reader().begin(order(), positions=[position(5), position(-2, symbol="KO")])
    reader.observe(order(fill(1, 3)))
    wrong = [position(9), position(-2, symbol="KO")]
    reader.reconcile(wrong, [row(1, 3)], times=1)
    assert reader.off == []
    reader.reconcile(wrong, [row(1, 3)], times=1)
    assert reader.off == [("position", "AAPL", 8, 9)]
    first = reader.ledger.items()
    reader.observe(order(fill(1, 3), fill(2, 1)))
    reader.reconcile([position(10), *wrong[1:]], [row(1, 3), row(2, 1)])
    assert reader.ledger.items()[-1] is first[-1]  # the same difference
    reader.reconcile([position(12), *wrong[1:]], [row(1, 3), row(2, 1)])
    assert reader.off == [("position", "AAPL", 9, 12)]
    reader.reconcile([position(9), *wrong[1:]], [row(1, 3), row(2, 1)])
    assert reader.off == []
    assert not reader.ledger.is_unsettled
    reader.reconcile([position(9)], [row(1, 3), row(2, 1)])
    assert reader.off == [("position", "KO", -2, 0)]


def test_difference_that_has_another_cause_now_begins_to_last_anew() -> None:
    reader = Reader().begin(order())
    reader.observe(order(fill(1, 5)))
    rows = [row(1, 5), row(2, 2)]
    assert reader.reconcile([position(7)], rows, times=1) == []
    assert reader.reconcile([position(9)], [*rows, row(3, 2)], times=1) == [("fill", "X2", 2, 100)]
    assert reader.off == []
    assert reader.reconcile([position(9)], [*rows, row(3, 2)], times=1) == [("fill", "X3", 2, 100)]
    assert reader.off == []


def test_times_that_are_wrong_for_a_moment_hide_nothing_later() -> None:
    reader = Reader().begin(order())
    reader.observe(order(fill(1, 3, seconds=10**9)))
    now, reader.now = reader.now, 10.0**8
    reader.reconcile([position(9)], [row(1, 3)], times=1)
    reader.now = now
    assert reader.observe(order(fill(1, 3), fill(2, 1, seconds=now))) == [("fill", "F2", 1, 100)]
    reader.reconcile([position(10)], [row(1, 3), row(2, 1)])
    assert reader.off == [("position", "AAPL", 4, 10)]


def test_discrepancy_is_found_and_other_changes_are_none() -> None:
    three = order(fill(1, 3))
    kind = models.TransactionType.RECEIVE_DELIVER
    delivered: dict[str, Any] = {"order_id": None, "transaction_type": kind, "exec_id": None}
    merged = {**delivered, "symbol": "X", "underlying_symbol": "AAPL", "transaction_sub_type": "Stock Merger"}
    expired = position(3, expires_at=at(100))
    for name, orders, positions, rows, expected in (
        ("all is well", [three], [position(3)], [row(1, 3)], []),
        ("average price", [three], [position(3, "100.02")], [], [("average_price", "AAPL", 100, Decimal("100.02"))]),
        ("within a cent", [three], [position(3, "100.01")], [], []),
        ("delivery", [three], [position(5)], [row(5, 2, **delivered, transaction_sub_type="Exercise")] * 2, []),
        (
            "other delivery", [three], [position(6)], [row(5, 2, **delivered, transaction_sub_type="Exercise")],
            [("position", "AAPL", 5, 6)],
        ),
        ("split", [three], [position(6, "50")], [row(5, 1, **delivered, transaction_sub_type="Forward Split")], []),
        ("merger", [three], [position(4)], [row(5, 1, **merged)], []),
        ("expired", [three], [expired], [], []),
        ("filled", [order(fill(1, 10), status="Filled")], [position(10)], [], []),
        ("missing", [order(fill(1, 3), status="Filled")], [position(3)], [], [("missing_fills", "1 AAPL", 10, 3)]),
        (
            "cancelled", [order(fill(1, 3), status="Cancelled", leg={"remaining_quantity": Decimal(6)})],
            [position(3)], [], [("missing_fills", "1 AAPL", 4, 3)],
        ),
        (
            "no order", [three], [position(5)], [row(1, 3), row(2, 2, order_id=None)],
            [("unknown_execution", "transaction T2", 0, 2)],
        ),
        (
            "strange reversal", [three], [position(3)], [row(2, 2, order_id=None, reverses_id="T77")],
            [("unknown_execution", "transaction T2", 0, 2)],
        ),
        (
            "blanks", [order(fill(1, 3), leg={"symbol": "./ESZ6  EW3U6 260918P9100"})],
            [position(3, symbol="./ESZ6 EW3U6 260918P9100")], [], [],
        ),
    ):  # fmt: skip
        reader = Reader().begin()
        reader.observe(*orders)
        if name == "expired":
            reader.reconcile(positions)
            positions = []
        reader.reconcile(positions, rows)
        assert reader.off == expected, name


def test_average_price_is_known_again_once_the_position_was_flat() -> None:
    cases = [((2, -1), False), ((2, -1, 1), False), ((2, -2, 3), True), ((2, -5), True), ((2, 2), True)]
    for fills, is_judged in cases:
        orders = []
        for number, change in enumerate(fills):
            leg = {"action": "Buy to Open" if change > 0 else "Sell to Close"}
            made = order(fill(number, abs(change), seconds=10 + number), leg=leg)
            orders.append(attrs.evolve(made, id=str(number)))
        for off, price in ((False, "100"), (is_judged, "120")):
            reader = Reader().begin()
            reader.observe(*orders)
            reader.reconcile([position(sum(fills), price)])
            assert [kind for kind, *_ in reader.off] == ["average_price"] * off, (fills, price)


def test_strangers_are_orders_that_no_list_has_shown() -> None:
    reader = Reader().begin(order())
    assert reader.ledger.strangers([row(1, 3), row(2, 3, order_id="2"), row(3, 1, order_id=None)]) == {"2"}
    assert reader.ledger.strangers([row(2, 3, order_id="2", seconds=-99)]) == set()


@for_each("crashed", [False, True])
def test_fills_of_orders_that_cannot_change_are_forgotten_into_the_base(crashed: bool) -> None:
    working = attrs.evolve(order(fill(5, 1)), id="5")
    ended = order(fill(1, 10, "90"), status="Filled")
    reader = Reader().begin(working, positions=[position(1)])
    reader.observe(ended, working)
    rows = [row(1, 10, "90"), row(5, 1, order_id="5")]
    before = reader.ledger.items()
    reader.now += 6.5 * 86400
    reader.observe(working)
    reader.reconcile([position(11)], rows)
    after = reader.ledger.items()
    assert [each.last.fill_id for each in after if isinstance(each, Execution)] == ["F5"]
    assert isinstance(after[0], Books)
    assert after[0].base == {"AAPL": (Decimal(10), Decimal(90))}
    assert after[0].search_from == NOON.date()
    kept: list[Item] = [*after, *(each for each in before if isinstance(each, Execution))] if crashed else after
    again = Reader(now=reader.now)
    again.ledger.restore(kept)
    assert again.observe(ended, working) == []
    again.reconcile([position(11, "95")], rows)
    assert again.off == [("average_price", "AAPL", Decimal(1000) / 11, 95)]


def test_ledger_stays_as_large_as_the_days_that_it_remembers() -> None:
    reader, rows, sizes = Reader().begin(), list[models.Transaction](), list[int]()
    delivered = models.TransactionType.RECEIVE_DELIVER
    for day in range(60):
        today, symbol = reader.now, f"AAPL {day:06}"
        option: dict[str, Any] = {"symbol": symbol, "order_id": f"{day}"}
        old = attrs.evolve(order(fill(0, 1, seconds=-(10**6)), quantity=1, status="Filled"), id=f"old {day}")
        new = order(fill(1, 10, seconds=today), status="Filled", leg={"symbol": symbol})
        reader.observe(attrs.evolve(new, id=f"{day}"), old)
        rows.append(row(day, 10, seconds=today, **option))
        reader.reconcile([position(10, symbol=symbol, expires_at=at(today + 3600))], rows)
        reader.now = today + 86400
        over: dict[str, Any] = {"transaction_type": delivered, "transaction_sub_type": "Expiration", "order_id": None}
        over |= {"action": models.LegAction.SELL_TO_CLOSE, "exec_id": None, "ext_exec_id": None}
        rows = [*rows[-12:], row(10**6 + day, 10, seconds=today + 3600, **{**option, **over})]
        reader.reconcile([], rows)
        assert reader.off == []
        sizes.append(len(pickle.dumps(reader.ledger)))
    assert sizes[-1] < 1.02 * max(sizes[:20]), sizes


def test_fill_that_was_decided_about_days_later_is_not_new_when_its_own_day_is_forgotten() -> None:
    again: dict[str, Any] = {"exec_id": "X1", "ext_exec_id": "X1", "seconds": 2 * 86400}
    rows, works = [row(1, 3), row(2, 3, reverses_id="T1", **again), row(3, 3, "98", **again)], [order(fill(1, 3))]
    for listed, booked, kind in ((works, rows, "correction"), ([], rows, "correction"), ([], rows[:2], "bust")):
        reader, held = Reader().begin(order()), [position(3)] if kind == "correction" else []
        reader.observe(*works)
        assert [each[0] for each in reader.reconcile(held, booked)] == [kind]
        reader.now += 6.2 * 86400
        reader.observe(*listed)
        assert reader.reconcile(held, booked, times=4) == reader.off == []


def test_reversals_of_fills_alike_decide_about_each_once_without_common_identifiers() -> None:
    for second in (92, 91):
        reader, rows = Reader().begin(order()), list[models.Transaction]()
        reader.observe(order(fill(1, 1, "91"), fill(2, 1, str(second))))
        for number, price in ((1, 91), (2, second)):
            other: dict[str, Any] = {"exec_id": f"Y{number}", "ext_exec_id": None}
            rows += [row(number, 1, str(price), **other), row(number + 10, 1, reverses_id=f"T{number}", **other)]
            rows.append(row(number + 20, 1, str(price + 1), **other))
        assert sorted(each[3] for each in reader.reconcile([position(2)], rows, times=9)) == [92, second + 1]
    reader.observe(order(fill(1, 1, "92")))
    rows = [row(1, 1, "92", exec_id="Z", ext_exec_id=None), row(2, 1, reverses_id="T1", exec_id="Z")]
    assert [each[:2] for each in reader.reconcile([position(1)], rows, times=4)] == [("bust", "F2")]


def test_reversal_and_order_of_forgotten_fills_are_no_discrepancies() -> None:
    reader, nameless = Reader().begin(order()), {"order_id": None, "exec_id": None, "ext_exec_id": None}
    reader.observe(order(fill(1, 3), quantity=3, status="Filled"))
    rows = [row(1, 3), row(2, 3, reverses_id="T1", seconds=2 * 86400, **nameless)]
    for _ in range(9):
        reader.reconcile([], rows)
        reader.observe(wait=86400)
        assert reader.off == []
    reader.observe(order(quantity=3, status="Filled", terminal_at=at(20)))  # as a search shows it after a restart
    reader.reconcile()
    assert reader.off == []
