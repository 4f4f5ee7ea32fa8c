"""The form of an exchange, and how one is replayed."""

import contextlib
import json
import re
from collections.abc import Mapping
from typing import Any

import attrs

from brokerage_async._generated import endpoints
from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.operation import BoundCall, Operation

ACCOUNT = "5WT00001"
CUSTOMER = 7654321

HEADERS = {"User-Agent": "vector-tests/1.0", "Accept": "application/json"}
"""What the replay gives every request; a session adds the token and the content type."""


def compact(text: str) -> bytes:
    """JSON as it goes over the wire: no blanks, the order of the keys and the form of every value kept."""
    return json.dumps(json.loads(text), separators=(",", ":"), ensure_ascii=False).encode()


@attrs.frozen(kw_only=True)
class Exchange:
    """One request and its response.

    Attributes:
        operation, arguments, options: the call, ``namespace.method`` on the client with its arguments.
        target, sent: the request: raw path and query, and the body as JSON text or None.
        facts: what must be read from the answer, by path: ``[1].legs[0].quantity``; ``legs.#`` is a length.
        pagination: fields of the pagination block of a page.
        error: name of the exception class that a response which is no success must become.
        unsent: the parameter for whose sake this client refuses to make the call at all.
        observed: stands on what was seen on the wire, not on the service document.
    """

    name: str
    operation: str
    arguments: tuple[Any, ...] = ()
    options: Mapping[str, Any] = attrs.field(factory=dict)
    method: str = "GET"
    target: str
    sent: str | None = None
    status: int = 200
    headers: Mapping[str, str] = attrs.field(factory=lambda: {"content-type": "application/json"})
    answer: str = ""
    facts: Mapping[str, Any] = attrs.field(factory=dict)
    pagination: Mapping[str, int | None] | None = None
    error: str | None = None
    unsent: str | None = None
    observed: bool = False

    @property
    def body(self) -> bytes | None:
        return None if self.sent is None else compact(self.sent)

    @property
    def data(self) -> Operation[Any]:
        return OPERATIONS[self.operation]

    @property
    def public(self) -> bool:
        """Whether the client offers the call by name (the token endpoint is called by the client itself)."""
        return not self.operation.startswith("oauth.")

    def __str__(self) -> str:
        return f"{self.operation}: {self.name}"


class Recorder:
    """An executor that only notes what it is asked to do, and returns that."""

    def __init__(self) -> None:
        self.calls: list[BoundCall[Any]] = []

    def paginate(self, call: BoundCall[Any]) -> Any:
        self.calls.append(call)
        return call

    async def execute(self, call: BoundCall[Any]) -> Any:
        return self.paginate(call)


def call_of(exchange: Exchange) -> BoundCall[Any]:
    if not exchange.public:
        return exchange.data.bind(body=exchange.arguments[0])
    recorder = Recorder()
    coroutine = invoke(endpoints.Endpoints(recorder), exchange)
    if not recorder.calls:  # it has not begun
        with contextlib.suppress(StopIteration):
            coroutine.send(None)
    (call,) = recorder.calls
    return call


def invoke(client: Any, exchange: Exchange) -> Any:
    """Call the public name of an exchange on a client (or anything that has the same endpoints)."""
    namespace, method = exchange.operation.split(".")
    return getattr(getattr(client, namespace), method)(*exchange.arguments, **exchange.options)


_STEP = re.compile(r"\[(\d+)\]|(#)|([\w-]+)")


def look(value: Any, path: str) -> Any:
    """Follow a path such as ``[1].legs[0].quantity`` or ``legs.#``; ``""`` is the value itself."""
    for index, length, name in _STEP.findall(path):
        if index:
            value = value[int(index)]
        elif length:
            value = len(value)
        else:
            value = value[name] if isinstance(value, Mapping) else getattr(value, name)
    return value


def differences(value: Any, facts: Mapping[str, Any]) -> list[str]:
    """Every fact that does not hold, with what stands there instead; types count, open enumerations are text."""
    found = []
    for path, expected in facts.items():
        try:
            actual = look(value, path)
        except (AttributeError, IndexError, KeyError, TypeError) as error:
            found.append(f"{path}: {error!r}")
            continue
        same = actual == expected and (isinstance(actual, type(expected)) or expected is None)
        if not same:
            found.append(f"{path}: {actual!r} instead of {expected!r}")
    return found
