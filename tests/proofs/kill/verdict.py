"""Judgement of a run: the brokerage's books against the journal and every reported outcome."""

from collections.abc import Iterable, Mapping, Sequence

import attrs

from brokerage_async.journal import JournalEntry
from tests.proofs.kill.sharing_worker import Report


@attrs.frozen
class BookedOrder:
    """An order of the books; ``arrived`` is on the monotonic clock that all processes of the machine share."""

    order_id: str
    account: str
    identifier: str
    sender: str
    arrived: float


Books = Mapping[tuple[str, str], Sequence[BookedOrder]]


def judge(books: Books, entries: Iterable[JournalEntry], reports: Iterable[Report]) -> list[str]:
    """Judge a run that has ended with a recovery by every worker.

    Return the violations: orders lost, orders doubled, outcomes that contradict the books.
    """
    states = {(entry.key.account_number, entry.key.external_identifier): entry.state.value for entry in entries}
    found = list[str]()
    for key, orders in books.items():
        if orders and states.get(key) != "placed":
            found.append(f"{key[1]}: at the brokerage, but {states.get(key, 'not in the journal')}")
        if len(orders) > 1:
            found.append(f"{key[1]}: {len(orders)} orders, by {', '.join(order.sender for order in orders)}")
    found += [
        f"{key[1]}: placed by the journal, but not at the brokerage"
        for key, state in states.items()
        if state == "placed" and not books.get(key)
    ]
    for report in reports:
        contradiction = _contradiction(report, books.get((report.account, report.identifier), ()))
        if contradiction:
            found.append(f"{report.identifier}: {report.sender} said {report.outcome}, but {contradiction}")
    return found


def _contradiction(report: Report, orders: Sequence[BookedOrder]) -> str:
    """Return how the books contradict a report, or nothing. An unknown outcome contradicts nothing.

    A denial is false if an order had arrived before the call began, or if the call itself sent one. Another worker may
    place the order at any time.
    """
    if report.outcome == "placed":
        there = [order for order in orders if order.arrived <= report.ended]
        if not there:
            return "there was none"
        if report.order_id is not None and report.order_id not in {order.order_id for order in there}:
            return f"order {report.order_id} is another one"
    elif report.outcome in ("refused", "not_sent"):
        for order in orders:
            if order.arrived < report.began:
                return f"order {order.order_id} was there before"
            if order.sender == report.sender and order.arrived <= report.ended:
                return f"it had sent order {order.order_id}"
    return ""
