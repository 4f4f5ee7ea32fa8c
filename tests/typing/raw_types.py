"""Static types of raw answers, checked by type checkers and never executed."""

from typing import Any, assert_type

from brokerage_async import Client, Effect, RawResponse
from brokerage_async.models import Equity, QuoteAlert, Warrant


async def check_raw_responses(client: Client) -> None:
    raw = client.with_raw_response
    assert_type(await raw(client.instruments.warrant)("AAPLW"), RawResponse[Warrant])
    assert_type(await raw(client.instruments.equities)(per_page=1), RawResponse[list[Equity]])
    assert_type((await raw(client.quote_alerts.list)()).parse(), list[QuoteAlert])
    assert_type(await raw(client.quote_alerts.cancel)("7"), RawResponse[None])
    assert_type(await raw.instruments.warrant("AAPLW"), RawResponse[Any])
    await raw(client.instruments.warrant)(7)  # type: ignore[arg-type]
    raw(client.environment)  # type: ignore[call-overload]


async def check_request(client: Client) -> None:
    answer = await client.request("GET", "/x", query={"symbol[]": ["A"], "on": True}, effect=Effect.READ)
    assert_type(answer, RawResponse[Any])
    assert_type((answer.status, answer.body), tuple[int, bytes])
