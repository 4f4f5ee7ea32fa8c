"""Control API, without I/O: maps a request to a status and a JSON body, and describes itself as OpenAPI."""

from __future__ import annotations

import hmac
import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any
from urllib.parse import unquote

import attrs
import msgspec

from ..._generated.operations import OAUTH_TOKEN
from ...protocol.request import Request
from ...protocol.response import Response
from ..api.brokerage import Brokerage
from ..clock import Clock
from . import views

_AGENT = {"User-Agent": "control-api/1", "Content-Type": "application/json", "Accept": "application/json"}


class Sender:
    """Client of the brokerage that scripted faults do not meet."""

    def __init__(self, brokerage: Brokerage) -> None:
        self._brokerage = brokerage
        self._token: str | None = None

    def send(self, method: str, target: str, body: str | None, now: float) -> Response:
        """Return the response to a request. A token that is not valid any more is renewed once.

        Raises:
            ValueError: ``target`` is not a path with an optional query.
        """
        if not target.startswith("/") or not target.isascii() or not target.isprintable() or " " in target:
            raise ValueError(f"target must be an encoded path such as /watchlists, got {target!r}")
        if self._token is None or (response := self._ask(method, target, body, now)).status == 401:
            server = self._brokerage.state.authorization_server
            asked = {
                "grant_type": "refresh_token",
                "refresh_token": server.personal.refresh_token,
                "client_secret": server.application.client_secret,
            }
            self._token = None
            renewed = self._ask(OAUTH_TOKEN.method, OAUTH_TOKEN.path, json.dumps(asked), now)
            self._token = json.loads(renewed.body).get("access_token") if renewed.status == 200 else None
            response = self._ask(method, target, body, now)
        return response

    def _ask(self, method: str, target: str, body: str | None, now: float) -> Response:
        authorization = {} if self._token is None else {"Authorization": f"Bearer {self._token}"}
        content = None if body is None else body.encode()
        request = Request(method=method.upper(), url=target, headers={**_AGENT, **authorization}, body=content)
        return self._brokerage.handle(request, now)


@attrs.frozen
class Route:
    """One operation of the control API."""

    method: str
    path: str
    name: str
    summary: str
    answer: Any = None
    body: type[views.Body] | None = None


MAX_ADVANCE: float = 31 * 86400.0
"""Maximum seconds of one call: everything that happens within them is computed before the answer."""

