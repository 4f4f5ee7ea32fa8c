"""A web application whose users sign in at the broker. Each sees their own orders, and nobody else's.

    pip install fastapi uvicorn
    brokerage-async simulator --customers 2 --redirect-uri http://127.0.0.1:8080/callback > simulator.env &
    . ./simulator.env
    python examples/several_customers.py     # then open http://127.0.0.1:8080/ in two browsers

Everyone who signs in gets a client with their own token, found by a random cookie. The clients live as long as this
process. To stay signed in beyond that, keep the refresh token that `authorize` returns where you keep secrets.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import uvicorn
from fastapi import Cookie, FastAPI, HTTPException
from fastapi.responses import RedirectResponse, Response

from brokerage_async import AuthorizationCode, Client, Environment, authorization_url, errors

ENVIRONMENT = Environment.named(
    os.environ["BROKERAGE_ENVIRONMENT"], os.environ["BROKERAGE_BASE_URL"], os.environ["BROKERAGE_AUTH_PAGE_URL"]
)
CLIENT_ID, CLIENT_SECRET = os.environ["BROKERAGE_CLIENT_ID"], os.environ["BROKERAGE_CLIENT_SECRET"]
REDIRECT_URI = os.environ["BROKERAGE_REDIRECT_URI"]
SIGNED_IN = 1_000  # most users at once; the one who came first leaves

clients: dict[str, Client] = {}


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
    yield
    await asyncio.gather(*(client.aclose() for client in clients.values()))
    clients.clear()


app = FastAPI(lifespan=lifespan)


@app.get("/")
async def start() -> RedirectResponse:
    """Send the user to the broker's page, with a state that only this browser knows."""
    state = secrets.token_urlsafe()
    page = authorization_url(ENVIRONMENT, client_id=CLIENT_ID, redirect_uri=REDIRECT_URI, scope="read", state=state)
    answer = RedirectResponse(page)
    answer.set_cookie("state", state, httponly=True, samesite="lax")
    return answer


@app.get("/callback")
async def callback(code: str, state: str, expected: str = Cookie("", alias="state")) -> RedirectResponse:
    """Exchange the code that the user came back with for a token."""
    if not expected or not secrets.compare_digest(state, expected):
        raise HTTPException(403, "this sign-in did not begin in this browser")
    credentials = AuthorizationCode(
        client_id=CLIENT_ID, client_secret=CLIENT_SECRET, redirect_uri=REDIRECT_URI, code=code
    )
    client = Client(ENVIRONMENT, credentials, read_only=True, deadline=10)
    try:
        await client.authorize()
    except errors.TokenError as error:
        await client.aclose()
        raise HTTPException(403, "the broker did not accept this sign-in") from error
    if len(clients) >= SIGNED_IN:
        await clients.pop(next(iter(clients))).aclose()
    session = secrets.token_urlsafe()
    clients[session] = client
    answer = RedirectResponse("/orders")
    answer.set_cookie("session", session, httponly=True, samesite="lax")
    return answer


@app.get("/orders")
async def orders(session: str = Cookie("")) -> Response:
    """Return the working orders of the user."""
    client = clients.get(session)
    if client is None:
        return RedirectResponse("/")
    accounts = [owned.account.account_number for owned in await client.accounts.list("me") if owned.account]
    found = await client.orders.live("me", [number for number in accounts if number])
    return Response(f"[{', '.join(order.to_json() for order in found)}]", media_type="application/json")


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=8080)
