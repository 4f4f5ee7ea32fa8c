"""The way from a process to the service: a transport that the world delays and disturbs."""

from __future__ import annotations

import asyncio
import contextvars
import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import attrs

from brokerage_async.errors import RequestNotSentError, ResponseLostError
from brokerage_async.protocol.request import Request
from brokerage_async.protocol.response import Response

from . import service
from .choices import Event, Fault, Option, only, settle
from .service import CHANGES, BookedOrder, error_answer, html_answer

if TYPE_CHECKING:
    from .process import Call, Process
    from .world import World

CURRENT: contextvars.ContextVar[Call | None] = contextvars.ContextVar("CURRENT", default=None)
"""The call in whose context code runs."""

EPSILON = 0.05

THROTTLED = error_answer(429, "too_many_requests")
FORBIDDEN = error_answer(403, "not_permitted")
BROKEN = error_answer(503, "internal_server_error")
UNSUPPORTED = error_answer(406, 406)

CODES = {302: "unauthorized", 408: "token_invalid", 409: "unauthorized", 425: "token_invalid", 499: "unauthorized"}
INSTEAD = {
    **{f"html-{status}": html_answer(status) for status in (403, 400, 404, 451, 502)},
    **{f"json-{status}": error_answer(status, code) for status, code in CODES.items()},
    "garbage": Response(status=201, headers={"content-type": "text/html"}, body=b"<html>Welcome</html>"),
    "empty": Response(status=201, body=b""),
}
"""Answers of a proxy in place of the service, after the service has processed the request."""

ABSURD = {"absurd-past": "0001-01-01T00:00:00Z", "absurd-future": "9999-12-31T23:59:59Z"}


@attrs.define(eq=False)
class Send:
    """One submit that left a process, and the order that it became."""

    call: Call | None
    account: str
    identifier: str
    at: float
    order: BookedOrder | None = None


class Wire:
    """The transport of one process."""

    def __init__(self, world: World, process: Process) -> None:
        self._world, self._process = world, process

    async def send(self, request: Request) -> Response:
        name = request.operation.name if request.operation is not None else "other"
        if name == "oauth.token":
            return service.TOKEN
        if self._world.over:
            raise RequestNotSentError("the history has ended")
        is_versioned = "accept-version" in map(str.lower, request.headers)
        if self._world.scope.adversary and name.startswith(service.VERSIONED) and not is_versioned:
            self._world.violations.append(f"unversioned: {name} was sent without a version")
        kind = Submit if name.endswith(".submit") else Change if name in CHANGES else Read
        return await kind(self._world, self._process, name, request).made()

    async def close(self) -> None:
        pass  # no connections are open


class Exchange:
    """One request on its way."""

    def __init__(self, world: World, process: Process, name: str, request: Request) -> None:
        self.world, self.process, self.name, self.request = world, process, name, request
        self.account = request.url.partition("/accounts/")[2].partition("/")[0]
        self.future: asyncio.Future[Response] = process.loop.create_future()

    async def made(self) -> Response:
        """Return the answer, or raise when it does not come in time."""
        self.post()
        timeout = self.request.timeout
        timer = None if timeout is None else self.process.loop.call_later(timeout, self.expire)
        try:
            return await self.future
        finally:
            if timer is not None:
                timer.cancel()

    def post_delivery(self, label: str, options: Callable[[], list[Option]], *, local: bool = True) -> None:
        """Post an event that the process will see, unless it has given up by then."""
        self.world.post(Event(self.process, label, options, delivery=True, local=local, is_gone=self.future.done))

    def expire(self) -> None:
        settle(self.future, ResponseLostError("nothing in time"))

    def answer(self, label: str, response: Response) -> None:
        """Deliver ``response``, now or when a frozen process wakes."""
        if self.process.is_frozen:
            self.post_delivery(label, only(label, lambda: self.deliver(response)))
        else:
            self.deliver(response)

    def deliver(self, response: Response) -> None:
        self.process.observe(self.name, response.status, response.body)
        settle(self.future, service.dated(response, self.world.now))

    def fail(self, error: Exception) -> None:
        self.process.observe(self.name, type(error).__name__)
        settle(self.future, error)

    def lose(self) -> None:
        self.fail(ResponseLostError("the connection dropped"))

    def answered(self, kind: str, label: str, response: Response) -> Fault:
        return kind, label, partial(self.answer, label, response)


