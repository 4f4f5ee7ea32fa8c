"""The body of a journaled order decides its kind; and evidence that a listed order is not the requested one."""

import dataclasses
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import attrs
import pytest

from brokerage_async import models
from brokerage_async.errors import ResponseDecodeError
from brokerage_async.journal import EntryKey, JournalEntry
from brokerage_async.models import converter
from brokerage_async.operation import BoundCall
from brokerage_async.order_entry.orders import (
    AskedOrder,
    asked_in,
    complex_differs_in,
    components_of,
    differs_in,
    effect_changes,
    successor_differs_in,
)
from brokerage_async.order_entry.preflight import named_complex_order, named_order
from tests.tables import for_each
from tests.trading import bracket_order, edit, order

pytestmark = pytest.mark.virtual_time

ASKED = models.NewOrder(
    order_type=models.OrderType.STOP_LIMIT,
    time_in_force=models.TimeInForce.DAY,
    price=Decimal("1.5"),
    price_effect=models.PriceEffect.DEBIT,
    stop_trigger=Decimal(2),
    legs=(
        models.NewOrderLeg(
            action=models.LegAction.BUY_TO_OPEN,
            symbol="SPY   260612C00500000",
            quantity=Decimal(10),
            instrument_type=models.InstrumentType.EQUITY_OPTION,
        ),
        models.NewOrderLeg(
            action=models.LegAction.SELL,
            symbol="/ESM6",
            quantity=Decimal(1),
            instrument_type=models.InstrumentType.FUTURE,
        ),
    ),
)


def asking(**terms: Any) -> models.NewOrder:
    """A requested order with only these terms known."""
    asked = converter.structure({}, models.NewOrder)
    return attrs.evolve(asked, legs=(), **terms)


SHOWN = models.Order(
    order_type=models.OrderType.STOP_LIMIT,
    time_in_force=models.TimeInForce.DAY,
    price=Decimal("1.50"),
    price_effect=models.PriceEffect.DEBIT,
    stop_trigger=Decimal("2.00"),
    legs=(
        models.OrderLeg(action=models.LegAction.SELL_TO_OPEN, symbol="/ESM6", quantity=Decimal(1)),
        models.OrderLeg(action=models.LegAction.BUY_TO_OPEN, symbol="SPY 260612C00500000", quantity=Decimal("10.0")),
    ),
)
MORE = models.OrderLeg(action=models.LegAction.BUY_TO_OPEN, symbol="SPY 260612C00500000", quantity=Decimal(11))
OTHER = models.OrderLeg(action=models.LegAction.BUY_TO_OPEN, symbol="AAPL", quantity=Decimal(10))
PLAIN = models.OrderLeg(action=models.LegAction.BUY, symbol="SPY 260612C00500000", quantity=Decimal(10))
SOLD = models.OrderLeg(action=models.LegAction.SELL_TO_CLOSE, symbol="SPY 260612C00500000", quantity=Decimal(10))


@for_each(
    "change, term",
    [
        ({}, None),
        ({"order_type": models.OrderType.LIMIT}, "order type"),
        ({"order_type": models.OrderType.MARKETABLE_LIMIT}, None),
        ({"order_type": None, "time_in_force": None, "price": None, "stop_trigger": None, "legs": None}, None),
        ({"time_in_force": models.TimeInForce.GTC}, "time in force"),
        ({"price": Decimal("1.51")}, "price"),
        ({"price": Decimal("-1.5")}, None),
        ({"price_effect": models.PriceEffect.CREDIT}, "price"),
        ({"price_effect": None}, None),
        ({"stop_trigger": Decimal(3)}, "stop trigger"),
        ({"value": Decimal(3)}, None),
        ({"legs": (SHOWN.legs or ())[:1]}, "legs"),
        ({"legs": (*(SHOWN.legs or ()), OTHER)}, "legs"),
        ({"legs": ((SHOWN.legs or ())[0], OTHER)}, "legs"),
        ({"legs": ((SHOWN.legs or ())[0], SOLD)}, "legs"),
        ({"legs": ((SHOWN.legs or ())[0], MORE)}, "legs"),
        ({"legs": ((SHOWN.legs or ())[0], PLAIN)}, None),
        ({"legs": ((SHOWN.legs or ())[0], attrs.evolve(PLAIN, action=models.LegAction.SELL))}, "legs"),
        ({"legs": ((SHOWN.legs or ())[0], attrs.evolve(PLAIN, action=models.LegAction.BUY_TO_CLOSE))}, None),
        ({"legs": (models.OrderLeg(), models.OrderLeg())}, None),
        ({"edited": True, "price": Decimal(9), "legs": ((SHOWN.legs or ())[0], MORE)}, None),
        ({"edited": True, "replacing_order_id": "7", "price": Decimal(9)}, "price"),
        ({"replaces_order_id": "7", "order_type": models.OrderType.MARKET}, None),
        ({"edited": True, "legs": ((SHOWN.legs or ())[0], OTHER)}, "legs"),
    ],
)
def test_what_proves_that_an_order_is_another_one(change: dict[str, Any], term: str | None) -> None:
    assert differs_in(ASKED, attrs.evolve(SHOWN, **change)) == term
    assert differs_in(converter.structure({}, models.NewOrder), attrs.evolve(SHOWN, **change)) is None


