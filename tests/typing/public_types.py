"""How models and raw answers are used, as type checkers see it. Nothing here is ever run."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, assert_type

import attrs

from brokerage_async import Client, Effect, RawResponse, models
from brokerage_async._generated import operations
from brokerage_async.operation import Operation
from brokerage_async.protocol.decoding import codec


def check_construction() -> None:
    leg = models.NewOrderLeg(
        action=models.LegAction.BUY_TO_OPEN,
        instrument_type=models.InstrumentType.EQUITY,
        symbol="AAPL",
        quantity=Decimal(1),
    )
    order = models.NewOrder(order_type=models.OrderType.LIMIT, time_in_force=models.TimeInForce.DAY, legs=[leg])
    assert_type(order.legs, tuple[models.NewOrderLeg, ...])
    assert_type(order.extra, Mapping[str, Any])
    assert_type(attrs.evolve(order, price=Decimal("1.5")), models.NewOrder)
    models.NewOrder(order_type=models.OrderType.LIMIT, time_in_force=models.TimeInForce.DAY)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    models.Order(id=7)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    order.price = Decimal(1)  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]


def check_enumerations(status: models.OrderStatus) -> None:
    assert_type(status.is_known, bool)
    text: str = status
    assert_type(models.OrderStatus("anything"), models.OrderStatus)
    del text


def check_results() -> None:
    assert_type(operations.ORDERS_SUBMIT, Operation[models.PlacedOrderResponse])
    assert_type(operations.ORDERS_SEARCH, Operation[list[models.Order]])
    assert_type(operations.QUOTE_ALERTS_CANCEL, Operation[None])
    assert_type(codec.decode(operations.ORDERS_SEARCH, b"").value, list[models.Order])
    assert_type(codec.decode(operations.ORDERS_SEARCH, b"").pagination, models.Pagination | None)


def check_converter() -> None:
    assert_type(models.converter.structure({}, models.Order), models.Order)


async def check_raw_responses(client: Client) -> None:
    raw = client.with_raw_response
    assert_type(await raw(client.instruments.warrant)("AAPLW"), RawResponse[models.Warrant])
    assert_type(await raw(client.instruments.equities)(per_page=1), RawResponse[list[models.Equity]])
    assert_type((await raw(client.quote_alerts.list)()).parse(), list[models.QuoteAlert])
    assert_type(await raw(client.quote_alerts.cancel)("7"), RawResponse[None])
    assert_type(await raw.instruments.warrant("AAPLW"), RawResponse[Any])
    await raw(client.instruments.warrant)(7)  # type: ignore[arg-type]
    raw(client.environment)  # type: ignore[call-overload]


async def check_request(client: Client) -> None:
    answer = await client.request("GET", "/x", query={"symbol[]": ["A"], "on": True}, effect=Effect.READ)
    assert_type(answer, RawResponse[Any])
    assert_type((answer.status, answer.body), tuple[int, bytes])
