"""Caps and halts in every journal: what the statements decide, and what processes that are killed leave behind."""

import asyncio
import random
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from brokerage_async.errors import OrderRefusedError
from brokerage_async.journal import EntryKey, EntryState, Journal, MemoryJournal, SqliteJournal
from brokerage_async.journal.caps import DAY, MINUTE, Excess, Usage, excesses, objections, stored
from tests.http.calls import raised_by
from tests.journal.workers import open_up_to_a_cap, start_together
from tests.journal_servers import Durable, key
from tests.loops import on_real_time
from tests.processes import crowd


async def opens(journal: Journal, name: EntryKey, usage: Usage | None = None, **options: Any) -> str:
    """Open an entry, and return "" or why that was refused."""
    try:
        _, fresh = await journal.open(name, b"{}", **{"owner": "a", "lease": 30, "usage": usage, **options})
    except OrderRefusedError as error:
        return " ".join(str(each.code) for each in error.errors) or str(error.code)
    assert fresh
    return ""


async def test_shares_of_refused_and_unsent_entries_are_given_back_in_every_journal(journal: Journal) -> None:
    usage = Usage(value=Decimal("33.34"), max_value_per_day=Decimal(100), max_orders_per_day=4)
    assert [await opens(journal, key(n), usage) for n in (0, 1, 2)] == ["", "", "max_value_per_day"]
    for number, state in enumerate((EntryState.REFUSED, EntryState.NOT_SENT, EntryState.PLACED)):
        assert await journal.close(key(number), owner="a", state=state) is (number < 2)
        outcome = await opens(journal, key(number + 10), usage)
        assert (outcome == "") is (number < 2), (number, outcome)
    assert await opens(journal, key(10), attrs.evolve(usage, max_orders_per_day=2)) == ""  # its own share, repeated
    assert await journal.abandon(key(10), note="unknown")
    assert await opens(journal, key("last"), usage) == "max_value_per_day"


async def test_net_position_leaves_out_entries_that_are_included_or_closed_before(journal: Journal) -> None:
    usage = Usage(underlying="AAPL", bought=Decimal(4), max_net_quantity=Decimal(10), since=await journal.now())
    sells = attrs.evolve(usage, bought=Decimal(0), sold=Decimal(10))
    for name, asked, outcome in (
        *((key(number), usage, outcome) for number, outcome in enumerate(("", "", "max_net_quantity"))),
        (key(3, "A2"), usage, ""),
        (key(4), attrs.evolve(usage, underlying="MSFT"), ""),
        (key(5), sells, ""),
        (key(6), attrs.evolve(sells, sold=Decimal("0.1")), "max_net_quantity"),
    ):
        assert await opens(journal, name, asked) == outcome, name
    assert await journal.close(key(0), owner="a", state=EntryState.PLACED)
    assert await opens(journal, key(7), usage) == "max_net_quantity"
    later = attrs.evolve(usage, since=await journal.now() + timedelta(seconds=1))
    assert await opens(journal, key(7), later) == ""
    held = attrs.evolve(usage, held_long=Decimal(7))
    error = await raised_by(journal.open(key(8), b"{}", owner="a", lease=30, usage=held), OrderRefusedError)
    assert error.errors[0].code == "max_net_quantity"
    assert "of 10 AAPL long are used at worst, this one needs 4: free again when orders" in error.message
    assert await opens(journal, key(8), attrs.evolve(later, includes=("order-1", "order-7"))) == ""


async def test_halt_stops_new_attempts_in_its_scope_and_returns_open_entries(journal: Journal) -> None:
    mine = key("mine")
    await journal.open(mine, b"{}", owner="a", lease=30, label="dip")
    assert await journal.renew(mine, owner="a", lease=30, attempts=2)
    scopes: list[tuple[dict[str, str], bool]] = [
        ({"label": "other"}, False), ({"account_number": "A2"}, False), ({"label": "dip"}, True), ({}, True),
    ]  # fmt: skip
    for number, (scope, stopped) in enumerate(scopes):
        entries = await journal.halt("why", **scope)
        assert (mine in [entry.key for entry in entries]) is stopped
        assert (await opens(journal, key(number), label="dip") == "halted") is stopped
        assert await opens(journal, key(number + 10), label="dip", exempt=True) == ""
        if stopped:
            await raised_by(journal.renew(mine, owner="a", lease=30, attempts=3), OrderRefusedError, "why")
        assert await journal.renew(mine, owner="a", lease=30)
        assert await journal.resume(**scope)
        assert await opens(journal, key(number + 20), label="dip") == ""
    assert await journal.renew(mine, owner="a", lease=30, attempts=3)