def test_amounts_are_compared_whatever_they_are() -> None:
    for nonsense in (None, "x", [], {}, True, "NaN"):
        body = {"price": nonsense, "value": nonsense, "stop-trigger": nonsense}
        assert differs_in(converter.structure(body, models.NewOrder), SHOWN) is None, nonsense
    for amount in ("1E+9999999", "1E-9999999", "NaN", "-Infinity", "9" * 60):
        seen = models.Order(price=Decimal(amount))
        assert differs_in(asking(price=Decimal(10)), seen) == ("price" if Decimal(amount).is_finite() else None)
        assert differs_in(asking(price=Decimal(amount)), seen) is None
    order = models.Order(value=Decimal(100), value_effect=models.PriceEffect.DEBIT)
    assert differs_in(asking(value=Decimal("100.00")), order) is None
    assert differs_in(asking(value=Decimal(101)), order) == "value"
    assert differs_in(asking(value=Decimal(100), value_effect=models.PriceEffect.CREDIT), order) == "value"
    nothing = attrs.evolve(order, value=Decimal(0))
    assert differs_in(asking(value=Decimal(0), value_effect=models.PriceEffect.CREDIT), nothing) is None


def test_what_proves_that_an_order_was_replaced_by_another_edit() -> None:
    limit = {"order_type": models.OrderType.LIMIT, "price_effect": models.PriceEffect.DEBIT}
    ours = models.Order(price=Decimal("11.00"), replaces_order_id="1", edited=True, **limit)  # type: ignore[arg-type]
    assert successor_differs_in(edit(), ours) is None
    assert successor_differs_in(edit(), models.Order()) is None
    assert successor_differs_in(edit(), attrs.evolve(ours, price=Decimal(9))) == "price"
    assert successor_differs_in(edit(), attrs.evolve(ours, time_in_force=models.TimeInForce.GTC)) == "time in force"


def complex_asked() -> models.NewComplexOrder:
    asked = bracket_order("t")
    names = ("p", "l")
    orders = tuple(attrs.evolve(each, external_identifier=name) for each, name in zip(asked.orders, names, strict=True))
    return attrs.evolve(asked, orders=orders)


def shown_as(asked: models.NewOrder, **change: Any) -> models.Order:
    """Build a component as the service shows it."""
    legs = tuple(models.OrderLeg(symbol=leg.symbol, action=leg.action, quantity=leg.quantity) for leg in asked.legs)
    order = models.Order(
        external_identifier=asked.external_identifier,
        order_type=asked.order_type,
        price=asked.price,
        price_effect=asked.price_effect,
        stop_trigger=asked.stop_trigger,
        legs=legs,
    )
    return attrs.evolve(order, **change)


BRACKET = complex_asked()
assert BRACKET.trigger_order is not None
TRIGGER, (PROFIT, LOSS) = shown_as(BRACKET.trigger_order, id="1"), map(shown_as, BRACKET.orders)
WHOLE = models.ComplexOrder(id="7", type=BRACKET.type, trigger_order=TRIGGER, orders=(PROFIT, LOSS))
NAMELESS = {"external_identifier": None}


