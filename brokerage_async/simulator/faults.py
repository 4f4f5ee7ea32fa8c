"""Scripted faults: which requests and messages of streams meet one, and its effect on them.

A fault of a request is written as a value or, all but ``body``, as a short string::

    sim.faults.add("POST", r"/orders$", "drop_after")
    sim.faults.add("GET", r".*", faults.status(503), times=3)

=====================  ==============================================================================================
``status(503)``        error response. The request is not processed
``after_status(503)``  processed, then an error response
``html(502)``          HTML page of a proxy. The request is not processed
``after_html(502)``    processed, then the HTML page of a proxy
``refuse``             connection refused (over real HTTP: dropped before the request is processed)
``drop_before``        connection dropped before the request is processed
``drop_after``         processed, then the connection is dropped
``delay(2)``           request arrives two seconds late. It is processed even if the caller stopped waiting
``delay_after(2)``     processed at once. The response is two seconds late
``hang``               not processed, and no response ever comes
``hang_after``         processed, and no response ever comes
``truncate``           processed. Half of the response body arrives
``garbage``            processed. A success response that is not JSON
``rate_limited``       bare 429. The request is not processed
``retry_after(2)``     429 whose ``Retry-After`` asks for two seconds. The request is not processed
``unauthorized``       401. The request is not processed
``body(b"...")``       processed. This body replaces the real one, value only
=====================  ==============================================================================================

Faults of the streams lose, double, delay and break the messages of the server::

    sim.streams.faults.add("duplicate", kind="Order")
    sim.streams.faults.add("late(2)", times=3)
    sim.streams.faults.add("lose", kind="protocol")  # the next answer of the server, such as that to a heartbeat
    sim.streams.faults.is_half_open = True

==================  ====================================================================
``lose``            the message is never sent
``duplicate``       it is sent twice
``reorder``         it is sent after the next one
``late(2)``         it is sent two seconds late, later ones overtake it
``unknown``         a message of an unknown kind is sent before it
``garbage``         a message that is not JSON is sent before it
``drop``            the connection is closed instead
==================  ====================================================================
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable

import attrs

from ..protocol.custom_request import METHODS
from ..protocol.response import Response
from .api.wire import RefusedError
from .api.wire import html as html_page

__all__ = [
    "ConnectionAction", "Fault", "FaultPlan", "StreamFaults", "after_html", "after_status", "body", "delay",
    "delay_after", "drop_after", "drop_before", "garbage", "hang", "hang_after", "html", "parse", "rate_limited",
    "refuse", "retry_after", "status", "truncate", "unauthorized",
]  # fmt: skip


class ConnectionAction(enum.Enum):
    """How the connection treats a response."""

    DELIVER = "deliver"
    REFUSE = "refuse"
    DROP = "drop"
    TRUNCATE = "truncate"
    HANG = "hang"


@attrs.frozen(kw_only=True)
class Fault:
    """One kind of fault.

    Attributes:
        name: its short string.
        processed: whether the service still processes the request.
        answer: builds the response that replaces the real one, None to keep that.
        connection_action: how the connection treats the response.
        delay, delay_after: seconds before the request is processed, and from then until the response.
    """

    name: str
    processed: bool = True
    answer: Callable[[Response | None], Response] | None = None
    connection_action: ConnectionAction = ConnectionAction.DELIVER
    delay: float = 0.0
    delay_after: float = 0.0


def _error(code: int) -> Response:
    names = {500: "internal_server_error", 503: "service_unavailable", 504: "timeout_error"}
    return RefusedError(code, names.get(code, f"status_{code}"), "Simulated failure").response("")


def status(code: int) -> Fault:
    """Respond with an error without processing the request."""
    return Fault(name=f"status({code})", processed=False, answer=lambda _: _error(code))


def after_status(code: int) -> Fault:
    """Process the request, then respond with an error."""
    return Fault(name=f"after_status({code})", answer=lambda _: _error(code))


def html(code: int) -> Fault:
    """Respond with a proxy's page without processing the request."""
    return Fault(name=f"html({code})", processed=False, answer=lambda _: html_page(code, "Bad Gateway"))


