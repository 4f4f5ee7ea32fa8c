"""The simulated brokerage: a request goes in, a response comes out, and time is passed in.

No sockets, no event loop, no clock of its own: ``handle(request, now)`` is all there is to it, which is what makes it
serve a loopback port and a virtual clock alike. The same seed, requests and times give the same answers.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from ..._generated.converters import TokenErrorBodyWire
from ..._generated.operations import OPERATIONS, REQUEST_MODELS
from ...operation import Operation, Shape
from ...protocol.request import Request
from ...protocol.response import Response
from ..authorization_server import AUTH_PAGE
from ..faults import Fate, Fault, FaultPlan
from ..ledger import Entry, Ledger
from ..state import Settings, World
from .call import Call, Customer, Identity
from .orders import refuse_broken_rules
from .request_parser import Intake
from .routes import Router, request_target, split_target
from .wire import Dialect, RefusedError, WireForm, bare, html

__all__ = ["Brokerage", "Outcome"]

_USER_AGENT = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+/[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VERSION = re.compile(r"20[0-9]{6}")
_OLDEST_VERSION = "20260211"
_MARKET_SESSIONS_VERSION = "2.0.1"
_NOBODY = Customer(0, "")

Handler = Callable[[Call], Response]


@attrs.frozen
class Outcome:
    """What came of a request: the answer (None when there is none), what becomes of it, and the ledger's entry."""

    response: Response | None
    fate: Fate
    entry: Entry


@attrs.frozen
class _Arrival:
    """A request and what its address says: the operation (None when there is none) and the values in its path."""

    request: Request
    now: float
    entry: Entry
    path: str
    query: str
    operation: Operation[Any] | None
    values: Mapping[str, str]

    def is_flat_error(self, refusal: RefusedError) -> bool:
        """Whether a refusal is written without an envelope, as the token endpoint writes what is wrong with a grant."""
        return self.operation is not None and self.operation.shape is Shape.BARE and refusal.status in (400, 422)


