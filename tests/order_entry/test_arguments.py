"""Invalid arguments of order entry are rejected before anything is sent or journaled."""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import attrs
import pytest

from brokerage_async._generated.models import NewComplexOrder, OrderEdit, OrderType, TimeInForce
from brokerage_async.errors import BrokerageError, ConfigurationError, InvalidRequestError
from brokerage_async.journal import MemoryJournal
from brokerage_async.order_entry import OrderEntry
from brokerage_async.order_entry.arguments import check_options, named_complex_order
from tests.trading import Floor, bracket_order, exclusive_orders, order

pytestmark = pytest.mark.virtual_time

EDIT = OrderEdit(order_type=OrderType.LIMIT, time_in_force=TimeInForce.DAY, price=Decimal(1))
NO_IDS: list[Any] = [None, 1.5, True, [], b"7"]
OPTIONS: list[dict[str, Any]] = [
    {"resubmit": "1"},
    {"resubmit": None},
    {"resubmit": -1},
    {"allow_warnings": None},
    {"allow_warnings": 1},
    {"allow_warnings": b"tif"},
    {"reconcile": 3},
    {"reconcile": "often"},
    {"visibility_delay": "1"},
    {"visibility_delay": -1},
    {"visibility_delay": float("nan")},
    {"visibility_delay": float("inf")},
]


def untouched(here: Floor) -> bool:
    return not here.wire.bodies


@pytest.mark.parametrize("options", OPTIONS, ids=str)
async def test_options_of_place(here: Floor, options: dict[str, Any]) -> None:
    with pytest.raises(BrokerageError):
        await here.entry.place(here.account, order("mine"), **options)
    assert untouched(here)
    assert await here.entry.journal.entries() == []


@pytest.mark.parametrize("wrong", [None, 1, {"order-type": "Limit"}, b"{}", EDIT], ids=str)
async def test_what_is_no_order(here: Floor, wrong: Any) -> None:
    with pytest.raises(InvalidRequestError, match="NewOrder"):
        await here.entry.place(here.account, wrong)
    assert untouched(here)


@pytest.mark.parametrize("extra", [{"external-identifier": "another"}, {"price": "9"}, {"note": 1j}], ids=str)
async def test_extra_fields_that_cannot_be_sent(here: Floor, extra: Any) -> None:
    with pytest.raises(InvalidRequestError):
        await here.entry.place(here.account, attrs.evolve(order("mine"), extra=extra))
    assert untouched(here)


@pytest.mark.parametrize("name", ["  ", 7, b"x", " mine", "mine\n", "mi\0ne", "mi\u200bne", "\ud800"])
async def test_a_name_by_which_no_order_can_be_found_again(here: Floor, name: Any) -> None:
    """Also one that a service would keep without its blanks and invisible characters."""
    with pytest.raises(InvalidRequestError):
        await here.entry.place(here.account, order(name))
    entry = OrderEntry(here.client, MemoryJournal(), identifiers=lambda: name)
    with pytest.raises(InvalidRequestError):
        await entry.place(here.account, order(None))
    entry = OrderEntry(here.client, MemoryJournal(), identifiers=lambda: "")
    with pytest.raises(InvalidRequestError):
        await entry.place(here.account, order(""))
    assert untouched(here)


@pytest.mark.parametrize("wrong", NO_IDS, ids=str)
async def test_what_is_no_order_id_is_not_taken_for_one(here: Floor, wrong: Any) -> None:
    for call in (
        here.entry.cancel(here.account, wrong),
        here.entry.replace(here.account, wrong, EDIT),
        here.entry.edit(here.account, wrong, EDIT),
        here.entry.edit_pairs(here.account, wrong, ratio_price_threshold=EDIT.price),
    ):
        with pytest.raises(InvalidRequestError):
            await call
    assert untouched(here)


@pytest.mark.parametrize(
    "wrong", [b"orders.journal", MemoryJournal, 5, object()], ids=["bytes", "class", "int", "object"]
)
async def test_what_is_no_journal(here: Floor, wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match="journal must be an object with now, open, find"):
        here.client.order_entry(wrong)


@pytest.mark.parametrize("path", ["orders.journal", Path("orders.journal")], ids=["text", "path"])
async def test_a_path_is_no_journal_but_names_one(here: Floor, path: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"SqliteJournal\('orders.journal'\)"):
        here.client.order_entry(path)


@pytest.mark.parametrize("wrong", ["order-1", 5, None])
async def test_what_makes_no_identifiers(here: Floor, wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match="identifiers must be a function"):
        OrderEntry(here.client, MemoryJournal(), identifiers=wrong)


@pytest.mark.parametrize("lease", [None, 0, -1, "30", float("nan"), float("inf")])
async def test_a_lease_is_a_number_of_seconds(here: Floor, lease: Any) -> None:
    with pytest.raises(ConfigurationError):
        OrderEntry(here.client, MemoryJournal(), lease=lease)


@pytest.mark.parametrize(("make", "place"), [(bracket_order, "trigger_order"), (exclusive_orders, r"orders\[0\]")])
def test_component_with_a_name_needs_one_on_the_first(make: Callable[[], NewComplexOrder], place: str) -> None:
    """The first component names the whole: made up, the next call with the same order would get another name."""
    whole = make()
    rest = [attrs.evolve(each, external_identifier=f"mine.{number}") for number, each in enumerate(whole.orders or ())]
    if whole.trigger_order is None:
        rest[0] = attrs.evolve(rest[0], external_identifier=None)
    with pytest.raises(InvalidRequestError, match=f"external_identifier of {place} must be set"):
        named_complex_order("A", attrs.evolve(whole, orders=tuple(rest)), str)


def test_names_of_components_follow_from_the_first_and_differ() -> None:
    for make, names in ((bracket_order, ["n", "n.1", "n.2"]), (exclusive_orders, ["n", "n.1"])):
        asked = named_complex_order("A", make(), lambda: "n")
        assert (list(asked.components), asked.was_named, asked.name) == (names, False, "n")
        again = named_complex_order("A", make("n"), str)
        assert (again.body, again.was_named) == (asked.body, True)
    twice = exclusive_orders("n")
    same = tuple(attrs.evolve(each, external_identifier="n") for each in twice.orders or ())
    with pytest.raises(InvalidRequestError, match=r"must differ between the components of .*, got 'n' twice"):
        named_complex_order("A", attrs.evolve(twice, orders=same), str)


def test_check_options_unknown_code_in_allow_warnings_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    check_options(["tif.next_valid_session", "tif_next_valid_sesssion", "closing_with_no_position"])
    assert not caplog.records
    for allowed in (["tif_next_valid_session"], "tif_next_valid_session"):
        caplog.clear()
        check_options(allowed)
        assert "allow_warnings names 'tif_next_valid_session'" in caplog.text
