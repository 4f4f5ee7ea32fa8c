"""Checks before an order is sent: invalid arguments are rejected, and what its dry-run shows stops it."""

import re
from collections.abc import Awaitable, Callable
from decimal import Decimal
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import attrs
import pytest

from brokerage_async import Environment, models
from brokerage_async._generated.models import NewComplexOrder, OrderEdit, OrderType, TimeInForce
from brokerage_async.errors import BrokerageError, ConfigurationError, ErrorDetail, InvalidRequestError
from brokerage_async.journal import MemoryJournal
from brokerage_async.order_entry import OrderEntry
from brokerage_async.order_entry.decisions import DeliveryOutcome
from brokerage_async.order_entry.preflight import check_options, is_blank, named_complex_order, rejection
from tests.protocol.values import raised
from tests.tables import for_each
from tests.trading import Floor, bracket_order, exclusive_orders, order

pytestmark = pytest.mark.virtual_time

EDIT = OrderEdit(order_type=OrderType.LIMIT, time_in_force=TimeInForce.DAY, price=Decimal(1))
NAN, INF = float("nan"), float("inf")
OPTIONS: list[tuple[str, Any]] = [
    *(("resubmit", each) for each in ("1", None, -1)),
    *(("allow_warnings", each) for each in (None, 1, b"tif")),
    *(("reconcile", each) for each in (3, "often")),
    *(("visibility_delay", each) for each in ("1", -1, NAN, INF)),
]

NAMES = ["  ", 7, b"x", " mine", "mine\n", "mi\0ne", "mi\u200bne", "\ud800", "x" * 65, "e\N{COMBINING ACUTE ACCENT}"]
"""Names by which no order can be found again: a service may keep them without blanks and invisible characters."""
SETTINGS: list[tuple[str, Any, str]] = [
    *(("journal", each, "journal must be an object with now, open, find") for each in (b"x", MemoryJournal, 5)),
    *(("journal", kind("x.db"), r"got a path: open SqliteJournal\('x.db'\)") for kind in (str, Path)),
    *(("identifiers", each, "identifiers must be a function") for each in ("order-1", 5, None)),
    ("lease", None, "lease must .* a crashed worker would hold its claims forever"),
    *(("lease", each, "lease must") for each in (0, -1, "30", NAN, INF)),
]

COMPONENT_NAMES: list[tuple[tuple[str | None, ...], str]] = [
    ((None, "profit", None), "external_identifier of trigger_order must be set"),
    (("mine", "mine", None), "must differ between the components of a complex order, got 'mine' twice"),
    (("mine", None, "mine.1"), "must differ between the components of a complex order, got 'mine.1' twice"),
    ((" mine", None, None), "must be a printable string"),
    (("m" * 63, None, None), "must be a printable string of at most 64"),
]


def named_bracket(*names: str | None) -> NewComplexOrder:
    asked = bracket_order()
    first, *rest = (
        attrs.evolve(each, external_identifier=name)
        for each, name in zip((asked.trigger_order, *asked.orders), names, strict=True)  # type: ignore[arg-type, misc]
    )
    return attrs.evolve(asked, trigger_order=first, orders=tuple(rest))


async def test_invalid_argument_is_refused_before_anything_is_sent(here: Floor) -> None:
    entry, account = here.entry, here.account
    calls: list[tuple[Callable[[], Awaitable[object]], str]] = []

    def refuse(call: Any, *arguments: Any, words: str, **options: Any) -> None:
        calls.append((partial(call, account, *arguments, **options), words))

    for option, value in OPTIONS:
        refuse(entry.place, order("mine"), words=option, **{option: value})
    for wrong in (None, 1, {"order-type": "Limit"}, b"{}", EDIT):
        refuse(entry.place, wrong, words="order must be a NewOrder")
    for wrong in (None, 5, "11", {}, order()):
        for change in (entry.replace, entry.edit):
            refuse(change, "1", wrong, words="order must be of type OrderEdit, got")
    for term, value, field in (
        ("price", None, "price"),
        ("time_in_force", TimeInForce.GTD, "gtc-date"),
        ("order_type", OrderType.STOP, "stop-trigger"),
    ):
        refuse(entry.place, attrs.evolve(order(), **{term: value}), words=field)
    for wrong in (None, order("mine"), {"type": "OCO"}):
        refuse(entry.place_complex, wrong, words="NewComplexOrder")
    for names, words in COMPONENT_NAMES:
        refuse(entry.place_complex, named_bracket(*names), words=words)
    for extra in ({"external-identifier": "another"}, {"price": "9"}, {"note": 1j}):
        refuse(entry.place, attrs.evolve(order("mine"), extra=extra), words="")
    for name in [*NAMES, ""]:
        naming = OrderEntry(here.client, MemoryJournal(), identifiers=lambda name=name: name)
        refuse(naming.place, order(name), words="external_identifier|external-identifier")
        refuse(naming.place, order(None), words="external_identifier|external-identifier")
    for number in (None, 1.5, True, [], b"7", ""):
        for call, terms in ((entry.cancel, ()), (entry.replace, (EDIT,)), (entry.edit, (EDIT,))):
            refuse(call, number, *terms, words="^order_id must ")
        refuse(entry.edit_pairs, number, ratio_price_threshold=EDIT.price, words="^complex_order_id must ")
        refuse(entry.cancel_complex, number, words="^complex_order_id must ")
    refuse(entry.replace, "1", attrs.evolve(EDIT, price=None), words="price")
    refuse(entry.cancel, "..", words="id")
    calls.append((partial(entry.place, "..", order()), ""))
    missed = []
    for call, words in calls:
        try:
            await call()
        except BrokerageError as error:
            if not re.search(words, str(error)):
                missed.append((call, str(error)))
        else:
            missed.append((call, "not refused"))
    assert missed == []
    assert not here.wire.bodies
    assert await here.entry.journal.entries() == []


