"""Open enumerations."""

import copy
import pickle

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerage_async import _decimals, _open_enums
from brokerage_async._open_enums import AnyCaseStrEnum, OpenStrEnum
from brokerage_async.models import OrderStatus


def test_unlisted_member_travels_and_is_cached_up_to_a_length() -> None:
    assert OrderStatus("Live") is OrderStatus.LIVE
    assert OrderStatus.LIVE.is_known
    assert OrderStatus.LIVE == "Live"
    assert f"{OrderStatus.LIVE}" == "Live"
    status = OrderStatus("On Hold")
    assert not status.is_known
    assert pickle.loads(pickle.dumps(status)) == status == copy.deepcopy(status)
    assert type(pickle.loads(pickle.dumps(status))) is OrderStatus
    assert status not in list(OrderStatus)
    assert status.name == "On Hold"
    assert "On Hold" in repr(status)
    assert msgspec.json.decode(b'"On Hold"', type=OrderStatus) == status
    assert msgspec.json.encode(status) == b'"On Hold"'
    match status:
        case OrderStatus.LIVE:
            pytest.fail("it is not live")
        case "On Hold":
            pass
    for value in (1, None, b"Live", ["Live"]):
        with pytest.raises(ValueError, match="is not a valid OrderStatus"):
            OrderStatus(value)

    class Colour(OpenStrEnum):
        RED = "red"

    assert type(Colour("blue")) is Colour
    assert type(OrderStatus("blue")) is OrderStatus
    # The cache is bounded in bytes: 1,024 members of 64 characters.
    short, long = "On Hold", "x" * (_decimals.MAX_CACHED_LENGTH + 1)
    assert OrderStatus(short) is OrderStatus(short)
    assert OrderStatus(long) == OrderStatus(long)
    assert OrderStatus(long) is not OrderStatus(long)
    for number in range(2 * _open_enums.MAX_UNLISTED):
        OrderStatus(f"unlisted {number}")
    assert len(_open_enums._UNLISTED) <= _open_enums.MAX_UNLISTED


@given(st.text())
def test_any_other_string_becomes_a_member(text: str) -> None:
    status = OrderStatus(text)
    assert isinstance(status, OrderStatus)
    assert status.is_known is (text in {each.value for each in OrderStatus})
    assert (status == text, hash(status), str(status), status.value) == (True, hash(text), text, text)
    assert OrderStatus(text) == status
    assert {status: 1}[text] == 1


class State(AnyCaseStrEnum):
    OPEN = "Open"
    PRE_MARKET = "Pre-Market"


def test_any_case_enumeration_takes_a_known_value_in_any_letter_case_and_keeps_others_as_sent() -> None:
    for text in ("Pre-Market", "Pre-market", "PRE-MARKET", "pre-market"):
        assert State(text) is State.PRE_MARKET
        assert msgspec.json.decode(msgspec.json.encode(text), type=State) is State.PRE_MARKET
    for text in ("Post-market", "Pre Market", "", "o" * 1000):
        assert State(text) == text
        assert not State(text).is_known
