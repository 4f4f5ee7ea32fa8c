"""Models and events as plain values, as JSON, and in pydantic."""

import json
import subprocess
import sys
from datetime import UTC, datetime
from decimal import Decimal

import pydantic
import pytest

from brokerage_async import models
from brokerage_async.stream import AccountEvent, Gap, Snapshot
from tests.tables import for_each
from tests.test_models import MODELS, sample

ORDER = models.Order(
    id="7",
    price=Decimal("1.50"),
    status=models.OrderStatus("New"),
    received_at=datetime(2026, 6, 10, 14, tzinfo=UTC),
    legs=(models.OrderLeg(symbol="AAPL", quantity=Decimal(3)),),
    extra={"new-key": [1, None]},
)


def test_models_and_events_travel_by_attribute_or_wire_key() -> None:
    assert ORDER.to_dict() == {
        "id": "7",
        "price": Decimal("1.50"),
        "status": models.OrderStatus("New"),
        "received_at": datetime(2026, 6, 10, 14, tzinfo=UTC),
        "legs": [{"symbol": "AAPL", "quantity": Decimal(3)}],
        "extra": {"new-key": [1, None]},
    }
    assert models.Order().to_dict() == {}
    assert json.loads(ORDER.to_json()) == {
        "id": "7",
        "price": "1.50",
        "status": "New",
        "received-at": "2026-06-10T14:00:00Z",
        "legs": [{"symbol": "AAPL", "quantity": "3"}],
        "new-key": [1, None],
    }
    assert json.loads(ORDER.to_json(wire=False))["received_at"] == "2026-06-10T14:00:00Z"
    event = AccountEvent(type="Order", data=models.Order(id="7", order_type=models.OrderType.LIMIT), sequence=3)
    assert event.to_dict() == {"type": "Order", "data": {"id": "7", "order_type": "Limit"}, "sequence": 3}
    assert json.loads(event.to_json())["data"] == {"id": "7", "order-type": "Limit"}
    assert Gap(since=None, reason="stale").to_json() == '{"reason":"stale"}'
    candle = models.Candle(event_symbol="AAPL{=d}", close=Decimal("1.5"))
    whole = Snapshot(type=models.Candle, symbol="AAPL{=d}", events=(candle,))
    assert json.loads(whole.to_json())["type"] == "Candle"


@for_each("model", MODELS)
def test_every_model_is_read_back_and_has_a_schema(model: type) -> None:
    one = sample(model)
    assert models.converter.structure(one.to_dict(wire=True), model) == one
    assert one.to_dict(wire=True) == models.converter.unstructure(one)
    assert models.converter.structure(json.loads(one.to_json(), parse_float=Decimal), model) == one
    assert json.loads(one.to_json(wire=False)).keys() == one.to_dict().keys()
    schema = pydantic.TypeAdapter(model).json_schema(mode="serialization")
    assert (schema["type"], schema["title"]) == ("object", model.__name__)


def test_pydantic_returns_models_as_json_with_their_schema() -> None:
    adapter = pydantic.TypeAdapter(list[models.Order])
    assert json.loads(adapter.dump_json([ORDER])) == [json.loads(ORDER.to_json())]
    assert adapter.validate_python([ORDER]) == [ORDER]
    with pytest.raises(pydantic.ValidationError):
        adapter.validate_python([{"id": "7"}])
    schema = adapter.json_schema(mode="serialization")
    assert schema["items"]["title"] == "Order"
    assert schema["items"]["properties"]["legs"]["anyOf"][0]["items"]["properties"].keys() >= {"symbol", "fills"}
    assert "$ref" not in json.dumps(schema)
    code = "from brokerage_async import models; import sys; models.Order().to_json(); print('pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
