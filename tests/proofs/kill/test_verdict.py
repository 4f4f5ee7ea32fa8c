"""The judge of the proof: every violation is found, and an honest run has none."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from brokerage_async.journal import EntryKey, EntryState, JournalEntry
from tests.proofs.kill.scripted_brokerage import BookedOrder
from tests.proofs.kill.sharing_worker import Report
from tests.proofs.kill.verdict import judge

ACCOUNT, NAME = "A1", "one"
KEY = (ACCOUNT, NAME)


def booked(order_id: str = "7", *, sender: str = "worker/0", arrived: float = 5.0) -> BookedOrder:
    return BookedOrder(order_id, ACCOUNT, NAME, sender, arrived, {})


def entry(state: EntryState = EntryState.PLACED) -> JournalEntry:
    return JournalEntry(
        key=EntryKey("https://api.example.com", "sandbox", ACCOUNT, NAME),
        body=b"",
        state=state,
        opened_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


def report(outcome: str, *, sender: str = "worker/0", began: float = 4.0, order_id: str | None = None) -> Report:
    return Report(
        sender=sender,
        account=ACCOUNT,
        identifier=NAME,
        outcome=outcome,
        began=began,
        ended=began + 2,
        order_id=order_id,
    )


def test_an_honest_run_is_clean() -> None:
    reports = [report("not_sent", began=1.0), report("placed", order_id="7"), report("unknown: absent")]
    assert judge({KEY: [booked()]}, [entry()], reports).is_clean


def test_an_order_that_was_never_placed_is_clean() -> None:
    assert judge({}, [entry(EntryState.NOT_SENT)], [report("not_sent"), report("refused")]).is_clean


def test_two_orders_under_one_identifier_are_doubled() -> None:
    verdict = judge({KEY: [booked("7"), booked("8", sender="worker/1")]}, [entry()], [])
    assert verdict.doubled == ["one: 2 orders, by worker/0, worker/1"]
    assert not verdict.is_clean


@pytest.mark.parametrize("state", [EntryState.NOT_SENT, EntryState.REFUSED, EntryState.OPEN])
def test_an_order_whose_entry_does_not_say_placed_is_lost(state: EntryState) -> None:
    verdict = judge({KEY: [booked()]}, [entry(state)], [])
    assert verdict.lost == [f"one: at the brokerage, but {state.value}"]
    assert not verdict.is_clean


def test_an_order_without_an_entry_is_lost() -> None:
    assert judge({KEY: [booked()]}, [], []).lost == ["one: at the brokerage, but not in the journal"]


def test_an_entry_that_says_placed_without_an_order_is_wrong() -> None:
    assert judge({}, [entry()], []).wrong == ["one: placed by the journal, but not at the brokerage"]


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (report("placed", began=1.0), "there was none"),
        (report("placed", order_id="8"), "order 8 is another one"),
        (report("not_sent", sender="worker/1", began=6.0), "order 7 was there before"),
        (report("refused", sender="worker/1", began=6.0), "order 7 was there before"),
        (report("not_sent"), "it had sent order 7"),
        (report("refused"), "it had sent order 7"),
    ],
)
def test_what_a_call_has_said_is_held_against_the_books(said: Report, why: str) -> None:
    verdict = judge({KEY: [booked()]}, [entry()], [said])
    assert verdict.wrong == [f"one: {said.sender} said {said.outcome}, but {why}"]
    assert not verdict.is_clean


def test_a_worker_may_be_turned_away_while_another_sends() -> None:
    assert judge({KEY: [booked()]}, [entry()], [report("not_sent", sender="worker/1")]).is_clean
