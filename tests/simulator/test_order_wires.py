"""How orders are written, in both forms."""

from tests.simulator.house import House, limit


def test_the_two_wire_forms() -> None:
    observed, documented = House().login(), House(wire="documented").login()
    numbers, texts = (house.order(house.place(limit(rules={}))) for house in (observed, documented))
    assert isinstance(numbers["id"], int)
    assert isinstance(texts["id"], str)
    assert (numbers["legs"][0]["quantity"], texts["legs"][0]["quantity"]) == (10, "10")
    assert "rules" in numbers
    assert "order-rule" in texts
