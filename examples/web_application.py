"""A web service in front of an account: prices, positions, and the preview of an order.

    python examples/web_application.py

    curl localhost:8080/prices/AAPL
    curl localhost:8080/positions
    curl -X POST localhost:8080/previews -d '{"symbol": "AAPL", "quantity": "10", "price": "187.50"}'

One client serves every request. It is read-only, so no request can place an order. Errors of the library become answers
of this service. Its messages go to the log, because they are not for callers.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial

from aiohttp import web

from brokerage_async import Client, Limits, errors, models
from brokerage_async.tickets import buy_to_open, limit

CLIENT = web.AppKey("client", Client)
DEADLINE = 5.0  # seconds that a caller waits at most
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
# Amounts are written as strings, because a JSON number would lose digits.
answer = partial(web.json_response, dumps=partial(json.dumps, default=str))


async def client_of(app: web.Application) -> AsyncIterator[None]:
    async with Client.from_env(read_only=True, limits=Limits(reads=32), deadline=DEADLINE) as client:
        app[CLIENT] = client
        yield


def status_of(error: errors.BrokerageError) -> int:
    match error:
        case errors.InvalidRequestError() | errors.BadRequestError() | errors.UnprocessableError():
            return 400
        case errors.NotFoundError():
            return 404
        case errors.RateLimitError() | errors.RequestNotSentError():
            return 503
        case errors.DeadlineExceededError():
            return 504
        case _:
            return 502


@web.middleware
async def answer_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except errors.BrokerageError as error:
        logging.warning("%s: %s", request.path, error)
        return answer({"error": type(error).__name__}, status=status_of(error))


async def price(request: web.Request) -> web.Response:
    symbol = request.match_info["symbol"]
    quotes = await request.app[CLIENT].market_data.by_type(equity=[symbol])
    if not quotes:
        raise web.HTTPNotFound
    return answer({"bid": quotes[0].bid, "ask": quotes[0].ask, "mark": quotes[0].mark})


async def positions(request: web.Request) -> web.Response:
    found = await request.app[CLIENT].positions.list(os.environ["BROKERAGE_ACCOUNT"])
    return answer([models.converter.unstructure(position) for position in found])


async def preview(request: web.Request) -> web.Response:
    asked = await request.json()
    order = limit(buy_to_open(str(asked["symbol"]), str(asked["quantity"])), price=str(asked["price"]))
    found = await request.app[CLIENT].orders.dry_run(os.environ["BROKERAGE_ACCOUNT"], order)
    return answer(models.converter.unstructure(found.buying_power_effect))


def application() -> web.Application:
    app = web.Application(middlewares=[answer_errors])
    app.cleanup_ctx.append(client_of)
    app.router.add_get("/prices/{symbol}", price)
    app.router.add_get("/positions", positions)
    app.router.add_post("/previews", preview)
    return app


if __name__ == "__main__":
    web.run_app(application(), host="127.0.0.1", port=8080)