class Read(Exchange):
    """A dry-run, or a list of orders."""

    def post(self) -> None:
        self.post_delivery(self.name, self.options, local=self.name.endswith("dry_run"))

    def options(self) -> list[Option]:
        name = self.name
        if name.endswith("dry_run"):
            broken = self.answered("dry-run-503", f"{name}: 503", BROKEN)
            unsupported = self.answered("406", f"{name}: 406", UNSUPPORTED)
            answered = Option(name, 0, lambda: self.deliver(service.DRY_RUN))
            return [answered, *self.world.allowed(broken, unsupported)]
        if self.process.program.barred:
            return [Option(f"{name}: 403", 0, partial(self.disturb, FORBIDDEN))]
        absurd = ABSURD if name.startswith("orders.list") else {}
        return [
            Option(name, 0, lambda: self.deliver(self.listing())),
            *self.world.allowed(
                ("list-403", f"{name}: list-403", partial(self.disturb, FORBIDDEN)),
                ("list-503", f"{name}: list-503", partial(self.disturb, BROKEN)),
                ("406", f"{name}: 406", partial(self.disturb, UNSUPPORTED)),
                ("list-lost", f"{name}: answer lost", self.lose_list),
                *((kind, f"{name}: {kind}", partial(self.show_absurd, kind)) for kind in absurd),
            ),
        ]

    def listing(self, absurd: str | None = None) -> Response:
        books = self.world.books
        if self.name.endswith(".get"):
            return books.found(self.request.url.rpartition("/")[2], is_complex=self.name.startswith("complex_"))
        offset = re.search(r"page-offset=(\d+)", self.request.url)
        page = int(offset[1] if offset else 0) if self.name == "orders.list_live" else None
        of = "complex-orders" if self.name == "complex_orders.list" else "orders"
        return books.listing(self.account, self.world.now, absurd=absurd, of=of, page=page)

    def disturb(self, response: Response) -> None:
        self.process.disturbed = True
        self.deliver(response)

    def show_absurd(self, kind: str) -> None:
        self.disturb(self.listing(ABSURD[kind]))

    def lose_list(self) -> None:
        self.process.disturbed = True
        self.lose()


