"""The body of a journaled order decides its kind; and evidence that a listed order is not the requested one."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from unittest.mock import AsyncMock, Mock

import attrs
import pytest

from brokerage_async import errors, models
from brokerage_async._values import AMOUNTS
from brokerage_async.journal import EntryKey, JournalEntry
from brokerage_async.order_entry import orders
from brokerage_async.order_entry.preflight import named_complex_order, named_order
from tests.http.calls import raised_by
from tests.tables import for_each
from tests.trading import bracket_order, edit, order

pytestmark = pytest.mark.virtual_time

TERMS = {
    "order_type": models.OrderType.STOP_LIMIT,
    "time_in_force": models.TimeInForce.DAY,
    "price": Decimal("1.5"),
    "price_effect": models.PriceEffect.DEBIT,
    "stop_trigger": Decimal(2),
}
ASKED_LEGS = [
    {"action": "Buy to Open", "symbol": "SPY   260612C00500000", "quantity": "10", "instrument-type": "Equity Option"},
    {"action": "Sell", "symbol": "/ESM6", "quantity": "1", "instrument-type": "Future"},
]
ASKED = attrs.evolve(models.converter.structure({"legs": ASKED_LEGS}, models.NewOrder), **TERMS)


def asking(**terms: Any) -> models.NewOrder:
    """A requested order with only these terms known."""
    return attrs.evolve(models.converter.structure({}, models.NewOrder), legs=(), **terms)


def leg(action: str, symbol: str = "SPY 260612C00500000", quantity: object = 10) -> models.OrderLeg:
    return models.OrderLeg(action=models.LegAction(action), symbol=symbol, quantity=Decimal(str(quantity)))


FIRST, SECOND = leg("Sell to Open", "/ESM6", 1), leg("Buy to Open", quantity="10.0")
SHOWN = models.Order(**TERMS | {"price": Decimal("1.50"), "legs": (FIRST, SECOND)})  # type: ignore[arg-type]
MORE, OTHER, PLAIN = leg("Buy to Open", quantity=11), leg("Buy to Open", "AAPL"), leg("Buy")
DIFFERENCES: list[tuple[dict[str, Any], str | None]] = [
    ({}, None),
    ({"order_type": models.OrderType.LIMIT}, "order type"),
    ({"order_type": models.OrderType.MARKETABLE_LIMIT}, None),
    ({"order_type": None, "time_in_force": None, "price": None, "stop_trigger": None, "legs": None}, None),
    ({"time_in_force": models.TimeInForce.GTC}, "time in force"),
    ({"price": Decimal("1.51")}, "price"), ({"price": Decimal("-1.5")}, None),
    ({"price_effect": models.PriceEffect.CREDIT}, "price"), ({"price_effect": None}, None),
    ({"stop_trigger": Decimal(3)}, "stop trigger"), ({"value": Decimal(3)}, None), ({"legs": (FIRST,)}, "legs"),
    ({"legs": (FIRST, SECOND, OTHER)}, "legs"),
    *(({"legs": (FIRST, each)}, "legs") for each in (OTHER, MORE, leg("Sell to Close"), leg("Sell"))),
    *(({"legs": (FIRST, each)}, None) for each in (PLAIN, leg("Buy to Close"))),
    ({"legs": (models.OrderLeg(), models.OrderLeg())}, None),
    ({"legs": (FIRST, attrs.evolve(SECOND, symbol=None))}, None),
    ({"edited": True, "price": Decimal(9), "legs": (FIRST, MORE)}, None),
    ({"edited": True, "replacing_order_id": "7", "price": Decimal(9)}, "price"),
    ({"replaces_order_id": "7", "order_type": models.OrderType.MARKET}, None),
    ({"edited": True, "legs": (FIRST, OTHER)}, "legs"),
]  # fmt: skip


@for_each("change, term", DIFFERENCES)
def test_what_proves_that_an_order_is_another_one(change: dict[str, Any], term: str | None) -> None:
    assert orders.differs_in(ASKED, attrs.evolve(SHOWN, **change)) == term
    assert orders.differs_in(models.converter.structure({}, models.NewOrder), attrs.evolve(SHOWN, **change)) is None


def test_amounts_are_compared_whatever_they_are() -> None:
    for nonsense in (None, "x", [], {}, True, "NaN"):
        body = {"price": nonsense, "value": nonsense, "stop-trigger": nonsense}
        assert orders.differs_in(models.converter.structure(body, models.NewOrder), SHOWN) is None, nonsense
    for amount in ("1E+9999999", "1E-9999999", "NaN", "-Infinity", "9" * 60):
        seen = models.Order(price=Decimal(amount))
        assert orders.differs_in(asking(price=Decimal(10)), seen) == ("price" if Decimal(amount).is_finite() else None)
        assert orders.differs_in(asking(price=Decimal(amount)), seen) is None
    order = models.Order(value=Decimal(100), value_effect=models.PriceEffect.DEBIT)
    assert orders.differs_in(asking(value=Decimal("100.00")), order) is None
    assert orders.differs_in(asking(value=Decimal(101)), order) == "value"
    assert orders.differs_in(asking(value=Decimal(100), value_effect=models.PriceEffect.CREDIT), order) == "value"
    nothing = attrs.evolve(order, value=Decimal(0))
    assert orders.differs_in(asking(value=Decimal(0), value_effect=models.PriceEffect.CREDIT), nothing) is None


def test_what_proves_that_an_order_was_replaced_by_another_edit() -> None:
    limit = {"order_type": models.OrderType.LIMIT, "price_effect": models.PriceEffect.DEBIT}
    ours = models.Order(price=Decimal("11.00"), replaces_order_id="1", edited=True, **limit)  # type: ignore[arg-type]
    assert orders.successor_differs_in(edit(), ours) is None
    assert orders.successor_differs_in(edit(), models.Order()) is None
    assert orders.successor_differs_in(edit(), attrs.evolve(ours, price=Decimal(9))) == "price"
    lasting = attrs.evolve(ours, time_in_force=models.TimeInForce.GTC)
    assert orders.successor_differs_in(edit(), lasting) == "time in force"


def test_replacement_with_another_amount_of_any_kind_is_not_the_one_asked_for() -> None:
    amounts = {field.name for field in attrs.fields(models.OrderEdit) if "Decimal" in str(field.type)}
    assert amounts == set(AMOUNTS)
    for name in AMOUNTS:
        asked: Any = attrs.evolve(edit(), **{"price": None, name: Decimal(2)})
        seen: Any = models.Order(**{name: Decimal(3)})
        assert orders.successor_differs_in(asked, seen) == name.replace("_", " "), "it compares every amount"


def shown_as(asked: models.NewOrder, **change: Any) -> models.Order:
    legs = tuple(models.OrderLeg(symbol=each.symbol, action=each.action, quantity=each.quantity) for each in asked.legs)
    names = ("external_identifier", "order_type", "price", "price_effect", "stop_trigger")
    return models.Order(**{name: getattr(asked, name) for name in names} | {"legs": legs} | change)


def acted(asked: models.NewOrder, action: str) -> models.Order:
    """Build a component as it shows with another action, without a name and prices."""
    legs = tuple(leg(action, each.symbol, each.quantity) for each in asked.legs)
    return models.Order(id=str(asked.order_type), order_type=asked.order_type, legs=legs)


ONE = bracket_order("t")
EXITS = tuple(attrs.evolve(each, external_identifier=name) for each, name in zip(ONE.orders, "pl", strict=True))
BRACKET = attrs.evolve(ONE, orders=EXITS)
TRIGGER, (PROFIT, LOSS) = shown_as(BRACKET.trigger_order, id="1"), map(shown_as, BRACKET.orders)
WHOLE = models.ComplexOrder(id="7", type=BRACKET.type, trigger_order=TRIGGER, orders=(PROFIT, LOSS))
NAMELESS = {"external_identifier": None}


def test_complex_order_is_another_one_if_any_component_is() -> None:
    trigger_changes: list[tuple[dict[str, Any], str | None]] = [
        ({"external_identifier": "x"}, "components"), (NAMELESS, None), ({"external_identifier": ""}, None),
        ({"price": Decimal(11)}, "components"),
        ({"price": Decimal(11), "replaces_order_id": "6"}, None),
        ({"external_identifier": "x", "replaces_order_id": "6"}, None),
    ]  # fmt: skip
    rows: list[tuple[dict[str, Any], str | None]] = [
        ({}, None),
        ({"type": None}, None), ({"type": "OTO"}, "type"),
        ({"orders": (LOSS, PROFIT)}, None),
        ({"orders": (TRIGGER, PROFIT, LOSS), "trigger_order": None}, None),
        ({"orders": (TRIGGER, PROFIT, LOSS)}, None),
        ({"orders": (LOSS,)}, None),
        ({"orders": None, "trigger_order": None}, None),
        ({"orders": (PROFIT, LOSS, LOSS)}, "components"),
        ({"orders": (PROFIT, PROFIT)}, "components"),
        *(({"trigger_order": attrs.evolve(TRIGGER, **change)}, term) for change, term in trigger_changes),
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
    ]  # fmt: skip
    seen = [(change, orders.complex_differs_in(BRACKET, attrs.evolve(WHOLE, **change)), term) for change, term in rows]
    assert [(change, found) for change, found, term in seen if found != term] == []
    assert orders.complex_differs_in(attrs.evolve(BRACKET, trigger_order=None), WHOLE) == "components"


def test_components_name_their_complex_order() -> None:
    assert [each.complex_order_id for each in orders.components_of(WHOLE)] == ["7", "7", "7"]
    assert [each.external_identifier for each in orders.components_of(WHOLE)] == ["t", "p", "l"]
    assert orders.components_of(models.ComplexOrder(id="7")) == []


def test_effect_changes_name_both_actions() -> None:
    changed = leg("Buy to Close")
    for legs, actions in (
        ((FIRST, SECOND), []), ((FIRST, PLAIN), []),
        ((FIRST, changed), ["Buy to Open", "Buy to Close"]),
        ((FIRST, leg("Sell to Close")), []),
        ((), []),
    ):  # fmt: skip
        changes = orders.effect_changes(ASKED, attrs.evolve(SHOWN, legs=legs))
        assert len(changes) == bool(actions), legs
        assert all(action in change for change in changes for action in actions), legs
    # Of equal legs, the unchanged are paired first.
    opening = ASKED.legs[0]
    both = attrs.evolve(ASKED, legs=(opening, attrs.evolve(opening, action=models.LegAction.BUY_TO_CLOSE)))
    assert orders.effect_changes(both, attrs.evolve(SHOWN, legs=(changed, SECOND))) == []


def test_complex_effect_changes_name_each_component() -> None:
    asked = bracket_order("n")
    exits = tuple(acted(order, "Sell to Open") for order in asked.orders)
    for action, difference in (("Buy to Open", None), ("Sell to Open", "components")):
        trigger = attrs.evolve(acted(asked.trigger_order, action), id="1")
        shown = models.ComplexOrder(id="9", trigger_order=trigger, orders=exits)
        assert orders.complex_differs_in(asked, shown) == difference
        changes = [] if difference else ["AAPL was sent as Sell to Close and the service has Sell to Open"] * 2
        assert named_complex_order("A", asked, str).effect_changes(shown) == changes


COMPLEX = named_complex_order("A", bracket_order("mine"), str)
SINGLE = named_order("A", order("mine"), str)


def test_kind_and_components_are_those_of_the_body() -> None:
    unreadable = (b"", b"\xff", b"[]", b'"orders"', b'{"legs": [], "orders": []}', b"null")
    for body, submit, components in (
        (COMPLEX.body, "complex_orders.submit", ["mine", "mine.1", "mine.2"]),
        (SINGLE.body, "orders.submit", ["mine"]),
        *((body, "orders.submit", ["mine"]) for body in unreadable),
    ):
        key, opened_at = EntryKey("", "sandbox", "A", "mine"), datetime(2026, 6, 10, tzinfo=UTC)
        found = orders.asked_in(JournalEntry(key=key, body=body, opened_at=opened_at))
        assert (found.is_complex, found.submit.name) == (body is COMPLEX.body, submit), body
        assert list(found.components) == components, body
    assert list(COMPLEX.components) == ["mine", "mine.1", "mine.2"]
    assert list(orders.AskedOrder("mine", is_complex=True, body=b'{"orders": 1}').components) == ["mine"]


def test_single_order_is_no_component_and_a_component_no_single_order() -> None:
    alone, component = models.Order(id="1"), models.Order(id="1", complex_order_id="7")
    assert (SINGLE.misfit(alone), bool(SINGLE.misfit(component))) == ("", True)
    assert (bool(COMPLEX.misfit(alone)), COMPLEX.misfit(component)) == (True, "")
    assert (SINGLE.id_of(component), COMPLEX.id_of(component)) == ("1", "7")


def test_answer_of_the_other_kind_or_with_other_terms_is_another_order() -> None:
    assert SINGLE.is_another(models.ComplexOrder(id="7"))
    same, other = structure_like(bracket_order("mine")), structure_like(bracket_order("mine", 11))
    assert not COMPLEX.is_another(same)
    for another in (other, models.Order(id="7"), models.Order(id="7", external_identifier="mine")):
        assert COMPLEX.is_another(another)
    unreadable = orders.AskedOrder("mine", is_complex=True, body=b'{"orders": 1}')
    assert not unreadable.is_another(same)  # nothing is known of the terms, and nothing is proven


def structure_like(asked: models.NewComplexOrder) -> models.ComplexOrder:
    """A complex order as the service shows one of these terms."""
    shown: models.ComplexOrder = models.converter.structure(
        {**models.converter.unstructure(asked), "id": "7"}, models.ComplexOrder
    )
    return shown


async def test_whole_of_a_component_is_its_complex_order() -> None:
    listed = models.Order(id="1", complex_order_id="7")
    for quantity, differs in ((10, False), (11, True)):
        shown = structure_like(bracket_order("mine", quantity))
        executor = Mock(execute=AsyncMock(return_value=shown))
        whole, difference = await COMPLEX.whole_of(executor, "A1", listed)
        assert (whole, bool(difference)) == (shown, differs)
        ((call,), _) = executor.execute.call_args
        assert (call.operation.name, call.path) == ("complex_orders.get", {"account_number": "A1", "id": "7"})
    assert await SINGLE.whole_of(executor, "A1", listed) == (listed, "")
    executor = Mock(execute=AsyncMock(return_value=models.ComplexOrder(id="8")))
    error = await raised_by(COMPLEX.whole_of(executor, "A1", listed), errors.ResponseDecodeError, "id must be 7, got 8")
    assert error.operation == "complex_orders.get"