_CLOCK, _PRICE, _ORDER = "/clock", "/prices/{symbol}", "/orders/{order_id}"
_FAULTS, _ORDERS, _STATUS = list[views.FaultRule], list[views.OrderView], views.OrderStatusChoice
_TIME, _QUOTE, _RATE = views.ClockView, views.PriceView, views.RateLimit
_REJECT, _SENT, _ANSWER = views.RejectOrder, views.SentRequest, views.SentAnswer
CONTROL_ROUTES: tuple[Route, ...] = (
    Route("GET", "/state", "state", "Everything at a glance.", views.StateView),
    Route("GET", _CLOCK, "clock", "Simulated time.", _TIME),
    Route("PATCH", _CLOCK, "change_clock", "Advance simulated time, or change its speed.", _TIME, views.ClockChange),
    Route("GET", _PRICE, "price", "Quote of an underlying.", _QUOTE),
    Route("PUT", _PRICE, "set_price", "Hold a price, or give it back.", _QUOTE, views.PriceChange),
    Route("GET", "/faults", "faults", "Faults still to come.", _FAULTS),
    Route("POST", "/faults", "add_fault", "Script a fault.", _FAULTS, views.FaultRule),
    Route("POST", "/faults/remove", "remove_fault", "Remove a fault.", _FAULTS, views.FaultRemoval),
    Route("DELETE", "/faults", "clear_faults", "Remove all faults.", _FAULTS),
    Route("PUT", "/rate-limit", "set_rate_limit", "Limit the requests per second.", _RATE, _RATE),
    Route("GET", "/orders", "orders", "Newest orders of the owner.", _ORDERS),
    Route("POST", f"{_ORDER}/fill", "fill_order", "Fill an order, whole or in part.", _ORDERS, views.FillOrder),
    Route("POST", f"{_ORDER}/bust", "bust_fill", "Make a fill void, or correct its price.", _ORDERS, views.BustFill),
    Route("POST", f"{_ORDER}/reject", "reject_order", "Reject a live order, or one on its way.", _ORDERS, _REJECT),
    Route("POST", f"{_ORDER}/expire", "expire_order", "Expire a working order.", _ORDERS),
    Route("POST", f"{_ORDER}/remove", "remove_order", "Remove an order as an administrator.", _ORDERS, _STATUS),
    Route("POST", f"{_ORDER}/hold", "hold_order", "Keep an order, or all (*), in a status.", _ORDERS, _STATUS),
    Route("POST", f"{_ORDER}/release", "release_order", "Let an order, or all (*), go on.", _ORDERS),
    Route("POST", "/accounts/{account_number}/cash", "move_cash", "Deposit or withdraw cash.", body=views.CashMove),
    Route("POST", "/published-watchlists", "publish_watchlist", "Publish a watchlist.", body=views.PublicList),
    Route("GET", "/ledger", "ledger", "Newest requests and transitions of orders.", views.LedgerView),
    Route("POST", "/requests", "send", "Send a request to the brokerage as its owner.", _ANSWER, _SENT),
    Route("POST", "/tokens/expire", "expire_tokens", "Invalidate all access tokens."),
    Route("POST", "/tokens/revoke", "revoke", "Delete the owner's grant."),
)
"""Operations of the control API; the page and ``/openapi.json`` are not among them."""