@for_each(
    "change, term",
    [
        ({}, None),
        ({"type": None}, None),
        ({"type": "OTO"}, "type"),
        ({"orders": (LOSS, PROFIT)}, None),
        ({"orders": (TRIGGER, PROFIT, LOSS), "trigger_order": None}, None),
        ({"orders": (TRIGGER, PROFIT, LOSS)}, None),
        ({"orders": (LOSS,)}, None),
        ({"orders": None, "trigger_order": None}, None),
        ({"orders": (PROFIT, LOSS, LOSS)}, "components"),
        ({"orders": (PROFIT, PROFIT)}, "components"),
        ({"trigger_order": attrs.evolve(TRIGGER, external_identifier="x")}, "components"),
        ({"trigger_order": attrs.evolve(TRIGGER, **NAMELESS)}, None),
        ({"trigger_order": attrs.evolve(TRIGGER, external_identifier="")}, None),
        ({"trigger_order": attrs.evolve(TRIGGER, price=Decimal(11))}, "components"),
        ({"trigger_order": attrs.evolve(TRIGGER, price=Decimal(11), replaces_order_id="6")}, None),
        ({"trigger_order": attrs.evolve(TRIGGER, external_identifier="x", replaces_order_id="6")}, None),
        ({"orders": (PROFIT, attrs.evolve(LOSS, external_identifier="x"))}, "components"),
        ({"orders": (attrs.evolve(PROFIT, price=Decimal(11)), LOSS)}, "components"),
        ({"orders": (attrs.evolve(PROFIT, **NAMELESS), attrs.evolve(LOSS, **NAMELESS))}, None),
        # An edited component without a name fits both of ours, and must not take the place of the named one.
        ({"orders": (attrs.evolve(LOSS, replaces_order_id="6", **NAMELESS), PROFIT)}, None),
        ({"orders": (attrs.evolve(PROFIT, replaces_order_id="6", **NAMELESS), LOSS)}, None),
        # The same with its name, or beside an unedited order that shows no name.
        ({"orders": (attrs.evolve(LOSS, edited=True), PROFIT)}, None),
        ({"orders": (attrs.evolve(LOSS, edited=True), attrs.evolve(PROFIT, **NAMELESS))}, None),
        ({"orders": (attrs.evolve(LOSS, edited=True), attrs.evolve(PROFIT, price=Decimal(11)))}, "components"),
        ({"orders": (models.Order(), attrs.evolve(PROFIT, **NAMELESS)), "trigger_order": None}, None),
    ],
)
def test_complex_order_is_another_one_if_any_component_is(change: dict[str, Any], term: str | None) -> None:
    assert complex_differs_in(BRACKET, attrs.evolve(WHOLE, **change)) == term
    assert complex_differs_in(attrs.evolve(BRACKET, trigger_order=None), WHOLE) == "components"  # none was asked for


def test_components_name_their_complex_order() -> None:
    assert [each.complex_order_id for each in components_of(WHOLE)] == ["7", "7", "7"]
    assert [each.external_identifier for each in components_of(WHOLE)] == ["t", "p", "l"]
    assert components_of(models.ComplexOrder(id="7")) == []


def test_effect_changes_name_both_actions() -> None:
    first, second = SHOWN.legs or ()
    cases: list[tuple[tuple[models.OrderLeg, ...], list[str]]] = [
        ((first, second), []),
        ((first, PLAIN), []),
        ((first, attrs.evolve(second, action=models.LegAction.BUY_TO_CLOSE)), ["Buy to Open", "Buy to Close"]),
        ((first, SOLD), []),
        ((), []),
    ]
    for legs, actions in cases:
        changes = effect_changes(ASKED, attrs.evolve(SHOWN, legs=legs))
        assert len(changes) == bool(actions), legs
        assert all(action in change for change in changes for action in actions), legs


def test_effect_changes_of_equal_legs_pair_the_unchanged_first() -> None:
    leg = ASKED.legs[0]
    closing = attrs.evolve(leg, action=models.LegAction.BUY_TO_CLOSE)
    shown = [models.OrderLeg(action=each.action, symbol=each.symbol, quantity=each.quantity) for each in (closing, leg)]
    assert effect_changes(attrs.evolve(ASKED, legs=(leg, closing)), attrs.evolve(SHOWN, legs=tuple(shown))) == []


def test_complex_effect_changes_name_each_component() -> None:
    asked = bracket_order("n")
    trigger = asked.trigger_order
    assert trigger is not None

    def seen(order: models.NewOrder, action: models.LegAction) -> models.Order:
        legs = tuple(models.OrderLeg(action=action, symbol=leg.symbol, quantity=leg.quantity) for leg in order.legs)
        return models.Order(id=str(order.order_type), order_type=order.order_type, legs=legs)

    exits = tuple(seen(order, models.LegAction.SELL_TO_OPEN) for order in asked.orders)
    shown = models.ComplexOrder(
        id="9", trigger_order=attrs.evolve(seen(trigger, models.LegAction.BUY_TO_OPEN), id="1"), orders=exits
    )
    assert complex_differs_in(asked, shown) is None
    whole = named_complex_order("A", asked, str)
    assert whole.effect_changes(shown) == ["AAPL was sent as Sell to Close and the service has Sell to Open"] * 2
    sold = attrs.evolve(shown, trigger_order=attrs.evolve(seen(trigger, models.LegAction.SELL_TO_OPEN), id="1"))
    assert complex_differs_in(asked, sold) == "components"
    assert whole.effect_changes(sold) == []


