from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.operation import Effect, Operation, Shape
from brokerage_async.protocol.request import encode_path
from brokerage_async.simulator.api.request_parser import Router, split_target
from tests.tables import for_each

ROUTER = Router(OPERATIONS.values())


@for_each("name", OPERATIONS)
@for_each("value", ["AAPL", "BRK/B", "./ESZ6 EW3U6 260918P9100", "a%2Fb", "live?x=1#y"])
def test_router_finds_every_operation_with_its_values(name: str, value: str) -> None:
    operation = OPERATIONS[name]
    values = {parameter.wire: value for parameter in operation.parameters if parameter.location == "path"}
    path = operation.path if operation.host is None else f"/{operation.host}{operation.path}"
    found = ROUTER.find(operation.method, encode_path(path, values))
    assert found == (operation, values)


def test_router_prefers_fixed_segments_and_knows_hosts_and_methods() -> None:
    found = ROUTER.find("GET", "/accounts/A/orders/live")
    assert found[0].name == "orders.list_live"
    other = Operation(name="a.b", method="GET", path="/watchlists", effect=Effect.READ, shape=Shape.NONE, host="lab")
    router = Router([other])
    assert router.find("GET", "/lab/watchlists") == (other, {})
    assert router.find("GET", "/watchlists") is None
    assert ROUTER.find("GET", "/") is None
    assert ROUTER.find("PUT", "/watchlists") is None
    assert ROUTER.find("GET", "/watchlists/a/b/c/d/e/f") is None
    assert ROUTER.methods("/watchlists") == ["GET", "POST"]
    assert ROUTER.methods("/accounts/X/orders/live") == ["GET"]
    assert ROUTER.methods("/nowhere") == []


@for_each("url", ["http://host:1/a/b?c=d&e=f://g", "/a/b?c=d&e=f://g"])
def test_split_target_of_url_and_path(url: str) -> None:
    assert split_target(url) == ("/a/b", "c=d&e=f://g")


def test_split_target_without_path() -> None:
    assert split_target("http://host") == ("/", "")