async def test_trip_halts_when_as_many_different_outcomes_are_recent(journal: Journal) -> None:
    for name, tripped in (("a", False), ("a", False), ("b", False), ("c", True), ("d", False)):
        assert await journal.trip("unknown", name, count=3, seconds=60, reason="automatic") is tripped
        await journal.prune(before=await journal.now() + timedelta(minutes=1))  # keeps recent outcomes counted
    assert await journal.trip("refused", "a", count=3, seconds=60, reason="automatic") is False
    assert [halt.reason for halt in await journal.halts()] == ["automatic"]


async def test_huge_amounts_pass_no_cap(journal: Journal) -> None:
    for number, amount in enumerate(map(Decimal, ("5e9", "5e12", "1e30"))):
        value = Usage(value=amount, max_value_per_day=amount / 2)
        net = Usage(underlying="SHIB/USD", bought=amount, max_net_quantity=amount / 2)
        assert await opens(journal, key(f"{number}-value"), value) == "max_value_per_day"
        assert await opens(journal, key(f"{number}-net"), net) == "max_net_quantity"
    allowed = Usage(value=Decimal("5e9"), max_value_per_day=Decimal("6e9"))
    assert [await opens(journal, key(n), allowed) for n in range(2)] == ["", "max_value_per_day"]


async def test_pruned_entries_are_gone_but_for_identifier_and_share(journal: Journal) -> None:
    usage = Usage(max_orders_per_day=3)
    for number, state in enumerate((EntryState.PLACED, EntryState.REFUSED, None)):
        await opens(journal, key(number), usage)
        if state is not None:
            await journal.close(key(number), owner="a", state=state)
    assert await journal.prune(before=await journal.now() + timedelta(minutes=1)) == 2
    assert await journal.prune(before=await journal.now() + timedelta(minutes=1)) == 0
    assert [entry.key for entry in await journal.entries()] == [key(2)]
    entry, fresh = await journal.open(key(0), b"{}", owner="b", lease=30)
    assert (fresh, entry.state, entry.body, entry.order_id) == (False, EntryState.PRUNED, b"", None)
    assert [await opens(journal, key(n), usage) for n in (3, 4)] == ["", "max_orders_per_day"]


AMOUNTS = st.sampled_from([Decimal(n) / 4 for n in range(1, 9)])
CAPS = st.fixed_dictionaries(
    {},
    optional={
        "max_value_per_minute": AMOUNTS, "max_value_per_day": AMOUNTS,
        "max_orders_per_minute": st.integers(0, 3), "max_orders_per_day": st.integers(0, 4),
    },
)  # fmt: skip

