"""Sans-I/O core of the simulator: maps a request and a time to a response.

It has no sockets, no event loop and no clock. So ``handle(request, now)`` serves a loopback port and a virtual clock
alike. The same seed, requests and times give the same responses.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from inspect import getfile
from typing import Any, Literal

import attrs

from ..._generated.converters import TokenErrorBodyWire
from ..._generated.operations import OPERATIONS, REQUEST_MODELS
from ...operation import PUBLISHED_RATES, PUBLISHED_TOTAL, Operation, Shape
from ...protocol.request import Request
from ...protocol.response import Response
from ..authorization_server import AUTH_PAGE
from ..control.actions import ACTIONS
from ..faults import ConnectionAction, Fault, FaultPlan
from ..ledger import Ledger, RequestRecord
from ..market.quotes import PriceSource
from ..recording import ActionEntry, Entry, RequestEntry, StateError
from ..state import Settings, State
from ..streams.server import StreamServer
from ..trading.accounts import Customer
from .accounts import Accounts, Balances, OAuth, Positions, Transactions
from .backtests import Backtests
from .instruments import Instruments, OptionChains, Search
from .margin import Margin, Risk
from .market import MarketData, MarketMetrics, MarketTime
from .orders import ComplexOrders, Orders
from .request_parser import Handlers, ParsedRequest, RequestParser, Router, request_target, split_target
from .versions import InterfaceVersions
from .watchlists import QuoteAlerts, Watchlists
from .wire import Dialect, RefusedError, bare, html

_USER_AGENT = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+/[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_ANONYMOUS = Customer(0, "")

Handler = Callable[[ParsedRequest], Any]

HANDLERS: Mapping[str, type[Handlers]] = {
    "accounts": Accounts,
    "backtests": Backtests,
    "balances": Balances,
    "complex_orders": ComplexOrders,
    "instruments": Instruments,
    "margin": Margin,
    "market_data": MarketData,
    "market_metrics": MarketMetrics,
    "market_time": MarketTime,
    "oauth": OAuth,
    "option_chains": OptionChains,
    "orders": Orders,
    "positions": Positions,
    "quote_alerts": QuoteAlerts,
    "risk": Risk,
    "search": Search,
    "transactions": Transactions,
    "watchlists": Watchlists,
}
"""Handlers by namespace."""


@attrs.frozen
class ServedRequest:
    """Result of a request: response, if any, its delivery, and its record."""

    response: Response | None
    connection_action: ConnectionAction
    record: RequestRecord


def error_of(operation: Operation[Any] | None, path: str, refusal: RefusedError) -> Response:
    """Return an error as the service of the operation sends it. Other hosts know no 422, tokens no envelope."""
    is_token = operation is not None and operation.shape is Shape.BARE and operation.host is None
    if is_token and refusal.status in (400, 422):
        code = "invalid_request" if refusal.code == "validation_error" else refusal.code
        reasons = "; ".join(str(entry.reason or entry.message) for entry in refusal.errors)
        return bare(TokenErrorBodyWire(error_code=str(code), error_description=reasons or refusal.message), 400)
    response = refusal.response(path)
    is_elsewhere = operation is not None and operation.host is not None
    return attrs.evolve(response, status=400) if is_elsewhere and response.status == 422 else response


class Brokerage:
    """One environment of the service, with its customers, accounts, orders and instruments.

    ``entries`` lead to its state. ``on_entry``, if any, is called with each new one before the response leaves.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        rate_limit: float | Literal["published"] | None = None,
        sources: Mapping[str, PriceSource] | None = None,
        versions: Iterable[str] | None = None,
        withdrawn_versions: Iterable[str] = (),
        handlers: Mapping[str, Handler] | None = None,
    ) -> None:
        self._other_handlers = dict(handlers or {})
        self._dialect = dialect = Dialect(settings.wire, settings.has("external_identifier_echoed"))
        self.settings: Settings = settings
        self.faults: FaultPlan = FaultPlan()
        self.sources: Mapping[str, PriceSource] = dict(sources or {})
        self.rate_limit: float | Literal["published"] | None = rate_limit
        self.versions: InterfaceVersions = InterfaceVersions(settings, versions, withdrawn_versions)
        self._accepted: defaultdict[str, deque[float]] = defaultdict(deque)
        self.request_parser: RequestParser = RequestParser(REQUEST_MODELS, dialect, settings.has)
        self._router = Router(OPERATIONS.values())
        self.hosts: frozenset[str] = frozenset(each.host for each in OPERATIONS.values() if each.host is not None)
        self.entries: list[Entry] = []
        self.on_entry: Callable[[Entry], None] | None = None
        self._build()

    def _build(self) -> None:
        self.ledger: Ledger = Ledger()
        self.state: State = State(self.settings, self.ledger, self._dialect)
        self.streams: StreamServer = StreamServer(self.state)
        for symbol, source in self.sources.items():
            self.state.prices.set_source(symbol, source, self.settings.start)
        namespaces = {namespace: handlers(self.state) for namespace, handlers in HANDLERS.items()}
        self._handlers: dict[str, Handler] = dict(self._other_handlers)
        for name in OPERATIONS.keys() - self._handlers.keys():
            namespace, _, method = name.partition(".")
            if (handler := getattr(namespaces.get(namespace), method, None)) is None:
                home = HANDLERS.get(namespace)
                missing = f"its class to HANDLERS in {__file__}" if home is None else f"{method}() to {getfile(home)}"
                raise NotImplementedError(f"no handler for the operation {name}: add {missing}")
            self._handlers[name] = handler

    def handle(self, request: Request, now: float) -> Response:
        """Return the response to a request at ``now`` (epoch seconds), ignoring scripted faults."""
        record = self.ledger.record_request(now, request.method, request_target(request.url))
        record.delivered, record.elapsed = True, 0.0
        response = self._process(request, now, record)
        self._keep(request, record)
        return response

    def serve(self, request: Request, now: float, fault: Fault | None) -> ServedRequest:
        """Serve a request that meets ``fault``, if any. The delays of the fault have already passed."""
        record = self.ledger.record_request(now, request.method, request_target(request.url))
        response: Response | None = None
        if fault is None or fault.processed:
            response = self._process(request, now, record)
        elif (found := self._router.find(record.method, split_target(record.target)[0])) is not None:
            record.operation, record.effect = found[0].name, found[0].effect.value
        if fault is not None:
            record.fault = fault.name
            if fault.answer is not None:
                response = fault.answer(response)
                record.status = response.status
        self._keep(request, record)
        return ServedRequest(response, ConnectionAction.DELIVER if fault is None else fault.connection_action, record)

    def advance(self, now: float) -> None:
        """Run everything that is due by ``now``, as the next request would."""
        self.state.event_queue.run(now)

    def act(self, name: str, now: float, **arguments: Any) -> Any:
        """Do one of `ACTIONS` at ``now``, record it, and return its result, or raise as the action does."""
        self.advance(now)
        result = ACTIONS[name](self.state, now, **arguments)
        self._record(ActionEntry(at=now, name=name, arguments=arguments))
        return result

    def replay(self, entries: Iterable[Entry]) -> None:
        """Return to the initial state and repeat the entries. Raise StateError if that has another outcome."""
        rate_limit, versions = self.rate_limit, self.versions
        self.rate_limit, self.versions, self.entries, self.on_entry = None, versions.without(()), [], None
        self._build()
        try:
            for entry in entries:
                if isinstance(entry, RequestEntry):
                    old = entry.record
                    record = self.ledger.record_request(old.at, old.method, old.target)
                    if entry.url is not None:
                        request = Request(method=old.method, url=entry.url, headers=entry.headers, body=entry.body)
                        self._process(request, old.at, record)
                        if record.order_ids != old.order_ids:
                            what = f"{old.method} {old.target} created other orders than before"
                            raise StateError(f"{what}: use the same version")
                    for name in ("operation", "effect", "processed", "status", "delivered", "fault", "elapsed"):
                        setattr(record, name, getattr(old, name))
                    self._record(attrs.evolve(entry, record=record))
                    continue
                try:
                    self.act(entry.name, entry.at, **entry.arguments)
                except (LookupError, TypeError, ValueError) as error:
                    raise StateError(f"{entry.name} cannot be repeated: {error}; use the same version") from None
        finally:
            self.rate_limit, self.versions = rate_limit, versions

    def _record(self, entry: Entry) -> None:
        if self.on_entry is not None:
            self.on_entry(entry)
        self.entries.append(entry)

    def _keep(self, request: Request, record: RequestRecord) -> None:
        """Record a request, whole if it may have changed the state."""
        changes = record.processed and record.method != "GET"
        if changes or split_target(record.target)[0] == AUTH_PAGE:
            headers = dict(request.headers)
            self._record(RequestEntry(record=record, url=request.url, headers=headers, body=request.body))
        else:
            self._record(RequestEntry(record=record))

    def _process(self, request: Request, now: float, record: RequestRecord) -> Response:
        self.state.event_queue.run(now)
        try:
            response = self._answer(request, now, record)
        except RefusedError as refusal:
            response = error_of(OPERATIONS.get(record.operation or ""), split_target(request.url)[0], refusal)
        record.status = response.status
        return response

    def _answer(self, request: Request, now: float, record: RequestRecord) -> Response:
        path, query = split_target(request.url)
        operation, values = self._router.find(request.method, path) or (None, {})
        if operation is not None:
            record.operation, record.effect = operation.name, operation.effect.value
        if not self._is_within_rate_limit(operation, now):
            return Response(status=429, headers={}, body=b"")
        if path == AUTH_PAGE:
            page = self.state.authorization_server.sign_in_page(request.url)
            if page is not None:
                return Response(status=200, headers={"content-type": "text/html; charset=utf-8"}, body=page.encode())
            target = self.state.authorization_server.authorize(request.url, now)
            return Response(status=302, headers={"location": target}, body=b"")
        headers = {name.lower(): value for name, value in request.headers.items()}
        user_agent = headers.get("user-agent")
        if not user_agent:
            return html(401, "Authorization Required")
        if _USER_AGENT.fullmatch(user_agent) is None:
            raise RefusedError(401, "unauthorized", "User-Agent must have the form product/version")
        asked = headers.get("accept-version")
        version = self.versions.require(asked)
        customer = _ANONYMOUS
        authorization = headers.get("authorization")
        is_open = operation is not None and (operation.scope is None or (operation.is_public and authorization is None))
        if not is_open:
            scheme, _, token = (authorization or "").partition(" ")
            is_bearer, server = scheme.lower() == "bearer", self.state.authorization_server
            identity = server.identify(token.strip(), now) if is_bearer else None
            if identity is None:
                raise RefusedError(401, "unauthorized", "Access token is missing, invalid or expired")
            if operation is not None and operation.scope not in identity.scopes:
                raise RefusedError.not_permitted(f"The token lacks the scope {operation.scope}")
            customer = identity.customer
        is_missing = operation is None or (operation.production_only and self.settings.environment != "production")
        if is_missing and operation is not None and operation.name.startswith(("market_data.", "market_metrics.")):
            if self.settings.has("sandbox_has_no_market_data"):
                return html(502, "Bad Gateway")
            is_missing = False
        if operation is None or is_missing:
            methods = [] if operation is not None else self._router.methods(path)
            if not methods:
                raise RefusedError.not_found("the address")
            allowed = {"allow": ", ".join(methods)}
            text = f"This address supports {allowed['allow']} only"
            raise RefusedError(405, "method_not_allowed", text, headers=allowed)
        body = self.request_parser.body(operation, request.body)
        parsed = ParsedRequest(
            operation=operation,
            now=now,
            context=path,
            path=values,
            query=self.request_parser.query(operation, query),
            body=body,
            customer=customer,
            behaviours=self.versions.behaviours(version),
            record=record,
            asked_version=asked,
        )
        record.processed = True
        return parsed.response(self._handlers[operation.name](parsed))

    def _is_within_rate_limit(self, operation: Operation[Any] | None, now: float) -> bool:
        """Return whether the sliding windows, for all requests and for this operation, admit this one.

        Under the published rates, a window is a tenth shorter than a second: those who space their requests by a second
        are not refused for what the network added to one and not to the next.
        """
        if self.rate_limit is None:
            return True
        if self.rate_limit != "published":
            window, bounds = 1.0, {"": self.rate_limit}
        else:
            window, bounds = 0.9, {"": PUBLISHED_TOTAL}
            if operation is not None and operation.name in PUBLISHED_RATES:
                bounds[operation.name] = PUBLISHED_RATES[operation.name]
        for name, bound in bounds.items():
            accepted = self._accepted[name]
            while accepted and accepted[0] <= now - window:
                accepted.popleft()
            if len(accepted) >= bound:
                return False
        for name in bounds:
            self._accepted[name].append(now)
        return True
