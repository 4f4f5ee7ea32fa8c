"""Server's sessions: their common part, and the account stream with the objects that it sends.

These are like the REST API where it has them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from itertools import groupby
from typing import Any

import attrs
import msgspec

from ..._generated import converters as wires
from ..._generated.models import QuantityDirection
from ..api.accounts import Positions
from ..api.wire import like, money, same, timestamp
from ..faults import StreamFaults
from ..market.calendar import local_date
from ..state import State
from ..trading.accounts import Account, Execution, Fees, Position, Transaction, amounts

SILENCE = 60.0
"""Seconds of silence after which a client is disconnected."""

Send = Callable[[str, float], None]
_UNKNOWN = '{"type":"Weather","channel":0,"data":{"outlook":"fair"}}'


class Session(ABC):
    """Server's side of one connection. A mute one answers the client, but pushes no event."""

    def __init__(self, faults: StreamFaults, now: float) -> None:
        self._faults = faults
        self._heard = now
        self._send: Send = lambda text, delay: None
        self._close: Callable[[], None] = lambda: None
        self._held: list[str] = []
        self.is_closed: bool = False
        self.is_mute: bool = False

    def connect(self, send: Send, close: Callable[[], None]) -> None:
        """Deliver messages with ``send(message, delay)``, and end the connection with ``close()``."""
        self._send, self._close = send, close

    def hear(self, now: float) -> None:
        """Take a sign of life, such as a ping."""
        self._heard = now

    def receive(self, data: str | bytes, now: float) -> None:
        """Process a message of the client. One that is lost by a fault is not seen."""
        if self.is_closed or self._faults.is_half_open or self._faults.is_deaf:
            return
        self._heard = now
        try:
            message = msgspec.json.decode(data)
        except (ValueError, RecursionError):  # not UTF-8, not JSON, or nested too deeply
            message = None
        self._process(message if isinstance(message, dict) else None, now)

    def check(self, now: float) -> None:
        """Disconnect a client that was silent for too long."""
        if not self.is_closed and now - self._heard >= SILENCE:
            self._timed_out()
            self.close()

    def close(self) -> None:
        if not self.is_closed:
            self.is_closed = True
            self._close()

    def push(self, message: dict[str, Any], *, kind: str = "") -> None:
        """Send a message, subject to the faults; ``kind`` is the type of an event, empty for protocol messages."""
        if self.is_closed or self._faults.is_half_open or (self.is_mute and kind):
            return
        delivery = self._faults.deliver(kind)
        text = msgspec.json.encode(message).decode()
        match delivery.name:
            case "drop":
                self.close()
            case "reorder":
                self._held.append(text)
            case name if name != "lose":
                first = {"duplicate": text, "unknown": _UNKNOWN, "garbage": "<html>not JSON</html>"}.get(name)
                if first is not None:
                    self._send(first, 0.0)
                self._send(text, delivery.delay)
                held, self._held = self._held, []
                for each in held:
                    self._send(each, 0.0)

    @abstractmethod
    def _process(self, message: dict[str, Any] | None, now: float) -> None:
        """Process a message, None for one that is not a JSON object."""

    @abstractmethod
    def _timed_out(self) -> None:
        """Say farewell to a silent client."""


_ZERO = Decimal(0)
_SUBSCRIPTIONS = ("quote-alerts-subscribe", "public-watchlists-subscribe", "user-message-subscribe")


