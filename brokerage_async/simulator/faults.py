"""Scripted trouble: which requests meet it, and what happens to them.

A fault is written as a value or as short text::

    sim.faults.add("POST", r"/orders$", "drop_after")
    sim.faults.add("GET", r".*", faults.status(503), times=3)

=====================  ==============================================================================================
``status(503)``        answered with an error before anything is done
``after_status(503)``  done, then answered with an error all the same
``html(502)``          a proxy's HTML page, before anything is done
``after_html(502)``    done, then answered with a proxy's HTML page
``refuse``             the connection is refused (real HTTP: dropped before the request is looked at)
``drop_before``        the connection drops before anything is done
``drop_after``         done, then the connection drops
``delay(2)``           the request is two seconds late: it is done then, even if nobody waits for it any more
``delay_after(2)``     done at once, the answer is two seconds late
``hang``               nothing is done and no answer ever comes
``hang_after``         done, and no answer ever comes
``truncate``           done, half of the answer's body arrives
``garbage``            done, and answered with a success that is not JSON
``rate_limited``       refused with a bare 429
``unauthorized``       refused with a 401
``body(b"...")``       done, and answered with this body in place of the true one
=====================  ==============================================================================================
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable

import attrs

from ..protocol.response import Response
from .api.wire import RefusedError
from .api.wire import html as html_page

__all__ = [
    "Fate",
    "Fault",
    "FaultPlan",
    "after_html",
    "after_status",
    "body",
    "delay",
    "delay_after",
    "drop_after",
    "drop_before",
    "garbage",
    "hang",
    "hang_after",
    "html",
    "parse",
    "rate_limited",
    "refuse",
    "status",
    "truncate",
    "unauthorized",
]


class Fate(enum.Enum):
    """What becomes of an answer."""

    DELIVER = "deliver"
    REFUSE = "refuse"
    DROP = "drop"
    TRUNCATE = "truncate"
    HANG = "hang"


@attrs.frozen(kw_only=True)
class Fault:
    """One kind of trouble.

    Attributes:
        name: as it is written short.
        processed: whether the service still does what it was asked.
        answer: what is sent in place of the true answer, None to leave that.
        fate: what becomes of the answer.
        delay, delay_after: seconds before the request is done, and between that and the answer.
    """

    name: str
    processed: bool = True
    answer: Callable[[Response | None], Response] | None = None
    fate: Fate = Fate.DELIVER
    delay: float = 0.0
    delay_after: float = 0.0


def _error(code: int) -> Response:
    names = {500: "internal_server_error", 503: "service_unavailable", 504: "timeout_error"}
    return RefusedError(code, names.get(code, f"status_{code}"), "Simulated failure").response("")


def status(code: int) -> Fault:
    """An error answer, before anything is done."""
    return Fault(name=f"status({code})", processed=False, answer=lambda _: _error(code))


def after_status(code: int) -> Fault:
    """Done, then an error answer all the same."""
    return Fault(name=f"after_status({code})", answer=lambda _: _error(code))


def html(code: int) -> Fault:
    """A proxy's page, before anything is done."""
    return Fault(name=f"html({code})", processed=False, answer=lambda _: html_page(code, "Bad Gateway"))


def after_html(code: int) -> Fault:
    """Done, then a proxy's page all the same."""
    return Fault(name=f"after_html({code})", answer=lambda _: html_page(code, "Bad Gateway"))


def delay(seconds: float) -> Fault:
    """The request arrives late; it is done then, even if nobody waits for it any more."""
    return Fault(name=f"delay({seconds:g})", delay=seconds)


def delay_after(seconds: float) -> Fault:
    """Done at once; the answer is late."""
    return Fault(name=f"delay_after({seconds:g})", delay_after=seconds)


def body(content: bytes) -> Fault:
    """Done, and answered with ``content`` in place of the true body; status and headers stay."""
    return Fault(name="body", answer=lambda true: _with_body(true, content))