PAUSES = st.sampled_from([0, 1, 30, 59, 60, 3600, 86_400, -1, -45, -3600])
ENDS = st.sampled_from([None, EntryState.PLACED, EntryState.REFUSED, EntryState.NOT_SENT, "opened again", "pruned"])
DOLLAR = Decimal(1)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(CAPS, AMOUNTS, PAUSES, ENDS), max_size=12))
@example(
    [
        ({}, DOLLAR, 3600, None),
        ({"max_orders_per_minute": 1}, DOLLAR, -3590, None),
        ({"max_orders_per_minute": 2}, DOLLAR, 0, None),
    ]
).via("exact sums of a clock that was set back since")
@example(
    [
        ({}, DOLLAR, 0, EntryState.NOT_SENT),
        ({"max_orders_per_day": 1}, DOLLAR, 0, "opened again"),
        ({"max_orders_per_day": 2}, DOLLAR, 0, None),
    ]
).via("an entry that is opened again after the sums were exact")
@on_real_time
async def test_sums_of_journal_and_entries_agree(program: list[tuple[dict[str, Any], Decimal, int, Any]]) -> None:
    """The journal refuses exactly the orders that its entries leave no room for, however the clock is set."""
    seconds = [1_000_000.0]
    journal, shares = MemoryJournal(clock=lambda: seconds[0]), dict[EntryKey, tuple[datetime, Decimal]]()
    unsent = list[EntryKey]()

    def found_at(now: datetime, usage: Usage, earlier: list[tuple[datetime, Decimal]]) -> list[Excess]:
        sums = list[int]()
        for window in (MINUTE, DAY):
            values = [value for at, value in earlier if at > now - timedelta(seconds=window)]
            sums += len(values), stored(sum(values, Decimal(0)))
        return excesses(usage, sums, (Decimal(0), Decimal(0)))

    for number, (caps, value, pause, end) in enumerate(program):
        name, usage = key(number), Usage(value=value, **caps)
        now, earlier = datetime.fromtimestamp(seconds[0], UTC), sorted(shares.values())
        found = found_at(now, usage, earlier)
        details, free_at = objections(found, earlier, now)
        refused = await opens(journal, name, usage)
        assert refused.split() == [each.cap for each in found] == [each.code for each in details]
        if not refused:
            shares[name] = (now, usage.value)
        elif free_at is not None:
            assert found_at(free_at, usage, earlier) == []
        if name in shares and isinstance(end, EntryState):
            assert await journal.close(name, owner="a", state=end)
            if end != EntryState.PLACED:
                del shares[name]
            if end == EntryState.NOT_SENT:
                unsent.append(name)
        seconds[0] += pause
        if end == "opened again" and unsent:
            again = unsent.pop()
            await journal.open(again, b"{}", owner="b", lease=30, usage=Usage(value=value))
            shares[again] = (datetime.fromtimestamp(seconds[0], UTC), value)
        if end == "pruned":
            unsent.clear()
            await journal.prune(before=datetime.fromtimestamp(seconds[0] + 1, UTC))


@pytest.mark.timeout(120)
async def test_ten_processes_of_which_some_are_killed_fill_a_cap_exactly(durable: Durable) -> None:
    async with durable.open() as journal:
        await journal.now()
    chance = random.Random(0)
    async with crowd() as workers:
        await start_together(workers, open_up_to_a_cap, durable, 10)
        for number in range(4):
            await asyncio.sleep(chance.uniform(0, 0.02))
            with suppress(ProcessLookupError):  # it has found the cap full, and ended
                workers.kill(number)
        await workers.wait_for_all(60)
        assert {number for number, _ in workers.of("refused")} >= {*range(4, 10)}
    async with durable.open() as journal:
        assert len(await journal.entries()) == 50


async def test_entries_cost_a_later_one_nothing(tmp_path: Path) -> None:
    usage = Usage(
        value=Decimal(1), underlying="AAPL", bought=Decimal(1), max_value_per_day=Decimal(10**6),
        max_orders_per_minute=10**6, max_net_quantity=Decimal(10**6), since=datetime.now(UTC),
    )  # fmt: skip
    steps = dict[tuple[int, float], int]()  # of the virtual machine, for one guarded order

    def tick() -> int:
        steps[case] += 1
        return 0

    for case in ((0, 0.0), (10_000, 2 * 86_400), (10_000, 30.0)):
        entries, age = case
        async with SqliteJournal(tmp_path / f"j{entries}-{age:.0f}") as journal:
            await journal.now()
            at, steps[case] = time.time() - age, 0
            await journal._file.run(lambda c, n=entries, at=at: fill(c, n, at))
            await opens(journal, key("warm"), usage)
            await journal._file.run(lambda connection: connection.set_progress_handler(tick, 1))
            await opens(journal, key("measured"), usage)
            await journal._file.run(lambda connection: connection.set_progress_handler(None, 1))
    assert max(steps.values()) < 1.2 * steps[0, 0.0], steps


def fill(connection: Any, entries: int, at: float) -> None:
    """Write closed entries that were placed under a guard at a time."""
    connection.execute("BEGIN")
    connection.executemany(
        "INSERT INTO entries VALUES ('o', 'sandbox', 'A1', 'old-' || :n, x'', 'placed', 1, '7', '', :at, :at, NULL, "
        "NULL, NULL, 'a', '', '', 1000000, 'AAPL', 1000000, 0, :n, :n, 1000000 * :n, :n, 1000000 * :n)",
        ({"n": number, "at": at} for number in range(1, entries + 1)),
    )
    connection.execute("COMMIT")
