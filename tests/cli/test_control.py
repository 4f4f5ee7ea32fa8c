"""`simulator ctl` builds requests from its arguments, and says what is missing."""

import pytest

from brokerage_async.cli.control import _request, steer
from brokerage_async.errors import ConfigurationError


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("state", [], ("GET", "/state", None)),
        ("set-price", ["symbol=BRK/B", "price=1.50"], ("PUT", "/prices/BRK%2FB", b'{"price":"1.50"}')),
        ("set-price", ["symbol=AAPL", "price=null"], ("PUT", "/prices/AAPL", b'{"price":null}')),
        ("change-clock", ["advance=60"], ("PATCH", "/clock", b'{"advance":60.0,"speed":null}')),
        ("fill-order", ["order_id=7"], ("POST", "/orders/7/fill", b'{"quantity":null,"price":null}')),
        (
            "add-fault", ["fault=hang", "times=3", "path=/a=b"],
            ("POST", "/faults", b'{"fault":"hang","method":"*","path":"/a=b","times":3}'),
        ),
    ],
)  # fmt: skip
def test_arguments_become_a_request(name: str, given: list[str], expected: tuple[str, str, bytes | None]) -> None:
    assert _request(name, given) == expected


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("zap", [], "unknown operation zap; use one of state, clock, change-clock"),
        ("fill-order", [], "fill-order needs order_id=..., got none"),
        ("state", ["x=1"], "state does not take x"),
        ("change-clock", ["60"], "change-clock needs key=value arguments, got 60"),
        ("change-clock", ["advance=soon"], "change-clock: Expected"),
        ("change-clock", ["advanced=6"], "change-clock: Object contains unknown field `advanced`"),
    ],
)
def test_wrong_arguments_raise(name: str, given: list[str], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        _request(name, given)


@pytest.mark.parametrize(
    "address", ["", "https://127.0.0.1:1", "http://example.com:80", "http://127.0.0.1:1@a.example"]
)
def test_only_a_loopback_simulator_is_called(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("BROKERAGE_CONTROL_URL", address)
    monkeypatch.setenv("BROKERAGE_CONTROL_TOKEN", "made-up")
    with pytest.raises(ConfigurationError, match="must name a running simulator"):
        steer("state", [])


def test_simulator_that_has_gone_is_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROKERAGE_CONTROL_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("BROKERAGE_CONTROL_TOKEN", "made-up")
    with pytest.raises(ConfigurationError, match=r"no simulator answers at http://127\.0\.0\.1:1"):
        steer("state", [])
