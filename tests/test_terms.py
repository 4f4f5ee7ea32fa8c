"""Terms of orders: restated for an edit, with changes that keep them consistent."""

from datetime import date
from decimal import Decimal
from inspect import signature
from itertools import product
from typing import Any

import attrs
import pytest

from brokerage_async import models, tickets
from brokerage_async._generated.models import TAKES
from brokerage_async._generated.operations import ORDERS_EDIT, ORDERS_EDIT_DRY_RUN
from brokerage_async.errors import InvalidRequestError
from brokerage_async.protocol.validation.requests import check, problems_of
from tests.tables import for_each

JUNE = date(2026, 6, 30)
AMOUNTS = {"price": Decimal(10), "stop_trigger": Decimal(9), "value": Decimal(500)}
TICKETS = {
    kind: models.NewOrder(
        order_type=kind,
        time_in_force=models.TimeInForce.DAY,
        legs=[tickets.buy_to_open("AAPL", None if "value" in terms else 10)],
        **{name: AMOUNTS.get(name, models.PriceEffect.DEBIT) for name in terms},
    )
    for kind, terms in TAKES.items()
}
LIMIT = TICKETS[models.OrderType.LIMIT]
DATED = tickets.stop_limit(tickets.sell_to_close("AAPL", 10), trigger="180", price="179", until=JUNE)
SPREAD = tickets.vertical("AAPL", JUNE, "C", long=110, short=115, debit="1.85")
TERMS = [*signature(models.OrderEdit.of).parameters][1:]


def terms_of(model: Any) -> dict[str, Any]:
    return {name: getattr(model, name) for name in TERMS}


def as_placed(ticket: models.NewOrder, **more: Any) -> models.Order:
    row = models.converter.unstructure(ticket) | {"id": 7, "status": "Live", "preflight-id": "0", "source": "web"}
    return attrs.evolve(models.converter.structure(row, models.Order), **more)


def test_every_type_of_order_needs_the_terms_that_it_takes() -> None:
    def needs(kind: models.OrderType, name: str) -> bool:
        return bool(problems_of(attrs.evolve(TICKETS[kind], **{name: None}), service=True))

    ruled = {kind: {name for name in terms if needs(kind, name)} for kind, terms in TAKES.items()}
    assert ruled == {**TAKES, models.OrderType.MARKETABLE_LIMIT: set()}, "no rule of NewOrder lists a type of x-takes"
    orders = (TICKETS.get(kind, attrs.evolve(LIMIT, order_type=kind)) for kind in models.OrderType)
    assert {order.order_type for order in orders if not problems_of(order, service=True)} == TAKES.keys()


@for_each("ticket", [*TICKETS.values(), DATED, SPREAD])
def test_order_edit_of_states_every_term_of_an_order(ticket: models.NewOrder) -> None:
    ticket = attrs.evolve(ticket, external_identifier="mine")
    for order in (as_placed(ticket), ticket):
        edit = models.OrderEdit.of(order)
        assert terms_of(edit) == terms_of(ticket)
        assert (edit.rules, edit.preflight_id, edit.source, edit.extra) == (None, None, None, {})
        check(ORDERS_EDIT, {"account_number": "A1", "id": "7"}, None, edit)
        edit = attrs.evolve(edit, source="bot", preflight_id="3", automated_source=True, partition_key="p")
        dry_run = models.OrderEditDryRun.of(edit)
        check(ORDERS_EDIT_DRY_RUN, {"account_number": "A1", "id": "7"}, None, dry_run)
        assert models.converter.unstructure(dry_run) == models.converter.unstructure(edit)


@for_each("price", ["11.50", Decimal("11.50")])
def test_order_edit_of_changes_the_terms_given_and_no_others(price: Any) -> None:
    edit = models.OrderEdit.of(as_placed(LIMIT), price=price)
    assert terms_of(edit) == terms_of(LIMIT) | {"price": Decimal("11.50")}
    every = {
        "order_type": models.OrderType.STOP_LIMIT, "time_in_force": models.TimeInForce.GTD, "gtc_date": JUNE,
        "stop_trigger": 12, "price": 11, "price_effect": models.PriceEffect.CREDIT, "external_identifier": "other",
    }  # fmt: skip
    edit = models.OrderEdit.of(as_placed(LIMIT), **every)
    assert terms_of(edit) == every | {"value": None, "value_effect": None}
    assert isinstance(edit.price, Decimal)


def test_order_edit_of_leaves_out_terms_that_do_not_go_with_new_ones() -> None:
    dated = as_placed(DATED)
    day = models.OrderEdit.of(dated, time_in_force=models.TimeInForce.DAY)
    assert (day.gtc_date, day.price, day.stop_trigger) == (None, Decimal(179), Decimal(180))
    for (kind, terms), order in product(TAKES.items(), [dated, *map(as_placed, TICKETS.values())]):
        edit = models.OrderEdit.of(order, order_type=kind)
        kept = {name: value for name, value in terms_of(order).items() if name in terms | {"gtc_date", "time_in_force"}}
        assert terms_of(edit) == dict.fromkeys(TERMS) | kept | {"order_type": kind}
    newer = models.OrderEdit.of(dated, order_type=models.OrderType("Trailing Stop"))
    assert (newer.price, newer.stop_trigger) == (Decimal(179), Decimal(180))
    edit = models.OrderEdit.of(as_placed(SPREAD, price=Decimal(0), price_effect=models.PriceEffect.NONE))
    assert (edit.price, edit.price_effect) == (Decimal(0), None)
    bare = models.Order(id="7", price=Decimal(1))
    with pytest.raises(InvalidRequestError, match="order 7 shows no order_type or time_in_force: state it"):
        models.OrderEdit.of(bare)
    with pytest.raises(InvalidRequestError, match="order 7 shows no time_in_force"):
        models.OrderEdit.of(bare, order_type=models.OrderType.LIMIT)
    edit = models.OrderEdit.of(bare, order_type=models.OrderType.LIMIT, time_in_force=models.TimeInForce.DAY)
    assert (edit.price, edit.order_type) == (Decimal(1), "Limit")
    with pytest.raises(TypeError, match="quantity"):
        models.OrderEdit.of(LIMIT, quantity=5)  # type: ignore[call-arg]


@for_each(
    "order, terms, message",
    [
        *((each, {}, f"order must be of type Order or NewOrder, got {type(each).__name__}")
          for each in (None, 7, "7", models.OrderEdit(order_type="Limit", time_in_force="Day"))),
        *((LIMIT, {name: inexact}, f"{name} must be a ")
          for name in ("price", "stop_trigger", "value")
          for inexact in (1.5, True, "1_000", "abc", Decimal("NaN"), "")),
        *((LIMIT, {"price": extreme}, "price must have at most 64 digits before and after the point")
          for extreme in ("1E+65", Decimal("1E-65"), "-1E+999999999", 10**5000)),
    ],
)  # fmt: skip
def test_order_edit_of_no_order_or_amounts_out_of_bounds_raises(order: Any, terms: Any, message: str) -> None:
    with pytest.raises(InvalidRequestError, match=message) as caught:
        models.OrderEdit.of(order, **terms)
    assert len(str(caught.value)) < 200
    assert models.OrderEdit.of(LIMIT, price="1E+64").price == Decimal("1E+64")
