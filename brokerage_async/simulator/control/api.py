"""Control API, without I/O: maps a request to a status and a JSON body."""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote

import attrs
import msgspec

from ..api.brokerage import Brokerage
from ..clock import Clock
from . import bodies, views
from .sender import Sender

__all__ = ["CONTROL_ROUTES", "ControlApi", "Route"]


@attrs.frozen(kw_only=True)
class Route:
    """One operation of the control API."""

    method: str
    path: str
    name: str
    summary: str
    body: type[bodies.Body] | None = None
    answer: Any = None


_CLOCK, _PRICE, _ORDER = "/clock", "/prices/{symbol}", "/orders/{order_id}"
CONTROL_ROUTES: tuple[Route, ...] = (
    Route(method="GET", path="/state", name="state", summary="Everything at a glance.", answer=bodies.StateView),
    Route(method="GET", path=_CLOCK, name="clock", summary="Simulated time.", answer=bodies.ClockView),
    Route(
        method="PATCH", path=_CLOCK, name="change_clock", summary="Advance simulated time, or change its speed.",
        body=bodies.ClockChange, answer=bodies.ClockView,
    ),
    Route(method="GET", path=_PRICE, name="price", summary="Quote of an underlying.", answer=bodies.PriceView),
    Route(
        method="PUT", path=_PRICE, name="set_price", summary="Hold a price, or give it back.",
        body=bodies.PriceChange, answer=bodies.PriceView,
    ),
    Route(
        method="GET", path="/faults", name="faults", summary="Faults still to come.", answer=list[bodies.FaultRule]
    ),
    Route(
        method="POST", path="/faults", name="add_fault", summary="Script a fault.",
        body=bodies.FaultRule, answer=list[bodies.FaultRule],
    ),
    Route(
        method="POST", path="/faults/remove", name="remove_fault", summary="Remove a fault.",
        body=bodies.FaultRemoval, answer=list[bodies.FaultRule],
    ),
    Route(
        method="DELETE", path="/faults", name="clear_faults", summary="Remove all faults.",
        answer=list[bodies.FaultRule],
    ),
    Route(
        method="PUT", path="/rate-limit", name="set_rate_limit", summary="Limit the requests per second.",
        body=bodies.RateLimit, answer=bodies.RateLimit,
    ),
    Route(
        method="GET", path="/orders", name="orders", summary="Newest orders of the owner.",
        answer=list[bodies.OrderView],
    ),
    Route(
        method="POST", path=f"{_ORDER}/fill", name="fill_order", summary="Fill an order, whole or in part.",
        body=bodies.FillOrder, answer=list[bodies.OrderView],
    ),
    Route(
        method="POST", path=f"{_ORDER}/reject", name="reject_order", summary="Reject an order that is not live yet.",
        body=bodies.RejectOrder, answer=list[bodies.OrderView],
    ),
    Route(
        method="POST", path=f"{_ORDER}/expire", name="expire_order", summary="Expire a working order.",
        answer=list[bodies.OrderView],
    ),
    Route(
        method="GET", path="/ledger", name="ledger", summary="Newest requests and transitions of orders.",
        answer=bodies.LedgerView,
    ),
    Route(
        method="POST", path="/requests", name="send", summary="Send a request to the brokerage as its owner.",
        body=bodies.SentRequest, answer=bodies.SentAnswer,
    ),
    Route(method="POST", path="/tokens/expire", name="expire_tokens", summary="Invalidate all access tokens."),
    Route(method="POST", path="/tokens/revoke", name="revoke", summary="Delete the owner's grant."),
)  # fmt: skip
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
        """Return whether ``token`` is the right one."""
        return hmac.compare_digest(token.encode(), self._token)

    def handle(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        """Return status and JSON body of the answer to a request with the right token."""
        matches = [(found, route) for pattern, route in self._patterns if (found := pattern.fullmatch(path))]
        for found, route in matches:
            if route.method == method:
                return self._answer(route, {name: unquote(value) for name, value in found.groupdict().items()}, body)
        if matches:
            return _error(405, "method_not_allowed", f"use {', '.join(route.method for _, route in matches)}")
        return _error(404, "not_found", f"unknown address {path}; /openapi.json lists them all")

    def _answer(self, route: Route, values: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
        operation: Callable[..., Any] = getattr(self, f"_do_{route.name}")
        try:
            arguments = () if route.body is None else (msgspec.json.decode(body or b"{}", type=route.body),)
            self._brokerage.advance(self._clock.now())
            return 200, msgspec.json.encode(operation(*arguments, **values))
        except (ValueError, re.error) as error:  # also of msgspec
            return _error(422, "invalid", str(error))
        except LookupError as error:
            return _error(404, "not_found", str(error.args[0] if error.args else error))

    # Operations

    def _do_state(self) -> bodies.StateView:
        return views.state_view(self._brokerage, self._clock.speed, self._clock.now())

    def _do_clock(self) -> bodies.ClockView:
        return bodies.ClockView(time=self._clock.time.isoformat(timespec="milliseconds"), speed=self._clock.speed)

    def _do_change_clock(self, change: bodies.ClockChange) -> bodies.ClockView:
        if change.speed is not None:
            self._clock.speed = change.speed
        if change.advance is not None:
            self._clock.advance(change.advance)
            self._brokerage.advance(self._clock.now())
        return self._do_clock()

    def _do_price(self, symbol: str) -> bodies.PriceView:
        if not self._brokerage.state.prices.is_known(symbol):
            raise LookupError(f"unknown underlying {symbol}")
        return views.price_view(self._brokerage.state.prices, symbol, self._clock.now())

    def _do_set_price(self, change: bodies.PriceChange, symbol: str) -> bodies.PriceView:
        self._do_price(symbol)
        if change.price is None:
            self._act("release_price", symbol=symbol)
        else:
            self._act("set_price", symbol=symbol, price=change.price)
        return self._do_price(symbol)

    def _do_faults(self) -> list[bodies.FaultRule]:
        return views.fault_views(self._brokerage.faults)

    def _do_add_fault(self, rule: bodies.FaultRule) -> list[bodies.FaultRule]:
        self._brokerage.faults.add(rule.method, rule.path, rule.fault, rule.times)
        return self._do_faults()

    def _do_remove_fault(self, removal: bodies.FaultRemoval) -> list[bodies.FaultRule]:
        self._brokerage.faults.remove(removal.method, removal.path, removal.fault)
        return self._do_faults()

    def _do_clear_faults(self) -> list[bodies.FaultRule]:
        self._brokerage.faults.clear()
        return self._do_faults()

    def _do_set_rate_limit(self, limit: bodies.RateLimit) -> bodies.RateLimit:
        rate = limit.requests_per_second
        if rate is not None and rate < 0:
            raise ValueError(f"requests_per_second must not be negative, got {rate}")
        self._brokerage.rate_limit = rate
        return limit

    def _do_orders(self) -> list[bodies.OrderView]:
        return views.order_views(self._brokerage.state)

    def _do_fill_order(self, fill: bodies.FillOrder, order_id: str) -> list[bodies.OrderView]:
        self._act("fill_order", order_id=order_id, quantity=fill.quantity, price=fill.price)
        return self._do_orders()

    def _do_reject_order(self, rejection: bodies.RejectOrder, order_id: str) -> list[bodies.OrderView]:
        self._act("reject_order", order_id=order_id, reason=rejection.reason)
        return self._do_orders()

    def _do_expire_order(self, order_id: str) -> list[bodies.OrderView]:
        self._act("expire_order", order_id=order_id)
        return self._do_orders()

    def _do_ledger(self) -> bodies.LedgerView:
        return views.ledger_view(self._brokerage.ledger, 0)

    def _do_send(self, sent: bodies.SentRequest) -> bodies.SentAnswer:
        response = self._sender.send(sent.method, sent.target, sent.body, self._clock.now())
        return bodies.SentAnswer(
            status=response.status, headers=dict(response.headers), body=response.body.decode("utf-8", "replace")
        )

    def _do_expire_tokens(self) -> None:
        self._act("expire_tokens")

    def _do_revoke(self) -> None:
        self._act("revoke")

    def _act(self, name: str, **arguments: Any) -> None:
        self._brokerage.act(name, self._clock.now(), **arguments)


def _error(status: int, code: str, message: str) -> tuple[int, bytes]:
    return status, msgspec.json.encode({"error": {"code": code, "message": message}})
