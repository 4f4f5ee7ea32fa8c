"""Account stream: the server's side of one connection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..accounts.accounts import Accounts
from ..authorization_server import AuthorizationServer
from .faults import StreamFaults
from .session import Session

__all__ = ["AccountSession"]

_SUBSCRIPTIONS = ("quote-alerts-subscribe", "public-watchlists-subscribe", "user-message-subscribe")


class AccountSession(Session):
    """Session that pushes the events of the accounts that the client connects.

    Attributes:
        accounts: numbers of the connected accounts.
        actions: what the client has subscribed to beyond them.
    """

    def __init__(
        self,
        server: AuthorizationServer,
        accounts: Accounts,
        faults: StreamFaults,
        now: float,
        number: int,
        *,
        has: Callable[[str], bool],
    ) -> None:
        super().__init__(faults, now)
        self._has = has
        self._server = server
        self._all_accounts = accounts
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
            self._connect(message)
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

    def _connect(self, message: dict[str, Any]) -> None:
        value = message.get("value")
        if not value and self._has("account_stream_missing_value"):
            self._answer("connect", message, "value missing or not valid")
            return
        asked = [value] if isinstance(value, str) else value if isinstance(value, list) else []
        own = [str(number) for number in asked if self._is_own(str(number))]
        if not own:
            self._answer("connect", message, "failed")
            return
        self.accounts |= frozenset(own)
        names_them = len(own) < len(asked) or not self._has("account_stream_answer_without_value")
        more: dict[str, Any] = {"value": own} if names_them else {}
        self._answer("connect", message, None, **more)

    def _is_own(self, number: str) -> bool:
        account = self._all_accounts.get(number)
        return account is not None and account.customer == self.customer

    def _answer(self, action: str, message: dict[str, Any], error: str | None = None, **more: Any) -> None:
        answer = {"status": "ok" if error is None else "error", "action": action, "web-socket-session-id": self._id}
        if error is not None:
            more["message"] = error
        if (number := message.get("request-id")) is not None:
            more["request-id"] = number
        self.push({**answer, **more})