COMPLEX = named_complex_order("A", bracket_order("mine"), str)
SINGLE = named_order("A", order("mine"), str)


def entry(body: bytes) -> JournalEntry:
    return JournalEntry(
        key=EntryKey("", "sandbox", "A", "mine"), body=body, opened_at=datetime(2026, 6, 10, tzinfo=UTC)
    )


def test_kind_is_that_of_the_body() -> None:
    for asked, submit in ((COMPLEX, "complex_orders.submit"), (SINGLE, "orders.submit")):
        found = asked_in(entry(asked.body))
        assert (found.is_complex, found.submit.name) == (asked is COMPLEX, submit)
    for body in (b"", b"\xff", b"[]", b'"orders"', b'{"legs": [], "orders": []}', b"null"):
        found = asked_in(entry(body))
        assert (found.is_complex, list(found.components)) == (False, ["mine"]), body


def test_complex_order_is_found_by_every_component() -> None:
    assert list(COMPLEX.components) == ["mine", "mine.1", "mine.2"]
    assert list(AskedOrder("mine", is_complex=True, body=b'{"orders": 1}').components) == ["mine"]


def test_single_order_is_no_component_and_a_component_no_single_order() -> None:
    alone, component = models.Order(id="1"), models.Order(id="1", complex_order_id="7")
    assert (SINGLE.misfit(alone), bool(SINGLE.misfit(component))) == ("", True)
    assert (bool(COMPLEX.misfit(alone)), COMPLEX.misfit(component)) == (True, "")
    assert (SINGLE.id_of(component), COMPLEX.id_of(component)) == ("1", "7")


def test_answer_of_the_other_kind_or_with_other_terms_is_another_order() -> None:
    assert SINGLE.is_another(models.ComplexOrder(id="7"))
    same = structure_like(bracket_order("mine"))
    assert not COMPLEX.is_another(same)
    for other in (
        structure_like(bracket_order("mine", 11)),
        models.Order(id="7"),
        models.Order(id="7", external_identifier="mine"),
    ):
        assert COMPLEX.is_another(other)
    unreadable = AskedOrder("mine", is_complex=True, body=b'{"orders": 1}')
    assert not unreadable.is_another(same)  # nothing is known of the terms, and nothing is proven


def structure_like(asked: models.NewComplexOrder) -> models.ComplexOrder:
    """A complex order as the service shows one of these terms."""
    shown: models.ComplexOrder = converter.structure({**converter.unstructure(asked), "id": "7"}, models.ComplexOrder)
    return shown


@dataclasses.dataclass
class Answers:
    """An executor with one answer; ``calls`` are those that were made."""

    answer: models.ComplexOrder
    calls: list[tuple[str, Any]] = dataclasses.field(default_factory=list)

    async def execute(self, call: BoundCall[Any]) -> models.ComplexOrder:
        self.calls.append((call.operation.name, call.path))
        return self.answer


async def test_whole_of_a_component_is_its_complex_order() -> None:
    listed = models.Order(id="1", complex_order_id="7")
    for quantity, differs in ((10, False), (11, True)):
        executor: Any = Answers(structure_like(bracket_order("mine", quantity)))
        whole, difference = await COMPLEX.whole_of(executor, "A1", listed)
        assert (whole, bool(difference)) == (executor.answer, differs)
        assert executor.calls == [("complex_orders.get", {"account_number": "A1", "id": "7"})]
    assert await SINGLE.whole_of(executor, "A1", listed) == (listed, "")


async def test_whole_that_shows_another_id_is_not_taken() -> None:
    executor: Any = Answers(models.ComplexOrder(id="8"))
    with pytest.raises(ResponseDecodeError, match="id must be 7, got 8") as caught:
        await COMPLEX.whole_of(executor, "A1", models.Order(id="1", complex_order_id="7"))
    assert caught.value.operation == "complex_orders.get"
