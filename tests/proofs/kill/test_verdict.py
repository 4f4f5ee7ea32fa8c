"""The judge of the proof: every violation is found, and an honest run has none."""

from datetime import UTC, datetime

from brokerage_async.journal import EntryKey, EntryState, JournalEntry
from tests.proofs.kill.sharing_worker import Report
from tests.proofs.kill.verdict import BookedOrder, judge
from tests.tables import for_each

ACCOUNT, NAME = "A1", "one"
KEY = (ACCOUNT, NAME)


def booked(order_id: str = "7", *, sender: str = "worker/0", arrived: float = 5.0) -> BookedOrder:
    return BookedOrder(order_id, ACCOUNT, NAME, sender, arrived)


def entry(state: EntryState = EntryState.PLACED) -> JournalEntry:
    return JournalEntry(
        key=EntryKey("https://api.example.com", "sandbox", ACCOUNT, NAME),
        body=b"",
        state=state,
        opened_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


def report(outcome: str, *, sender: str = "worker/0", began: float = 4.0, order_id: str | None = None) -> Report:
    name = {"sender": sender, "account": ACCOUNT, "identifier": NAME}
    return Report(**name, outcome=outcome, began=began, ended=began + 2, order_id=order_id)


TWICE = [booked("7"), booked("8", sender="worker/1")]
LATER = {"sender": "worker/1", "began": 6.0}


@for_each(
    "orders, entries, reports, violations",
    [
        (
            [booked()],
            [entry()],
            [report("not_sent", began=1.0), report("placed", order_id="7"), report("unknown: absent")],
            [],
        ),
        ([], [entry(EntryState.NOT_SENT)], [report("not_sent"), report("refused")], []),
        ([booked()], [entry()], [report("not_sent", sender="worker/1")], []),  # turned away while another one sends
        (TWICE, [entry()], [], ["one: 2 orders, by worker/0, worker/1"]),
        *(
            ([booked()], [entry(state)], [], [f"one: at the brokerage, but {state.value}"])
            for state in (EntryState.NOT_SENT, EntryState.REFUSED, EntryState.OPEN)
        ),
        ([booked()], [], [], ["one: at the brokerage, but not in the journal"]),
        ([], [entry()], [], ["one: placed by the journal, but not at the brokerage"]),
        *(
            ([booked()], [entry()], [said], [f"one: {said.sender} said {said.outcome}, but {why}"])
            for said, why in (
                (report("placed", began=1.0), "there was none"),
                (report("placed", order_id="8"), "order 8 is another one"),
                (report("not_sent", **LATER), "order 7 was there before"),
                (report("refused", **LATER), "order 7 was there before"),
                (report("not_sent"), "it had sent order 7"),
                (report("refused"), "it had sent order 7"),
            )
        ),
    ],
)
def test_judge_finds_every_violation_and_none_in_an_honest_run(
    orders: list[BookedOrder], entries: list[JournalEntry], reports: list[Report], violations: list[str]
) -> None:
    assert judge({KEY: orders} if orders else {}, entries, reports) == violations