@for_each("setting, value, words", SETTINGS)
def test_order_entry_with_an_invalid_setting_is_refused(setting: str, value: Any, words: str) -> None:
    client: Any = SimpleNamespace(session=None, environment=Environment.sandbox("https://a.example"))
    raised(ConfigurationError, OrderEntry, client, match=words, **{"journal": MemoryJournal(), setting: value})


def test_names_of_components_follow_from_the_first_and_differ() -> None:
    for make, names in ((bracket_order, ["n", "n.1", "n.2"]), (exclusive_orders, ["n", "n.1"])):
        asked = named_complex_order("A", make(), lambda: "n")
        assert (list(asked.components), asked.was_named, asked.name) == (names, False, "n")
        again = named_complex_order("A", make("n"), str)
        assert (again.body, again.was_named) == (asked.body, True)
    assert list(named_complex_order("A", named_bracket("n", "profit", None), str).components) == ["n", "profit", "n.2"]
    pair = exclusive_orders()
    second = attrs.evolve(pair.orders[1], external_identifier="n")
    with pytest.raises(InvalidRequestError, match=r"external_identifier of orders\[0\] must be set"):
        named_complex_order("A", attrs.evolve(pair, orders=(pair.orders[0], second)), str)


def test_check_options_unknown_code_in_allow_warnings_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    check_options(["tif.next_valid_session", "tif_next_valid_sesssion", "closing_with_no_position"])
    assert not caplog.records
    for allowed in (["tif_next_valid_session"], "tif_next_valid_session"):
        caplog.clear()
        check_options(allowed)
        assert "allow_warnings names 'tif_next_valid_session'" in caplog.text


SOUND = {"order": {"order-type": "Limit"}}
NEW, OLD = models.PreflightCode.TIF_NEXT_VALID_SESSION, models.PreflightCode.TIF_NEXT_VALID_SESSSION
REFUSED, NOT_SENT = DeliveryOutcome.REFUSED, DeliveryOutcome.NOT_SENT
UNREADABLE: list[Any] = [{"code": "x"}, ["x"], "x", [None]]

DETAIL = [{"code": "c", "message": "m"}]

# answer of the dry-run, warnings that are allowed, what stops the order and its code, or None
ROWS: list[tuple[dict[str, Any], Any, tuple[DeliveryOutcome, str | None] | None]] = [
    *((SOUND | {"errors": it}, True, (REFUSED, "preflight_errors")) for it in [*UNREADABLE, [{"code": "x"}], [{}], 1]),
    *((SOUND | {name: DETAIL}, False, (REFUSED, f"preflight_{name}")) for name in ("errors", "warnings")),
    *((SOUND | {"warnings": each}, False, (REFUSED, "preflight_warnings")) for each in UNREADABLE),
    *((SOUND | {"warnings": each}, ("x",), (REFUSED, "preflight_warnings")) for each in UNREADABLE),
    *((SOUND | {"warnings": each}, True, None) for each in UNREADABLE),
    *((SOUND | {"errors": each, "warnings": each}, False, None) for each in (None, [], {}, "")),
    ({}, True, (NOT_SENT, None)),
    ({"something": "else"}, True, (NOT_SENT, None)),
    ({"errors": "x"}, False, (REFUSED, "preflight_errors")),  # nothing else, and yet not blank
    ({"warnings": "x"}, False, (REFUSED, "preflight_warnings")),
    *(
        ({"warnings": [{"code": sent}]}, allowed, None)  # one code is not its letters
        for sent in (NEW.value, OLD.value)
        for allowed in (NEW, OLD, NEW.value, [NEW.value], {OLD.value})
    ),
    ({"warnings": [{"code": NEW.value}]}, f"{NEW.value}_or_other", (REFUSED, "preflight_warnings")),
    ({"warnings": [{"code": NEW.value}]}, ["tif_next_valid_session"], (REFUSED, "preflight_warnings")),
]


TEXTS = {  # code, and whether it could be read
    ("preflight_errors", True): "the dry-run found errors",
    ("preflight_errors", False): "the dry-run found errors, in an unreadable form",
    ("preflight_warnings", True): "the dry-run warned, and these warnings are not allowed",
    ("preflight_warnings", False): "the dry-run warned, in an unreadable form",
}


@for_each("answer, allowed, stops", ROWS)
def test_rejection_of_each_answer(answer: dict[str, Any], allowed: Any, stops: Any) -> None:
    preview = models.converter.structure(answer, models.PlacedOrderResponse)
    stopped = rejection(preview, allowed, "complex_orders.dry_run")
    if stops is None:
        assert stopped is None
        return
    assert (stopped.outcome, stopped.error.operation) == (stops[0], "complex_orders.dry_run")
    assert stops[0] is NOT_SENT or stopped.error.code == stops[1]
    if stops[1] is not None:
        assert stopped.error.message == TEXTS[stops[1], bool(preview.errors or preview.warnings)]
    assert is_blank(preview) is (stops[0] is NOT_SENT)
    assert is_blank(preview) is ("the order was not submitted" in str(stopped.error))
    if DETAIL in answer.values():
        assert stopped.error.errors == (ErrorDetail("c", "m"),)
