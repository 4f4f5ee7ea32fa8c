"""Protocol of the account stream: the client's side of one connection."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator
from typing import Any

import attrs
import msgspec

from ..._secrets import Secret
from ..._values import raw_object, read_epoch
from ...errors import MessageTooLargeError, StreamRefusedError, TransportError
from ..decoding.issues import Issues
from ..decoding.lenient import parse, structure_one
from ..token import token_of
from .events import ACCOUNT_EVENTS, AccountEvent
from .feed_data import LARGE, ROWS_PER_STEP, elements_of
from .timing import Timing

logger: logging.Logger = logging.getLogger("brokerage_async.stream")

CONNECT, HEARTBEAT = "connect", "heartbeat"
ALERTS, WATCHLISTS = "quote-alerts-subscribe", "public-watchlists-subscribe"

MAX_OBJECT = 512 * 1024  # characters of one object that is read: an order with 1,500 fills, which takes about 15 ms

_RESULTS = re.compile(r'\s*\{\s*"results"\s*:\s*\[')

TOKEN_REFUSED = "failed"  # noqa: S105 - the service's word, not a secret
"""Message of the service for a token that it does not accept."""


@attrs.frozen
class _Pending:
    action: str
    due: float
    accounts: frozenset[str]


class AccountConnection:
    """One connection to the account stream: messages and time in, messages and events out.

    `send` returns the messages that are due, and must be called at `due` at the latest, and after every `receive` that
    sets `must_send`. The accounts go out as a whole each time, because the service has no word for adding one.

    Attributes:
        accepted: accounts that the service has confirmed.
        rejected: accounts that were asked for and not confirmed.
    """

    complaint: str | None = None  # the service reports no errors of the connection
    is_holding: bool = False  # every message is read at once

    def __init__(
        self,
        accounts: Iterable[str],
        *,
        alerts: bool = False,
        watchlists: bool = False,
        now: float,
        timing: Timing | None = None,
        source: str | None = None,
        strict: bool = False,
    ) -> None:
        self._accounts = frozenset[str]()
        self._wanted = set[str]()
        self.want(accounts, alerts=alerts, watchlists=watchlists)
        self._timing = timing or Timing()
        self._source = source
        self._issues = Issues("stream.account", strict)
        self._asked: frozenset[str] | None = None
        self._subscribed: set[str] = set()
        self._pending: dict[int, _Pending] = {}
        self._count = 0
        self._token = Secret()
        self._last_sent = self._last_received = now
        self.accepted: frozenset[str] = frozenset()
        self.rejected: frozenset[str] = frozenset()

    @property
    def is_ready(self) -> bool:
        """Whether everything that was asked for is confirmed."""
        return self._asked == self._accounts and not self._wanted - self._subscribed and not self._unconfirmed

    @property
    def must_send(self) -> bool:
        """Whether `send` has messages now, heartbeats aside."""
        return bool(self._next_actions())

    @property
    def due(self) -> float:
        """Latest time to call `send`."""
        times = [self._last_received + self._timing.silence, *(each.due for each in self._pending.values())]
        if self.accepted:
            times.append(self._last_sent + self._timing.heartbeat)
        return min(times)

    def want(self, accounts: Iterable[str], *, alerts: bool, watchlists: bool) -> None:
        """Ask for further accounts, and for alerts and watchlists. The service has no word for ending any of them."""
        self._accounts |= frozenset(accounts)
        self._wanted |= {ALERTS} if alerts else set()
        self._wanted |= {WATCHLISTS} if watchlists else set()

    def send(self, token: Secret, now: float) -> list[Secret]:
        """Return the messages that are due, each with the token, a whole ``Authorization`` value.

        Raises:
            TransportError: the service is silent, or has not answered in time.
        """
        if now >= self._last_received + self._timing.silence:
            raise TransportError(f"the account stream was silent for {self._timing.silence:g} s")
        for each in self._pending.values():
            if now >= each.due:
                raise TransportError(f"the account stream did not answer {each.action} in {self._timing.answer:g} s")
        self._token = token_of(token)
        actions = self._next_actions()
        if not actions and self.accepted and now >= self._last_sent + self._timing.heartbeat:
            actions = [HEARTBEAT]
        messages = list[Secret]()
        for action in actions:
            self._count += 1
            message: dict[str, Any] = {"action": action}
            if action == CONNECT:
                self._asked = self._accounts
                message["value"] = sorted(self._accounts)
            elif action != HEARTBEAT:
                self._subscribed.add(action)
            self._pending[self._count] = _Pending(action, now + self._timing.answer, self._accounts)
            self._last_sent = now
            message |= {"auth-token": token.reveal(), "request-id": self._count}
            if self._source is not None:
                message["source"] = self._source
            messages.append(Secret(msgspec.json.encode(message).decode()))
        return messages

    def receive(self, data: str | bytes, now: float) -> list[AccountEvent]:
        """Return the events of one message. See `steps`."""
        return [event for _, events in self.steps(data, now) for event in events]

    def held_steps(self) -> Iterator[tuple[None, list[AccountEvent]]]:
        """Yield nothing. See `is_holding`."""
        yield from ()

    def steps(self, data: str | bytes, now: float) -> Iterator[tuple[None, list[AccountEvent]]]:
        """Yield the events of one message, after a few ms of work each.

        Raises:
            StreamRefusedError: the service refused the token or a request.
            MessageTooLargeError: an object is larger than is read.
        """
        self._last_received = now
        text = data if isinstance(data, str) else data.decode(errors="replace")
        try:
            if len(text) > LARGE and (head := _RESULTS.match(text)):
                for results, _ in elements_of(text, head.end()):
                    yield from self._results(results)
                return
            if len(text) > MAX_OBJECT:
                raise MessageTooLargeError(f"the account stream sent an object of {len(text)} characters")
            frame = parse(text.encode())
        except ValueError:
            frame = None
        if not isinstance(frame, dict):
            logger.warning("account stream: message is not a JSON object; ignored")
        elif isinstance(frame.get("results"), list):
            yield from self._results(frame["results"])
        elif "type" not in frame and ("status" in frame or "action" in frame):
            self._settle(frame)
        else:
            yield None, [self._event(frame)]

    def _results(self, results: list[Any]) -> Iterator[tuple[None, list[AccountEvent]]]:
        for start in range(0, len(results), ROWS_PER_STEP):
            some = results[start : start + ROWS_PER_STEP]
            yield None, [self._event(each) for each in some if isinstance(each, dict) and "type" in each]

    # Requests and their answers

    @property
    def _unconfirmed(self) -> bool:
        return any(each.action != HEARTBEAT for each in self._pending.values())

    def _next_actions(self) -> list[str]:
        if self._asked != self._accounts:
            return [] if self._unconfirmed else [CONNECT]
        if not self.accepted:
            return []
        return sorted(self._wanted - self._subscribed)

    def _settle(self, frame: dict[str, Any]) -> None:
        """Take the answer to a request: by its number, without one to the oldest with the same action.

        A number that is not pending marks a repeated answer.
        """
        action, number = frame.get("action"), frame.get("request-id")
        if type(number) is not int:
            same = (key for key, each in self._pending.items() if each.action == action)
            number = next(same, None)
        request = self._pending.pop(number, None) if number is not None else None
        if frame.get("status") == "error":
            word = self._token.conceal_in(str(frame.get("message")))
            raise StreamRefusedError(self._token.conceal_in(f"the account stream refused {action}: {word}"), code=word)
        if request is not None and request.action == CONNECT:
            value = frame.get("value")
            confirmed = frozenset(map(str, value)) if isinstance(value, list) else request.accounts
            self.accepted = confirmed
            self.rejected = request.accounts - confirmed
            if not self.accepted:
                raise StreamRefusedError("the account stream accepted none of the accounts", code="no_accounts")

    # Events

    def _event(self, frame: dict[str, Any]) -> AccountEvent:
        kind, data = str(frame.get("type", "")), frame.get("data")
        model = ACCOUNT_EVENTS.get(kind)
        timestamp, sequence = frame.get("timestamp"), frame.get("ws-sequence")
        if isinstance(data, dict):
            data = raw_object(data) if model is None else structure_one(model, data, f"$.{kind}", self._issues)
        elif data is None and "type" not in frame:
            data = raw_object(frame)
        try:
            moment = read_epoch(timestamp) if type(timestamp) is int else None
        except ValueError:
            moment = None
        return AccountEvent(
            type=kind,
            data=data,
            timestamp=moment,
            sequence=sequence if type(sequence) is int else None,
        )