class Submit(Exchange):
    """A submit: it arrives and is processed, and then its answer comes, or does not."""

    def __init__(self, world: World, process: Process, name: str, request: Request) -> None:
        super().__init__(world, process, name, request)
        self.sent = Send(CURRENT.get(), self.account, service.identifier_of(request), world.now)
        world.sends.append(self.sent)
        world.check_written(self.sent)
        world.check_halted(self.account, self.sent.identifier)
        process.observe("sends", world.now)

    @property
    def last_moment(self) -> float:
        """When the order is listed at the latest: the one assumption that the generator keeps, unless it is held."""
        times, is_held = self.world.scope.times, self.world.scope.held
        return self.sent.at + (times.held if is_held else times.visibility_delay) - EPSILON

    def post(self) -> None:
        self.world.post(Event(self.process, "submit", self.arrivals, latest=self.last_moment))

    def arrivals(self) -> list[Option]:
        processed = Option("submit is processed", 0, self.process_order)
        if self.future.done() or self.process.is_dead:
            return [processed, Option("submit vanishes", 0, lambda: None)]
        call = self.sent.call
        if call is not None and call.turned_away:
            return [Option("submit: 429 again", 0, lambda: self.answer("429", THROTTLED))]
        if self.process.program.unheard:
            return [Option("submit vanishes", 0, lambda: self.world.kill(self.process))]
        wait = error_answer(429, "too_many_requests", retry_after=f"{self.world.scope.times.retry_after:g}")
        late, rejected = partial(self.process_order, self.last_moment), partial(self.process_order, status="Rejected")
        lists = sorted(service.BOTH) if self.name == "complex_orders.submit" else ()
        lost = "submit is processed, answer lost, listed in"
        halves = [("half-listed", f"{lost} {half} only", partial(self.show, half)) for half in lists]
        return [
            processed,
            *self.world.allowed(
                ("not-sent", "submit is not sent", partial(self.fail, RequestNotSentError("connection refused"))),
                ("vanished", "submit vanishes, connection drops", self.lose),
                self.answered("throttled", "submit: 429 with Retry-After", wait),
                ("turned-away", "submit: 429, from now on", self.turn_away),
                self.answered("unauthorized", "submit: 401", error_answer(401, "token_invalid")),
                self.answered("refused", "submit: 422", error_answer(422, "preflight_check_failure")),
                self.answered("406", "submit: 406", UNSUPPORTED),
                self.answered("html-before", "submit: 403 of a proxy, not processed", INSTEAD["html-403"]),
                ("listed-late", "submit is processed, and listed late", late),
                ("rejected", "submit is processed, and rejected at routing", rejected),
                *halves,
            ),
        ]

    def turn_away(self) -> None:
        if self.sent.call is not None:
            self.sent.call.turned_away = True
        self.answer("429", THROTTLED)

    def show(self, half: str) -> None:
        self.process_order(shown=frozenset({half}))
        self.lose()

    def process_order(
        self, listed_at: float | None = None, shown: frozenset[str] = service.BOTH, status: str = "Live"
    ) -> None:
        world, now = self.world, self.world.now
        at = now if listed_at is None else listed_at
        how = {"listed_at": at, "shown": shown, "status": status, "is_complex": self.name == "complex_orders.submit"}
        self.sent.order = world.books.book(self.account, self.sent.identifier, now, **how)
        if self.process.program.dies:
            world.kill(self.process)
        if not self.future.done() and not self.process.is_dead:
            self.post_delivery("answer", self.answers)

    def answers(self) -> list[Option]:
        books, order = self.world.books, self.sent.order
        response = books.placed(order)
        faults: list[Fault] = [("lost", "the answer is lost", self.lose)]
        sent, is_complex = self.sent.identifier, bool(order.components)
        others = [o for o in books.orders if o.identifier != sent and bool(o.components) is is_complex]
        if others:
            label = f"the answer is that to order {others[-1].id}"
            faults.append(self.answered("misanswered", label, books.placed(others[-1])))
        faults += [self.answered(kind, f"the answer is replaced: {kind}", page) for kind, page in INSTEAD.items()]
        return [Option("submit is answered", 0, lambda: self.deliver(response)), *self.world.allowed(*faults)]


class Change(Exchange):
    """A change of the working order: it is processed, and then its answer comes, or does not."""

    def post(self) -> None:
        life, call = self.world.life, CURRENT.get()
        self.place = len(life.sent)
        life.sent.append((call, False))
        if self.name == "orders.replace":
            self.world.check_halted(self.account, life.target)
        self.process.observe("sends", self.world.now)
        latest = self.world.now + self.world.scope.times.visibility_delay - EPSILON
        self.world.post(Event(self.process, self.name, self.arrivals, latest=latest))

    def arrivals(self) -> list[Option]:
        vanished = self.world.allowed(("vanished", f"{self.name} vanishes, connection drops", self.lose))
        return [Option(f"{self.name} is processed", 0, self.process_change), *vanished]

    def process_change(self) -> None:
        life = self.world.life
        answer, is_refused = life.answer(self.name)
        call, _ = life.sent[self.place]

        def deliver() -> None:
            life.sent[self.place] = call, is_refused
            self.deliver(answer)

        def answers() -> list[Option]:
            replaced = self.answered("html-502", f"{self.name}: html-502", INSTEAD["html-502"])
            faults = self.world.allowed(("lost", f"{self.name}: the answer is lost", self.lose), replaced)
            return [Option(f"{self.name} is answered: {answer.status}", 0, deliver), *faults]

        if not self.future.done() and not self.process.is_dead:
            self.post_delivery(self.name, answers, local=False)
