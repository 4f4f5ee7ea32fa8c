"""Server's sessions: their common part, and the account stream."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import msgspec

from ..faults import StreamFaults
from ..state import State

SILENCE = 60.0
"""Seconds of silence after which a client is disconnected."""

Send = Callable[[str, float], None]


class Session(ABC):
    """Server's side of one connection.

    Attributes:
        is_closed: whether the server has closed it.
        is_mute: whether it answers the client, but pushes no event.
    """

    def __init__(self, faults: StreamFaults, now: float) -> None:
        self._faults = faults
        self._heard = now
        self._send: Send | None = None
        self._close: Callable[[], None] | None = None
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
        except msgspec.MsgspecError:
            message = None
        self._process(message if isinstance(message, dict) else None, now)

    def check(self, now: float) -> None:
        """Disconnect a client that was silent for too long."""
        if not self.is_closed and now - self._heard >= SILENCE:
            self._timed_out()
            self.close()

    @property
    def expires(self) -> float:
        """When the client is disconnected unless it sends something."""
        return self._heard + SILENCE

    def close(self) -> None:
        if not self.is_closed:
            self.is_closed = True
            if self._close is not None:
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
                return
            case "lose":
                return
            case "reorder":
                self._held.append(text)
                return
            case "duplicate":
                self._deliver(text)
            case "unknown":
                self._deliver('{"type":"Weather","channel":0,"data":{"outlook":"fair"}}')
            case "garbage":
                self._deliver("<html>not JSON</html>")
        self._deliver(text, delivery.delay)
        held, self._held = self._held, []
        for each in held:
            self._deliver(each)

    def _deliver(self, text: str, delay: float = 0.0) -> None:
        if self._send is not None:
            self._send(text, delay)

    @abstractmethod
    def _process(self, message: dict[str, Any] | None, now: float) -> None:
        """Process a message, None for one that is not a JSON object."""

    @abstractmethod
    def _timed_out(self) -> None:
        """Say farewell to a silent client."""


_SUBSCRIPTIONS = ("quote-alerts-subscribe", "public-watchlists-subscribe", "user-message-subscribe")


class AccountSession(Session):
    """Session that pushes the events of the accounts that the client connects.

    Attributes:
        accounts: numbers of the connected accounts.
        actions: what the client has subscribed to beyond them.
    """

    def __init__(self, state: State, faults: StreamFaults, now: float, number: int) -> None:
        super().__init__(faults, now)
        self._has = state.settings.has
        self._server = state.authorization_server
        self._all_accounts = state.accounts
        self._id = f"{number:08x}"
        self.customer: object = None
        self.accounts: frozenset[str] = frozenset()
        self.actions: set[str] = set()

    def _process(self, message: dict[str, Any] | None, now: float) -> None:
        if message is None or not isinstance(action := message.get("action"), str):
            return
        value = str(message.get("auth-token") or "")
        if not value.startswith("Bearer ") and self._has("account_stream_unknown_domain"):
            self._answer(action, {}, "Unknown domain")
            return
        token = value.removeprefix("Bearer ")
        identity = None if self._faults.refuses() else self._server.identify(token, now)
        if identity is None:
            self._answer(action, {}, "failed")
            return
        self.customer = identity.customer
        if action == "connect":
            asked_for = message.get("value")
            if not asked_for and self._has("account_stream_missing_value"):
                self._answer("connect", message, "value missing or not valid")
                return
            asked = [asked_for] if isinstance(asked_for, str) else asked_for if isinstance(asked_for, list) else []
            accounts = map(self._all_accounts.get, map(str, asked))
            own = [each.number for each in accounts if each is not None and each.customer == self.customer]
            if not own:
                self._answer("connect", message, "failed")
                return
            self.accounts |= frozenset(own)
            names_them = len(own) < len(asked) or not self._has("account_stream_answer_without_value")
            more: dict[str, Any] = {"value": own} if names_them else {}
            self._answer("connect", message, None, **more)
        elif not self.accounts:
            self._answer(action, message, "not-implemented" if action == "heartbeat" else "connect-not-completed")
        elif action == "heartbeat":
            self._answer(action, message)
        elif action in _SUBSCRIPTIONS:
            self.actions.add(action)
            self._answer(action, message)
        else:
            self._answer(action, message, "not-implemented")

    def _timed_out(self) -> None:
        """Close without a word, as recorded."""

    def _answer(self, action: str, message: dict[str, Any], error: str | None = None, **more: Any) -> None:
        answer = {"status": "ok" if error is None else "error", "action": action, "web-socket-session-id": self._id}
        if error is not None:
            more["message"] = error
        if (number := message.get("request-id")) is not None:
            more["request-id"] = number
        self.push({**answer, **more})