class Brokerage:
    """One environment of the service, with its customers, accounts, orders and instruments."""

    def __init__(self, settings: Settings, *, wire: WireForm = "observed", rate_limit: float | None = None) -> None:
        dialect = Dialect(wire)
        self.settings: Settings = settings
        self.ledger: Ledger = Ledger()
        self.faults: FaultPlan = FaultPlan()
        self.world: World = World(settings, self.ledger, dialect)
        self.rate_limit: float | None = rate_limit
        self._accepted: deque[float] = deque()
        self._intake = Intake(REQUEST_MODELS, dialect)
        self._router = Router(OPERATIONS.values())
        areas = self.world.areas()
        self._handlers: Mapping[str, Handler] = {name: _handler(areas, name) for name in OPERATIONS}

    def handle(self, request: Request, now: float) -> Response:
        """Answer a request at ``now`` (epoch seconds), whatever faults are scripted."""
        entry = self.ledger.arrive(now, request.method, request_target(request.url))
        entry.delivered = True
        return self._process(request, now, entry)

    def serve(self, request: Request, now: float, fault: Fault | None) -> Outcome:
        """Answer a request that meets ``fault``, if any; its delays have passed already."""
        entry = self.ledger.arrive(now, request.method, request_target(request.url))
        if fault is None:
            return Outcome(self._process(request, now, entry), Fate.DELIVER, entry)
        entry.fault = fault.name
        response = None
        if fault.processed:
            response = self._process(request, now, entry)
        else:
            self._identify_operation(entry)
        if fault.answer is not None:
            response = fault.answer(response)
            entry.status = response.status
        return Outcome(response, fault.fate, entry)

    def advance(self, now: float) -> None:
        """Let everything happen that is due by ``now``, as the next request would."""
        self.world.agenda.run(now)

    # Steps of an answer

    def _process(self, request: Request, now: float, entry: Entry) -> Response:
        self.world.agenda.run(now)
        path, query = split_target(request.url)
        found = self._router.find(request.method, path)
        arrival = _Arrival(request, now, entry, path, query, *(found or (None, {})))
        if arrival.operation is not None:
            entry.operation, entry.effect = arrival.operation.name, arrival.operation.effect.value
        try:
            response = self._answer(arrival)
        except RefusedError as refusal:
            response = _flat(refusal) if arrival.is_flat_error(refusal) else refusal.response(path)
        entry.status = response.status
        return response

    def _answer(self, arrival: _Arrival) -> Response:
        if not self._has_room(arrival.now):
            return Response(status=429, headers={}, body=b"")
        if arrival.path == AUTH_PAGE:
            return self._consent(arrival)
        headers = {name.lower(): value for name, value in arrival.request.headers.items()}
        user_agent = headers.get("user-agent")
        if not user_agent:
            return html(401, "Authorization Required")
        if _USER_AGENT.fullmatch(user_agent) is None:
            raise RefusedError(401, "unauthorized", "User-Agent must have the form product/version")
        version = _checked_version(headers.get("accept-version"))
        operation, customer = arrival.operation, _NOBODY
        if operation is None or operation.scope is not None:
            customer = self._authorized(operation, headers.get("authorization"), arrival.now).customer
        if operation is None or (operation.production_only and self.settings.environment != "production"):
            raise RefusedError.not_found("the address")
        call = self._call(arrival, operation, customer, version)
        arrival.entry.processed = True
        return self._handlers[operation.name](call)

    def _consent(self, arrival: _Arrival) -> Response:
        """Send the owner, who came to the authorization page, back to the application with a code."""
        target = self.world.office.authorize(arrival.request.url, self.world.owner, arrival.now)
        return Response(status=302, headers={"location": target}, body=b"")

    def _call(self, arrival: _Arrival, operation: Operation[Any], customer: Customer, version: str | None) -> Call:
        """A request with everything that it brings checked."""
        body, broken_rules = self._intake.body(operation, arrival.request.body)
        if broken_rules:
            raise refuse_broken_rules(self._intake, broken_rules)
        return Call(
            operation=operation,
            now=arrival.now,
            context=arrival.path,
            path=arrival.values,
            query=self._intake.query(operation, arrival.query),
            body=body,
            customer=customer,
            version=version,
            entry=arrival.entry,
        )

    def _authorized(self, operation: Operation[Any] | None, authorization: str | None, now: float) -> Identity:
        scheme, _, token = (authorization or "").partition(" ")
        identity = self.world.office.identify(token.strip(), now) if scheme.lower() == "bearer" else None
        if identity is None:
            raise RefusedError(401, "unauthorized", "Access token is missing, invalid or expired")
        if operation is not None and operation.scope not in identity.scopes:
            raise RefusedError.not_permitted(f"The token lacks the scope {operation.scope}")
        return identity

    def _has_room(self, now: float) -> bool:
        """Whether the rate limit lets one more request through: a window of one second slides over those let in."""
        if self.rate_limit is None:
            return True
        accepted = self._accepted
        while accepted and accepted[0] <= now - 1:
            accepted.popleft()
        if len(accepted) >= self.rate_limit:
            return False
        accepted.append(now)
        return True

    def _identify_operation(self, entry: Entry) -> None:
        found = self._router.find(entry.method, split_target(entry.target)[0])
        if found is not None:
            entry.operation, entry.effect = found[0].name, found[0].effect.value


def _handler(areas: Mapping[str, object], name: str) -> Handler:
    """The method that answers an operation; one that is missing is a mistake of the simulator."""
    namespace, _, method = name.partition(".")
    handler: Handler | None = getattr(areas.get(namespace), method, None)
    if handler is None:
        raise NotImplementedError(f"the simulator does not answer {name} yet")
    return handler


def _checked_version(version: str | None) -> str | None:
    """The interface version asked for; 406, with a code that is a number, for one that is gone."""
    if version is None or version == _MARKET_SESSIONS_VERSION:
        return None
    if _VERSION.fullmatch(version) is None or version < _OLDEST_VERSION:
        raise RefusedError(406, 406, f"The version {version} does not exist any more")
    return version


def _flat(refusal: RefusedError) -> Response:
    """The form in which the token endpoint writes errors."""
    code = "invalid_request" if refusal.code == "validation_error" else refusal.code
    return bare(TokenErrorBodyWire(error_code=str(code), error_description=refusal.message), 400)
