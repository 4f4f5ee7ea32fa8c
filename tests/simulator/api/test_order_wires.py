"""Orders on the wire, in both forms."""

import json
from datetime import datetime, timedelta, timezone
from decimal import Decimal

import pytest

from brokerage_async._generated.models import NewOrderCondition, NewOrderRules, OrderStatus
from brokerage_async.simulator.api.wire import Dialect, WireForm, dumps
from brokerage_async.simulator.trading.orders import order_json, order_wire
from tests.simulator.factories import START, order
from tests.simulator.harness import Harness, limit


def test_order_wire_in_both_forms() -> None:
    observed, documented = Harness().login(), Harness(wire="documented").login()
    numbers, texts = (harness.order(harness.place(limit(rules={}))) for harness in (observed, documented))
    assert isinstance(numbers["id"], int)
    assert isinstance(texts["id"], str)
    assert (numbers["legs"][0]["quantity"], texts["legs"][0]["quantity"]) == (10, "10")
    assert "rules" in numbers
    assert "order-rule" in texts


MOMENT = datetime(2026, 6, 10, 12, tzinfo=timezone(timedelta(hours=-2)))


def test_order_json_shows_progress_and_is_rendered_once_per_change() -> None:
    one = order()
    first = order_json(one, Dialect())
    assert order_json(one, Dialect()) is first
    one.touch(START)
    assert order_json(one, Dialect()) != first
    fields = json.loads(order_json(order("2", number=0), Dialect()))
    assert not {"id", "received-at", "global-request-id", "ext-client-order-id", "replaces-order-id"} & set(fields)
    assert (fields["size"], fields["leg-count"], fields["updated-at"]) == (2, 1, 0)
    one = order("1.50", "2")
    one.move(OrderStatus.CANCELLED, START)
    fields = json.loads(order_json(one, Dialect()))
    assert fields["cancelled-size"] == "3.5"
    assert "cancel-user-id" not in fields
    one.cancelled_by_user = True
    one.touch(START)
    assert json.loads(order_json(one, Dialect()))["cancel-username"] == "one"
    old, new = order(number=1), order(number=2)
    old.replaced_by, new.replaces = new, old
    assert order_wire(old, Dialect()).replacing_order_id == 2
    assert order_wire(new, Dialect("documented")).replaces_order_id == "1"


@pytest.mark.parametrize(
    ("form", "keys"), [("observed", ("rules", "conditions")), ("documented", ("order-rule", "order-conditions"))]
)
def test_rules_show_their_progress(form: WireForm, keys: tuple[str, str]) -> None:
    condition = NewOrderCondition(symbol="AAPL", threshold=Decimal("1.5"))
    one = order(rules=NewOrderRules(route_after=MOMENT, conditions=(condition, condition)))
    one.condition_hits[1] = (START, Decimal(2))
    written = json.loads(dumps(order_wire(one, Dialect(form))))[keys[0]]
    assert written["route-after"] == "2026-06-10T14:00:00.000+00:00"
    first, second = written[keys[1]]
    assert (first["symbol"], first["threshold"]) == ("AAPL", "1.5")
    assert "triggered-at" not in first
    assert (second["triggered-at"], second["triggered-value"]) == ("2026-06-10T14:00:00.000+00:00", "2.00")


@pytest.mark.parametrize("form", ["observed", "documented"])
def test_identifiers_of_users_are_strings_in_both_forms(form: WireForm) -> None:
    one = order()
    one.cancelled_by_user = True
    written = json.loads(dumps(order_wire(one, Dialect(form))))
    assert written["user-id"] == written["cancel-user-id"] == str(one.account.customer.number)