def _with_body(true: Response | None, content: bytes) -> Response:
    if true is None:
        return Response(status=200, headers={"content-type": "application/json"}, body=content)
    return attrs.evolve(true, body=content)


refuse: Fault = Fault(name="refuse", processed=False, fate=Fate.REFUSE)
drop_before: Fault = Fault(name="drop_before", processed=False, fate=Fate.DROP)
drop_after: Fault = Fault(name="drop_after", fate=Fate.DROP)
hang: Fault = Fault(name="hang", processed=False, fate=Fate.HANG)
hang_after: Fault = Fault(name="hang_after", fate=Fate.HANG)
truncate: Fault = Fault(name="truncate", fate=Fate.TRUNCATE)
garbage: Fault = Fault(name="garbage", answer=lambda true: _with_body(true, b"\x00\xff not JSON \xfe"))
rate_limited: Fault = Fault(
    name="rate_limited", processed=False, answer=lambda _: Response(status=429, headers={}, body=b"")
)
unauthorized: Fault = Fault(
    name="unauthorized",
    processed=False,
    answer=lambda _: RefusedError(401, "unauthorized", "Unauthorized").response(""),
)

_PLAIN = {
    fault.name: fault
    for fault in (refuse, drop_before, drop_after, hang, hang_after, truncate, garbage, rate_limited, unauthorized)
}
_NUMBERED: dict[str, Callable[[int], Fault]] = {
    "status": status,
    "after_status": after_status,
    "html": html,
    "after_html": after_html,
}
_TIMED: dict[str, Callable[[float], Fault]] = {"delay": delay, "delay_after": delay_after}
_CALLED = re.compile(r"(?P<name>[a-z_]+)\((?P<value>[0-9]+(?:\.[0-9]+)?)\)")


def parse(text: str) -> Fault:
    """The fault of a short text such as ``after_status(503)``.

    Raises:
        ValueError: there is no such fault.
    """
    text = text.strip()
    if text in _PLAIN:
        return _PLAIN[text]
    match = _CALLED.fullmatch(text)
    name, value = ("", "") if match is None else match.groups()
    if name in _NUMBERED and value.isdigit():
        return _NUMBERED[name](int(value))
    if name in _TIMED:
        return _TIMED[name](float(value))
    known = ", ".join([*_PLAIN, *(f"{name}(…)" for name in (*_NUMBERED, *_TIMED))])
    raise ValueError(f"{text!r} is no fault; there are {known}, and body() as a value")


@attrs.define
class _Line:
    method: str
    path: re.Pattern[str]
    fault: Fault
    left: int | None


class FaultPlan:
    """The faults that are still to come, looked through in the order in which they were added."""

    def __init__(self) -> None:
        self._lines: list[_Line] = []

    def add(self, method: str, path_regex: str, action: Fault | str, times: int | None = 1) -> None:
        """Let the next ``times`` requests (None: all from now on) that match meet a fault.

        Args:
            method: HTTP method, or ``*`` for any.
            path_regex: searched for in the encoded request target, query included.
            action: a fault, or its short text.
            times: how many requests meet it.

        Raises:
            ValueError: there is no such fault, or nobody is to meet it.
        """
        if times is not None and times < 1:
            raise ValueError(f"times must be at least 1, or None for all requests, not {times}")
        fault = parse(action) if isinstance(action, str) else action
        self._lines.append(_Line(method.upper(), re.compile(path_regex), fault, times))

    def clear(self) -> None:
        """Forget every fault that is still to come."""
        self._lines.clear()

    @property
    def pending(self) -> int:
        """How many faults wait for a request; those that last for ever do not count."""
        return sum(line.left or 0 for line in self._lines)

    def take(self, method: str, target: str) -> Fault | None:
        """The fault that a request meets, if any; it is counted."""
        for line in self._lines:
            if line.method in ("*", method) and line.path.search(target):
                if line.left is not None:
                    line.left -= 1
                    if line.left == 0:
                        self._lines.remove(line)
                return line.fault
        return None
