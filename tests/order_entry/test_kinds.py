"""The body of a journaled order decides its kind, and the kind decides when two orders are the same."""

import dataclasses
from datetime import UTC, datetime
from typing import Any

import pytest

from brokerage_async._generated.models import ComplexOrder, NewComplexOrder, Order
from brokerage_async.errors import ResponseDecodeError
from brokerage_async.journal import EntryKey, JournalEntry
from brokerage_async.models import converter
from brokerage_async.operation import BoundCall
from brokerage_async.order_entry.arguments import named_complex_order, named_order
from brokerage_async.order_entry.kinds import asked_complex, asked_in, asked_single, submit_of
from tests.trading import bracket_order, order

pytestmark = pytest.mark.virtual_time

COMPLEX = named_complex_order("A", bracket_order("mine"), str)[0]
SINGLE = named_order("A", order("mine"), str)[0]


def entry(body: bytes) -> JournalEntry:
    return JournalEntry(
        key=EntryKey("", "sandbox", "A", "mine"), body=body, opened_at=datetime(2026, 6, 10, tzinfo=UTC)
    )


def test_kind_is_that_of_the_body() -> None:
    assert [asked_in(entry(asked.body)).is_complex for asked in (COMPLEX, SINGLE)] == [True, False]
    assert [submit_of(asked.body).name for asked in (COMPLEX, SINGLE)] == ["complex_orders.submit", "orders.submit"]


@pytest.mark.parametrize("body", [b"", b"\xff", b"[]", b'"orders"', b'{"legs": [], "orders": []}', b"null"])
def test_body_of_neither_kind_counts_as_single(body: bytes) -> None:
    asked = asked_in(entry(body))
    assert not asked.is_complex
    assert list(asked.components) == ["mine"]


def test_complex_order_is_found_by_every_component() -> None:
    assert list(COMPLEX.components) == ["mine", "mine.1", "mine.2"]
    assert list(asked_complex("mine", b'{"orders": 1}').components) == ["mine"]


def test_single_order_is_no_component_and_a_component_no_single_order() -> None:
    alone, component = Order(id="1"), Order(id="1", complex_order_id="7")
    assert (SINGLE.misfit(alone), bool(SINGLE.misfit(component))) == ("", True)
    assert (bool(COMPLEX.misfit(alone)), COMPLEX.misfit(component)) == (True, "")
    assert (SINGLE.id_of(component), COMPLEX.id_of(component)) == ("1", "7")


@pytest.mark.parametrize("asked", [asked_single("mine", SINGLE.body), asked_complex("mine", COMPLEX.body)])
def test_answer_of_the_other_kind_is_another_order(asked: Any) -> None:
    other: Any = ComplexOrder(id="7") if not asked.is_complex else Order(id="7", external_identifier="mine")
    assert asked.is_another(other)


def test_complex_order_differs_by_kind_and_by_terms() -> None:
    same = structure_like(bracket_order("mine"))
    assert not COMPLEX.is_another(same)
    assert COMPLEX.is_another(structure_like(bracket_order("mine", 11)))
    assert COMPLEX.is_another(Order(id="7"))
    unreadable = asked_complex("mine", b'{"orders": 1}')
    assert not unreadable.is_another(same)  # nothing is known of the terms, and nothing is proven


def structure_like(asked: NewComplexOrder) -> ComplexOrder:
    """A complex order as the service shows one of these terms."""
    shown: ComplexOrder = converter.structure({**converter.unstructure(asked), "id": "7"}, ComplexOrder)
    return shown


@dataclasses.dataclass
class Answers:
    """An executor with one answer; ``calls`` are those that were made."""

    answer: ComplexOrder
    calls: list[tuple[str, Any]] = dataclasses.field(default_factory=list)

    async def execute(self, call: BoundCall[Any]) -> ComplexOrder:
        self.calls.append((call.operation.name, call.path))
        return self.answer


async def test_whole_of_a_component_is_its_complex_order() -> None:
    listed = Order(id="1", complex_order_id="7")
    for quantity, differs in ((10, False), (11, True)):
        executor: Any = Answers(structure_like(bracket_order("mine", quantity)))
        whole, difference = await COMPLEX.whole_of(executor, "A1", listed)
        assert (whole, bool(difference)) == (executor.answer, differs)
        assert executor.calls == [("complex_orders.get", {"account_number": "A1", "id": "7"})]
    assert await SINGLE.whole_of(executor, "A1", listed) == (listed, "")


async def test_whole_that_shows_another_id_is_not_taken() -> None:
    executor: Any = Answers(ComplexOrder(id="8"))
    with pytest.raises(ResponseDecodeError, match="id must be 7, got 8") as caught:
        await COMPLEX.whole_of(executor, "A1", Order(id="1", complex_order_id="7"))
    assert caught.value.operation == "complex_orders.get"