class AccountSession(Session):
    """Session that pushes the events of the connected ``accounts``, and what else ``actions`` subscribed to."""

    def __init__(self, state: State, faults: StreamFaults, now: float, number: int) -> None:
        super().__init__(faults, now)
        self._has, self._state = state.settings.has, state
        self._id = f"{number:08x}"
        self.customer: object = None
        self.accounts: frozenset[str] = frozenset()
        self.actions: set[str] = set()

    def _process(self, message: dict[str, Any] | None, now: float) -> None:
        if message is None or not isinstance(action := message.get("action"), str):
            return
        value, error, more = str(message.get("auth-token") or ""), "", dict[str, Any]()
        is_foreign = not value.startswith("Bearer ") and self._has("account_stream_unknown_domain")
        token, server = value.removeprefix("Bearer "), self._state.authorization_server
        identity = None if is_foreign or self._faults.refuses() else server.identify(token, now)
        number = None if identity is None else message.get("request-id")
        self.customer = self.customer if identity is None else identity.customer
        if identity is None:
            error = "Unknown domain" if is_foreign else "failed"
        elif action == "connect":
            asked_for = message.get("value")
            asked = [asked_for] if isinstance(asked_for, str) else asked_for if isinstance(asked_for, list) else []
            accounts = map(self._state.accounts.get, map(str, asked))
            own = [each.number for each in accounts if each is not None and each.customer == self.customer]
            self.accounts |= frozenset(own)
            if not asked_for and self._has("account_stream_missing_value"):
                error = "value missing or not valid"
            elif not own:
                error = "failed"
            elif len(own) < len(asked) or not self._has("account_stream_answer_without_value"):
                more["value"] = own
        elif not self.accounts:
            error = "not-implemented" if action == "heartbeat" else "connect-not-completed"
        elif action in _SUBSCRIPTIONS:
            self.actions.add(action)
        elif action != "heartbeat":
            error = "not-implemented"
        if error:
            more["message"] = error
        if number is not None:
            more["request-id"] = number
        status = "error" if error else "ok"
        self.push({"status": status, "action": action, "web-socket-session-id": self._id, **more})

    def _timed_out(self) -> None:
        """Close without a word, as recorded."""


def year_gains(account: Account, underlying: str, now: float) -> wires.UnderlyingYearGainSummaryWire | None:
    """Return the summary of an underlying in the year of ``now``, None if nothing was traded in that year."""
    year = local_date(now).year
    scratch = attrs.evolve(account, positions={}, transactions=[])
    gain, fees, kind = _ZERO, Fees(), None
    for transaction in account.transactions:
        execution, at = transaction.booked, transaction.executed_at
        if isinstance(execution, Execution) and execution.instrument.underlying == underlying:
            realized = scratch.hold(execution.instrument, execution.signed, execution.price, at)
            if local_date(at).year == year:
                gain, fees, kind = gain + realized, fees + execution.fees, execution.instrument.underlying_type
    if kind is None:
        return None
    other = fees.commission - fees.total
    return wires.UnderlyingYearGainSummaryWire(
        account_number=account.number,
        symbol=underlying,
        instrument_type=kind,
        year=year,
        **amounts(fees=other, commissions=-fees.commission, yearly_realized_gain=gain, realized_lot_gain=gain),
    )


@attrs.frozen
class _Step:
    """One execution with its effects: value before fees, whether it opens, and the holdings after it."""

    at: float
    execution: Execution
    value: Decimal
    is_opening: bool
    entries: list[wires.OrderChainEntryWire]


def order_chain(account: Account, underlying: str, now: float = 0.0) -> wires.OrderChainWire | None:
    """Return the latest chain of an underlying, None if it was never traded."""
    scratch = attrs.evolve(account, positions={}, transactions=[])
    steps: list[_Step] = []
    for transaction in account.transactions:
        execution = transaction.booked
        if isinstance(execution, Execution) and execution.instrument.underlying == underlying:
            if not scratch.positions:
                steps = []
            at, instrument = transaction.executed_at, execution.instrument
            is_opening = scratch.held(instrument.symbol) * execution.signed >= 0
            value = scratch.trade(instrument, execution.signed, execution.price, execution.fees.total, at)
            entries = [
                like(
                    wires.OrderChainEntryWire,
                    held.instrument,
                    quantity=_plain(abs(held.quantity)),
                    quantity_type="Long" if held.quantity > 0 else "Short",
                    quantity_numeric=_plain(held.quantity),
                )
                for held in scratch.positions.values()
            ]
            steps.append(_Step(at, execution, value, is_opening, entries))
    if not steps:
        return None
    first, last, fees = steps[0], steps[-1], _fees(steps)
    nodes = [_node(list(some)) for _, some in groupby(steps, key=lambda step: step.execution.order_number)]
    if scratch.positions:
        entries = last.entries
        nodes.append(wires.OrderChainNodeWire(node_type="open-positions", occurred_at=_time(last.at), entries=entries))
    opening = sum((step.value for step in steps if step.is_opening), _ZERO)
    closing = sum((step.value for step in steps if not step.is_opening), _ZERO)
    gain = opening + closing
    for held in scratch.positions.values():  # the cost of positions that are still open is not lost
        if not held.instrument.is_future:  # which costs nothing
            gain += held.quantity * held.average_price * held.instrument.multiplier
    totals = wires.OrderChainTotalsWire(
        open=bool(scratch.positions),
        roll_count=0,
        opened_at=_time(first.at),
        last_occurred_at=_time(last.at),
        **amounts(
            total_fees=fees.commission - fees.total,
            total_commissions=-fees.commission,
            realized_gain=gain,
            realized_gain_with_fees=gain - fees.total,
            total_opening_cost=opening,
            total_closing_cost=closing,
            total_cost=opening + closing,
        ),
        winner_realized_and_closed=not scratch.positions and gain > 0,
        winner_realized=gain > 0,
        winner_realized_with_fees=gain > fees.total,
        open_entries=last.entries,
    )
    return wires.OrderChainWire(
        id=first.execution.order_number or first.execution.identifier,
        description=f"{underlying} {'spread' if len(last.entries) > 1 else 'position'}",
        underlying_symbol=underlying,
        account_number=account.number,
        created_at=_time(first.at),
        updated_at=_time(last.at),
        computed_data=totals,
        lite_nodes_sizes=len(nodes),
        lite_nodes=nodes,
    )


