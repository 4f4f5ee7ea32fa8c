"""Complex orders on the wire: tags, and the former components."""

from brokerage_async._generated.models import ComplexOrderType
from brokerage_async.simulator.trading.complex_orders import tag_of
from tests.simulator.harness import Harness

PUBLISHED = {
    "OTOCO": ("OTOCO::trigger-order", "OTOCO::oco-1-order"),
    "OTO": ("OTO::trigger-order", "OTO::order"),
    "OCO": ("OCO::trigger-order", "OCO::order"),
}


def test_components_have_published_tags_and_related_orders(harness: Harness) -> None:
    for kind, tags in PUBLISHED.items():
        assert (tag_of(ComplexOrderType(kind), trigger=True), tag_of(ComplexOrderType(kind))) == tags
    harness.wait(5)
    first = harness.complex_order("OCO")["orders"][0]["id"]
    edit = {"order-type": "Limit", "time-in-force": "GTC", "price": "151.00"}
    assert harness.ask("PATCH", f"/accounts/{harness.accounts[1]}/orders/{first}", edit).status == 200
    harness.wait(3)
    data = harness.complex_order("OCO")
    (related,) = data["related-orders"]
    assert (related["id"], related["status"]) == (str(first), "Cancelled")
    assert {type(value) for value in related.values()} == {str}
    assert data["orders"][0]["replaces-order-id"] == first
