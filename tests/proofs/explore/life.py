"""The life of one working order at the brokerage: its requests, its fills at any moment, and the verdict on a change.

An order is Routed before it is Live, and refuses changes until then. A cancellation waits for the exchange, and a fill
may come first. A replacement is Contingent until its original is cancelled. A fill of the original ends it. `Filled` is
the status as soon as the first leg is filled. The fills of the second come later.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from brokerage_async.order_entry import ChangeOutcome, OrderChange
from brokerage_async.protocol.response import Response

from .service import BookedOrder, Books, answered, error_answer

if TYPE_CHECKING:
    from .process import Call
    from .world import World

CHANGES = ("orders.cancel", "orders.replace", "complex_orders.cancel")
OVER = ("Filled", "Cancelled", "Rejected")
QUANTITY = 10
TERMS = {"order-type": "Limit", "time-in-force": "Day", "price-effect": "Debit"}


class Life:
    """One order that another program has placed, with two legs. Or a bracket around one, with two exits.

    ``sent`` are the changes that left a process: the call, and whether the service has refused it.
    """

    def __init__(self, books: Books, status: str, *, is_complex: bool = False) -> None:
        self._books = books
        self.is_complex = is_complex
        self.number, self.new_number = (2001, 2002)
        self.status, self.new_status = status, ""
        self.fills: list[list[int]] = [[], []]
        self.has_worked = False
        self._may_fill_partly = status == "Live" and not is_complex
        self.replacements = 0
        self.sent: list[tuple[Call, bool]] = []
        self._booked = BookedOrder(9 if is_complex else self.number, "A1", "W", 0.0, 0.0, "", ours=False)
        self._new = BookedOrder(self.new_number, "A1", "W", 0.0, 0.0, "", ours=False)
        books.orders.append(self._booked)
        self._write()

    @property
    def target(self) -> str:
        """The id to change."""
        return str(self._booked.id)

    @property
    def told(self) -> list[int]:
        """Every fill."""
        return [each for leg in self.fills for each in leg]

    @property
    def state(self) -> tuple[object, ...]:
        """Everything that the orders do not show."""
        return self.has_worked, self.replacements, tuple((str(call), refused) for call, refused in self.sent)

    # The exchange.

    def moves(self) -> Iterator[tuple[str, Callable[[], None]]]:
        """Yield what the exchange may do now."""
        if self.status == "Routed":
            yield "the order is live", lambda: self._become("Live")
        if self.status in ("Live", "Cancel Requested", "Replace Requested"):
            if self._may_fill_partly and not self.told:
                yield "a part of the order is filled", lambda: self._fill(4)
            yield "the order is filled", lambda: self._fill(QUANTITY)
        if self.status == "Filled" and sum(self.fills[1]) < QUANTITY:
            yield "the fill of the second leg is shown", lambda: self._fill(QUANTITY)
        if self.status == "Cancel Requested":
            yield "the order is cancelled", lambda: self._become("Cancelled")
        if self.status == "Replace Requested":
            yield "the order is replaced", lambda: self._become("Cancelled", "Live")

    def _become(self, status: str, new_status: str = "") -> None:
        self.status, self.new_status = status, new_status or self.new_status
        self.has_worked = self.has_worked or self.new_status == "Live"
        self._write()

    def _fill(self, quantity: int) -> None:
        if self.status == "Filled":
            self.fills[1].append(QUANTITY - sum(self.fills[1]))
        else:
            self.fills[0].append(min(quantity, QUANTITY - sum(self.fills[0])))
            if quantity < QUANTITY:
                self.fills[1].append(quantity)
            is_replaced, is_all = self.status == "Replace Requested", sum(self.fills[0]) == QUANTITY
            self.status = "Filled" if is_all else "Cancelled" if is_replaced else self.status
            if is_replaced:
                self.new_status = "Cancelled"
        self._write()

    # The service.

    def answer(self, name: str) -> tuple[Response, bool]:
        """Process a request, and return the answer, and whether it refuses the change."""
        if self.status != "Live":
            return error_answer(422, "cannot_update_order"), True
        if name == "orders.replace":
            self.replacements += 1
            self.new_status = "Contingent"
            self._books.orders.append(self._new)
            self._become("Replace Requested")
            return answered(self._new.json), False
        self._become("Cancel Requested")
        return answered(self._booked.json), False

    def _write(self) -> None:
        """Show the orders' current state."""
        order = {
            **TERMS, "id": self.number, "account-number": "A1", "status": self.status, "price": "10",
            "received-at": "2026-03-05T15:00:00Z", "legs": [leg(*each) for each in self.fills],
        }  # fmt: skip
        if self.is_complex:
            exits = "Contingent" if self.status in ("Routed", "Live") else "Cancelled"
            order["complex-order-id"] = 9
            order["legs"] = order["legs"][:1]
            others = [{"id": 2010 + n, "account-number": "A1", "status": exits, "complex-order-id": 9} for n in (1, 2)]
            whole = {"id": 9, "account-number": "A1", "type": "OTOCO", "trigger-order": order, "orders": others}
            self._booked.components = tuple(map(json.dumps, (order, *others)))
            order = whole
        elif self.new_status:
            order["replacing-order-id"] = self.new_number
            self._new.json = json.dumps(
                {**TERMS, "id": self.new_number, "account-number": "A1", "status": self.new_status, "price": "11",
                 "replaces-order-id": self.number, "legs": [leg(), leg()]}
            )  # fmt: skip
        self._booked.json = json.dumps(order)

    # The verdict.

    def judge(self, call: Call, world: World) -> Iterator[str]:
        """Yield how the result of a change that has just ended disagrees with the books."""
        sent = [refused for each, refused in self.sent if each is call]
        if False in sent[:-1]:
            yield f"repeated: {call} sent a change again that was not refused"
        if self.replacements > 1:
            yield f"doubled: {self.replacements} replacements of one order"
        change = call.result
        if not isinstance(change, OrderChange):
            return
        times, is_waiting = world.scope.times, call.step.waits or change.outcome is ChangeOutcome.REFUSED
        bound = times.give_up - times.max_interval if is_waiting else times.visibility_delay
        is_late = world.now - call.began >= bound
        told = [int(fill.quantity or 0) for fill in change.fills]
        words = f"{call} said {change.outcome} {told}, the books have {self.status} {self.told}"
        is_won = self.has_worked if call.step.kind == "replace" else self.status == "Cancelled"
        needed = QUANTITY * (1 if self.is_complex else 2) if call.step.kind == "cancel" else 0
        match change.outcome:
            case ChangeOutcome.APPLIED if call.step.kind == "replace" or call.step.waits:
                if not is_won:
                    yield f"false: {words}"
                elif call.step.kind == "cancel" and told != self.told:
                    yield f"lost fills: {words}"
            case ChangeOutcome.APPLIED if not any(not refused for refused in sent):
                yield f"false: {words}"
            case ChangeOutcome.FILLED:
                if not self.told or self.status not in ("Filled", "Cancelled") or self.has_worked:
                    yield f"false: {words}"
                elif not told or (sum(told) < needed and not is_late):
                    yield f"lost fills: {words}"
            case ChangeOutcome.REFUSED if change.error is not None and change.error.code == "halted":
                if sent[-1:] == [False]:
                    yield f"false: {words}"
            case ChangeOutcome.REFUSED if self.status not in OVER and not is_late:
                yield f"gave up: {words}"
            case ChangeOutcome.REFUSED if self.status == "Cancelled" and not self.has_worked and sent[-1:] == [False]:
                yield f"false: {words}"
            case ChangeOutcome.UNKNOWN if not is_late and not call.process.disturbed:
                yield f"gave up: {words}"


def leg(*fills: int) -> dict[str, Any]:
    return {
        "symbol": "AAPL", "quantity": QUANTITY, "remaining-quantity": QUANTITY - sum(fills),
        "fills": [{"quantity": each} for each in fills],
    }  # fmt: skip