class ControlApi:
    """Operations on a brokerage and its clock, for callers that know the token."""

    def __init__(self, brokerage: Brokerage, clock: Clock, token: str) -> None:
        self._brokerage = brokerage
        self._clock = clock
        self._token = token.encode()
        self._sender = Sender(brokerage)
        self._patterns = [
            (re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", route.path)), route) for route in CONTROL_ROUTES
        ]

    @property
    def account(self) -> str:
        """Number of the first account, for examples."""
        state = self._brokerage.state
        return state.accounts.of(state.owner)[0].number

    def is_token(self, token: str) -> bool:
        return hmac.compare_digest(token.encode(), self._token)

    def handle(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        """Return status and JSON body of the answer to a request with the right token."""
        matches = [(found, route) for pattern, route in self._patterns if (found := pattern.fullmatch(path))]
        for found, route in matches:
            if route.method == method:
                values = {name: unquote(value) for name, value in found.groupdict().items()}
                try:
                    sent = None if route.body is None else msgspec.json.decode(body or b"{}", type=route.body)
                    self._brokerage.advance(self._clock.now())
                    return 200, msgspec.json.encode(self._do(route, values, sent))
                except (ValueError, re.error) as error:  # also of msgspec
                    return _error(422, "invalid", str(error))
                except LookupError as error:
                    return _error(404, "not_found", str(error.args[0] if error.args else error))
        if matches:
            return _error(405, "method_not_allowed", f"use {', '.join(route.method for _, route in matches)}")
        return _error(404, "not_found", f"unknown address {path}; /openapi.json lists them all")

    def _do(self, route: Route, values: Mapping[str, str], body: Any) -> Any:
        """Handle a route, and return its answer: mostly the new state."""
        brokerage, clock, prices = self._brokerage, self._clock, self._brokerage.state.prices
        if "symbol" in values and not prices.is_known(values["symbol"]):
            raise LookupError(f"unknown underlying {values['symbol']}")
        match route.name:
            case "state":
                return views.state_view(brokerage, clock.speed, clock.now())
            case "change_clock":
                if body.advance is not None and body.advance > MAX_ADVANCE:
                    raise ValueError(f"advance must be at most {MAX_ADVANCE:g} seconds at a time, got {body.advance:g}")
                before = clock.speed
                try:
                    if body.speed is not None:
                        clock.speed = body.speed
                    clock.advance(body.advance or 0.0)
                except ValueError:
                    clock.speed = before
                    raise
                brokerage.advance(clock.now())
            case "set_price" if body.price is None:
                brokerage.act("release_price", clock.now(), **values)
            case "add_fault":
                brokerage.faults.add(body.method, body.path, body.fault, body.times)
            case "remove_fault":
                brokerage.faults.remove(body.method, body.path, body.fault)
            case "clear_faults":
                brokerage.faults.clear()
            case "set_rate_limit":
                rate = body.requests_per_second
                if rate is not None and rate < 0:
                    raise ValueError(f"requests_per_second must not be negative, got {rate}")
                brokerage.rate_limit = rate
                return body
            case "ledger":
                return views.ledger_view(brokerage.ledger)
            case "send":
                response = self._sender.send(body.method, body.target, body.body, clock.now())
                text = response.body.decode("utf-8", "replace")
                return views.SentAnswer(status=response.status, headers=dict(response.headers), body=text)
            case "clock" | "price" | "faults" | "orders":
                pass
            case action:
                brokerage.act(action, clock.now(), **values, **({} if body is None else msgspec.structs.asdict(body)))
        if route.answer is _TIME:
            return views.ClockView(time=clock.time.isoformat(timespec="milliseconds"), speed=clock.speed)
        if route.answer is _QUOTE:
            return views.price_view(prices, values["symbol"], clock.now())
        if route.answer is _FAULTS:
            return views.fault_views(brokerage.faults)
        return views.order_views(brokerage.state) if route.answer is _ORDERS else None


def _error(status: int, code: str, message: str) -> tuple[int, bytes]:
    return status, msgspec.json.encode({"error": {"code": code, "message": message}})


_JSON = "application/json"
_STRING = {"type": "string"}
_ENTRY = {"type": "object", "required": ["code", "message"], "properties": {"code": _STRING, "message": _STRING}}
_ERROR = {"type": "object", "required": ["error"], "properties": {"error": _ENTRY}}

_ERROR_CONTENT = {_JSON: {"schema": {"$ref": "#/components/schemas/Error"}}}
_ERRORS = {
    "401": "The token is missing or wrong.",
    "403": "The request comes from a web page.",
    "404": "The order or underlying is unknown.",
    "422": "The body is not valid, or the state does not allow it.",
}


@cache
def description() -> bytes:
    types = [each for route in CONTROL_ROUTES for each in (route.body, route.answer) if each is not None]
    schemas, components = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    by_type = dict(zip(map(str, types), schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for route in CONTROL_ROUTES:
        answer = {"type": "null"} if route.answer is None else by_type[str(route.answer)]
        operation: dict[str, Any] = {
            "operationId": route.name,
            "summary": route.summary,
            "parameters": [
                {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
                for name in re.findall(r"\{(\w+)\}", route.path)
            ],
            "responses": {
                "200": {"description": "Done.", "content": {_JSON: {"schema": answer}}},
                **{status: {"description": text, "content": _ERROR_CONTENT} for status, text in _ERRORS.items()},
            },
        }
        if route.body is not None:
            operation["requestBody"] = {"required": True, "content": {_JSON: {"schema": by_type[str(route.body)]}}}
        paths.setdefault(route.path, {})[route.method.lower()] = operation
    document = {
        "openapi": "3.1.0",
        "info": {
            "title": "Control API of the simulated brokerage",
            "version": "1",
            "description": "Steers a running simulator: clock, prices, faults, limits, orders, cash, tokens, ledger.",
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": {**components, "Error": _ERROR},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }
    return msgspec.json.encode(document)