def after_html(code: int) -> Fault:
    """Process the request, then respond with a proxy's page."""
    return Fault(name=f"after_html({code})", answer=lambda _: html_page(code, "Bad Gateway"))


def delay(seconds: float) -> Fault:
    """Deliver the request late. It is processed even if the caller stopped waiting."""
    return Fault(name=f"delay({seconds:g})", delay=seconds)


def delay_after(seconds: float) -> Fault:
    """Process the request at once and respond late."""
    return Fault(name=f"delay_after({seconds:g})", delay_after=seconds)


def retry_after(seconds: float) -> Fault:
    """Respond with a 429 whose ``Retry-After`` asks for a pause, without processing the request."""
    answer = Response(status=429, headers={"retry-after": f"{seconds:g}"}, body=b"")
    return Fault(name=f"retry_after({seconds:g})", processed=False, answer=lambda _: answer)


def body(content: bytes) -> Fault:
    """Process the request and replace the response body by ``content``. Status and headers stay."""
    return Fault(name="body", answer=lambda response: _with_body(response, content))


def _with_body(response: Response | None, content: bytes) -> Response:
    if response is None:
        return Response(status=200, headers={"content-type": "application/json"}, body=content)
    return attrs.evolve(response, body=content)


refuse: Fault = Fault(name="refuse", processed=False, connection_action=ConnectionAction.REFUSE)
drop_before: Fault = Fault(name="drop_before", processed=False, connection_action=ConnectionAction.DROP)
drop_after: Fault = Fault(name="drop_after", connection_action=ConnectionAction.DROP)
hang: Fault = Fault(name="hang", processed=False, connection_action=ConnectionAction.HANG)
hang_after: Fault = Fault(name="hang_after", connection_action=ConnectionAction.HANG)
truncate: Fault = Fault(name="truncate", connection_action=ConnectionAction.TRUNCATE)
garbage: Fault = Fault(name="garbage", answer=lambda response: _with_body(response, b"\x00\xff not JSON \xfe"))
_BARE = Response(status=429, headers={}, body=b"")
_UNAUTHORIZED = RefusedError(401, "unauthorized", "Unauthorized").response("")
rate_limited: Fault = Fault(name="rate_limited", processed=False, answer=lambda _: _BARE)
unauthorized: Fault = Fault(name="unauthorized", processed=False, answer=lambda _: _UNAUTHORIZED)

_PLAIN = {name: fault for name, fault in vars().items() if isinstance(fault, Fault)}
_STATUSES = range(200, 600)
_NUMBERED = {"status": status, "after_status": after_status, "html": html, "after_html": after_html}
_TIMED = {"delay": delay, "delay_after": delay_after, "retry_after": retry_after}
_CALLED = re.compile(r"(?P<name>[a-z_]+)\((?P<value>[0-9]+(?:\.[0-9]+)?)\)")


def parse(name: str) -> Fault:
    """Return the fault that a short string such as ``after_status(503)`` names.

    Raises:
        ValueError: the fault is unknown.
    """
    name = name.strip()
    if name in _PLAIN:
        return _PLAIN[name]
    match = _CALLED.fullmatch(name)
    function, value = ("", "") if match is None else match.groups()
    if function in _NUMBERED and value.isdigit():
        if int(value) not in _STATUSES:
            raise ValueError(f"status must be from {_STATUSES[0]} to {_STATUSES[-1]}, got {value}")
        return _NUMBERED[function](int(value))
    if function in _TIMED:
        return _TIMED[function](float(value))
    known = ", ".join([*_PLAIN, *(f"{one}(…)" for one in (*_NUMBERED, *_TIMED))])
    raise ValueError(f"unknown fault: {name!r}; use one of {known}, or faults.body() as a value")


@attrs.define
class _Rule:
    method: str
    path: re.Pattern[str]
    fault: Fault
    left: int | None