def _node(steps: Sequence[_Step]) -> wires.OrderChainNodeWire:
    first, last, executions = steps[0].execution, steps[-1], [step.execution for step in steps]
    quantity = sum((each.quantity for each in executions if each.instrument == first.instrument), _ZERO)
    cost = sum((step.value for step in steps), _ZERO)
    mean, legs = cost / (quantity or Decimal(1)), []
    for _, some in groupby(executions, key=lambda each: each.instrument.symbol):
        execution, *others = some
        filled = _plain(sum((each.quantity for each in others), execution.quantity))
        quantities = {"fill_quantity": filled, "order_quantity": filled}
        legs.append(like(wires.OrderChainLegWire, execution.instrument, action=execution.action, **quantities))
    return wires.OrderChainNodeWire(
        node_type="order",
        id=first.order_number or first.identifier,
        description=f"{first.action} {_plain(quantity)} {first.instrument.symbol}",
        occurred_at=_time(last.at),
        **amounts(total_fees=-_fees(steps).total, total_fill_cost=cost, fill_cost_per_quantity=mean),
        gcd_quantity=_plain(quantity),
        order_fill_count=len(steps),
        roll=False,
        legs=legs,
        entries=last.entries,
    )


def _fees(steps: Iterable[_Step]) -> Fees:
    return sum((step.execution.fees for step in steps), Fees())


def _plain(amount: Decimal) -> Any:
    return format(amount.normalize(), "f")


def _time(at: float) -> Any:
    """Return a time with an offset without a colon, as recorded."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%S}.{round(at % 1 * 1000):03d}+0000"


def position_row(positions: Positions, account: Account, execution: Execution, now: float) -> wires.PositionWire:
    """Return the position after an execution. A closed one has quantity 0 and direction ``Zero``."""
    instrument = execution.instrument
    held = account.positions.get(instrument.symbol)
    row = positions.row(held or Position(instrument, _ZERO, Fraction(0), now), account, now, with_mark=False)
    if held is None:
        row.quantity_direction = QuantityDirection.ZERO
    row.order_id = None if execution.order_number is None else str(execution.order_number)
    return row


def external_transaction(account: Account, movement: Transaction) -> wires.ExternalTransactionWire:
    number, amount, day = movement.wire.id, movement.booked, local_date(movement.executed_at)
    assert isinstance(amount, Decimal)
    return wires.ExternalTransactionWire(
        id=int(str(number)),
        account_number=account.number,
        amount=Decimal(money(abs(amount))),
        bank_account_type="Checking",
        **same(day, "banking_date", "funds_available_date"),
        **same(timestamp(movement.executed_at), "created_at", "updated_at"),
        direction="Deposit" if amount > 0 else "Withdrawal",
        disbursement_type="Partial",
        ext_transfer_id=f"SIM-{number}",
        is_cancelable=False,
        is_clearing_accepted=True,
        state="Completed",
        transfer_method="ACH",
    )