class FaultPlan:
    """Faults still to come, searched in the order they were added."""

    def __init__(self) -> None:
        self._rules: list[_Rule] = []

    def add(self, method: str, path_regex: str, action: Fault | str, times: int | None = 1) -> None:
        """Apply a fault to the next ``times`` matching requests.

        Args:
            method: HTTP method, or ``*`` for any.
            path_regex: searched for in the encoded request target, query included.
            action: a fault, or its short string.
            times: how many requests meet it, None for all from now on.

        Raises:
            ValueError: the method or the fault is unknown, or ``times`` is less than 1.
        """
        if times is not None and times < 1:
            raise ValueError(f"times must be at least 1, or None for all requests, got {times}")
        if method.upper() not in ("*", *METHODS):
            raise ValueError(f"method must be * or one of {', '.join(METHODS)}, got {method!r}")
        fault = action if isinstance(action, Fault) else parse(str(action))
        self._rules.append(_Rule(method.upper(), re.compile(path_regex), fault, times))

    def remove(self, method: str, path_regex: str, name: str) -> None:
        """Remove every fault of that name for that method and path.

        Raises:
            LookupError: there is none.
        """
        key = (method.upper(), path_regex, name)
        left = [rule for rule in self._rules if (rule.method, rule.path.pattern, rule.fault.name) != key]
        if len(left) == len(self._rules):
            raise LookupError(f"no fault {name} is left for {method} {path_regex}")
        self._rules[:] = left

    def clear(self) -> None:
        """Remove every fault still to come."""
        self._rules.clear()

    def rules(self) -> list[tuple[str, str, str, int | None]]:
        """Return method, path pattern, fault and remaining times of every fault still to come."""
        return [(rule.method, rule.path.pattern, rule.fault.name, rule.left) for rule in self._rules]

    @property
    def pending(self) -> int:
        """Number of faults still to come, not counting those without a limit."""
        return sum(rule.left or 0 for rule in self._rules)

    def take(self, method: str, target: str) -> Fault | None:
        """Return the fault that a request meets, if any, and count it as used."""
        for rule in self._rules:
            if rule.method in ("*", method) and rule.path.search(target):
                if rule.left is not None:
                    rule.left -= 1
                    if rule.left == 0:
                        self._rules.remove(rule)
                return rule.fault
        return None


PROTOCOL = "protocol"
"""Kind of the messages that are not events: greetings, answers, settings."""

_NAMES = ("lose", "duplicate", "reorder", "unknown", "garbage", "drop")


@attrs.define
class Delivery:
    """Fate of the next ``times`` messages of a kind, None for events of any type."""

    name: str
    delay: float = 0.0
    kind: str | None = None
    times: int = 1


DELIVER = Delivery("deliver")
"""A message without a fault."""


class StreamFaults:
    """Faults still to come.

    Attributes:
        is_half_open: whether connections stay open but carry nothing in either direction.
        is_deaf: whether connections carry nothing from the client to the server.
        refusals: tokens of the next clients that are refused.
    """

    def __init__(self) -> None:
        self._planned: list[Delivery] = []
        self.is_half_open: bool = False
        self.is_deaf: bool = False
        self.refusals: int = 0

    def add(self, name: str, *, kind: str | None = None, times: int = 1) -> None:
        """Let the next ``times`` events (of type ``kind``, if given) meet a fault.

        Kind ``protocol`` stands for all messages that are not events. Without a kind none of them meets a fault.

        Raises:
            ValueError: the fault is unknown, or ``times`` is less than 1.
        """
        if times < 1:
            raise ValueError(f"times must be at least 1, got {times}")
        late = _CALLED.fullmatch(name)
        if name not in _NAMES and (late is None or late["name"] != "late"):
            raise ValueError(f"fault must be one of {', '.join(_NAMES)} or late(seconds), got {name!r}")
        seconds = 0.0 if late is None else float(late["value"])
        self._planned.append(Delivery(name if late is None else "late", seconds, kind, times))

    def clear(self) -> None:
        """Remove every fault still to come, and let connections carry everything again."""
        self._planned.clear()
        self.is_half_open, self.is_deaf, self.refusals = False, False, 0

    def deliver(self, kind: str) -> Delivery:
        """Return the delivery of an event of type ``kind``. Protocol messages have no type."""
        for planned in self._planned:
            if planned.kind == (kind or PROTOCOL) or (kind and planned.kind is None):
                planned.times -= 1
                if not planned.times:
                    self._planned.remove(planned)
                return planned
        return DELIVER

    def refuses(self) -> bool:
        """Return whether the next token is refused, and count that."""
        refused = self.refusals > 0
        self.refusals -= refused
        return refused
