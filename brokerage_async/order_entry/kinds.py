"""What order entry does differently for single and for complex orders: calls, names and comparisons.

A single order is found by its external identifier. A complex order has none: its name is the identifier of its first
component, the trigger order if there is one, and it is found by the identifiers of all its components.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar, TypeAlias

from .._generated.models import ComplexOrder, NewComplexOrder, NewOrder, Order, PlacedOrderResponse
from .._generated.operations import (
    COMPLEX_ORDERS_DRY_RUN,
    COMPLEX_ORDERS_GET,
    COMPLEX_ORDERS_SUBMIT,
    ORDERS_DRY_RUN,
    ORDERS_GET,
    ORDERS_SUBMIT,
)
from ..errors import ResponseDecodeError
from ..journal.base import JournalEntry
from ..operation import Executor, Operation
from ..protocol.decoding.lenient import parse
from .matching import (
    asked_components,
    complex_differs_in,
    complex_effect_changes,
    effect_changes,
    parts_of,
    terms_of,
)

__all__ = ["AskedOrder", "PlacedOrder", "asked_complex", "asked_in", "asked_single", "submit_of"]

PlacedOrder: TypeAlias = Order | ComplexOrder


class AskedOrder(ABC):
    """An order to submit: its name and the exact bytes of its body."""

    is_complex: ClassVar[bool]
    dry_run: ClassVar[Operation[PlacedOrderResponse]]
    submit: ClassVar[Operation[PlacedOrderResponse]]

    def __init__(self, name: str, body: bytes) -> None:
        self.name: str = name
        self.body: bytes = body

    @cached_property
    @abstractmethod
    def terms(self) -> NewOrder | NewComplexOrder | None:
        """Its terms, None where the body cannot be decoded."""

    @cached_property
    @abstractmethod
    def components(self) -> Mapping[str, NewOrder | None]:
        """Its terms by external identifier, None where the body cannot be decoded."""

    @abstractmethod
    def shown_by(self, answer: PlacedOrderResponse) -> PlacedOrder | None:
        """Return the order that the answer to a submit shows."""

    @abstractmethod
    def is_another(self, seen: PlacedOrder) -> bool:
        """Return True if the answer to a submit shows another order, by its identifiers or terms."""

    def is_named_by(self, seen: PlacedOrder) -> bool:
        """Return True if a whole order carries an identifier of this one."""
        return any(order.external_identifier in self.components for order in parts_of(seen))

    @abstractmethod
    async def read(self, executor: Executor, account_number: str, order_id: str) -> PlacedOrder:
        """Read a whole order by its id. Raise BrokerageError if it could not be read."""

    @abstractmethod
    def effect_changes(self, seen: PlacedOrder) -> list[str]:
        """Return, in words, which legs the service opens instead of closing, or the other way round."""

    @abstractmethod
    def id_of(self, listed: Order) -> str | None:
        """Return the id of the whole order that ``listed`` is a component of."""

    @abstractmethod
    def misfit(self, listed: Order) -> str:
        """Return why a listed order cannot be of this kind. Empty if it can."""

    @abstractmethod
    async def whole_of(self, executor: Executor, account_number: str, listed: Order) -> tuple[PlacedOrder, str]:
        """Return the whole order that ``listed`` is a component of, and how it provably differs, or "".

        Raises:
            BrokerageError: it could not be read.
        """


class _Single(AskedOrder):
    is_complex = False
    dry_run = ORDERS_DRY_RUN
    submit = ORDERS_SUBMIT

    @cached_property
    def terms(self) -> NewOrder | None:
        return terms_of(self.body, NewOrder)

    @cached_property
    def components(self) -> Mapping[str, NewOrder | None]:
        return {self.name: self.terms}

    def shown_by(self, answer: PlacedOrderResponse) -> Order | None:
        return answer.order

    def is_another(self, seen: PlacedOrder) -> bool:
        return not isinstance(seen, Order) or seen.external_identifier != self.name

    async def read(self, executor: Executor, account_number: str, order_id: str) -> Order:
        return await executor.execute(ORDERS_GET.bind(account_number=account_number, id=order_id))

    def effect_changes(self, seen: PlacedOrder) -> list[str]:
        terms = self.components[self.name]
        return effect_changes(terms, seen) if terms is not None and isinstance(seen, Order) else []

    def id_of(self, listed: Order) -> str | None:
        return listed.id

    def misfit(self, listed: Order) -> str:
        return f"belongs to the complex order {listed.complex_order_id}" if listed.complex_order_id else ""

    async def whole_of(self, executor: Executor, account_number: str, listed: Order) -> tuple[PlacedOrder, str]:
        return listed, ""


class _Complex(AskedOrder):
    is_complex = True
    dry_run = COMPLEX_ORDERS_DRY_RUN
    submit = COMPLEX_ORDERS_SUBMIT

    @cached_property
    def terms(self) -> NewComplexOrder | None:
        return terms_of(self.body, NewComplexOrder)

    @cached_property
    def components(self) -> Mapping[str, NewOrder | None]:
        terms = self.terms
        if terms is None:
            return {self.name: None}
        return {order.external_identifier: order for order in asked_components(terms) if order.external_identifier}

    def shown_by(self, answer: PlacedOrderResponse) -> ComplexOrder | None:
        return answer.complex_order

    def is_another(self, seen: PlacedOrder) -> bool:
        return bool(self._difference(seen))

    async def read(self, executor: Executor, account_number: str, order_id: str) -> ComplexOrder:
        seen: ComplexOrder = await executor.execute(COMPLEX_ORDERS_GET.bind(account_number=account_number, id=order_id))
        if seen.id != order_id:
            reason = f"id must be {order_id}, got {seen.id}: read the complex order again"
            raise ResponseDecodeError(reason, operation=COMPLEX_ORDERS_GET.name)
        return seen

    def effect_changes(self, seen: PlacedOrder) -> list[str]:
        if self.terms is None or not isinstance(seen, ComplexOrder):
            return []
        return complex_effect_changes(self.terms, seen)

    def id_of(self, listed: Order) -> str | None:
        return listed.complex_order_id

    def misfit(self, listed: Order) -> str:
        return "" if listed.complex_order_id else "belongs to no complex order"

    async def whole_of(self, executor: Executor, account_number: str, listed: Order) -> tuple[PlacedOrder, str]:
        seen = await self.read(executor, account_number, str(listed.complex_order_id))
        return seen, self._difference(seen)

    def _difference(self, seen: PlacedOrder) -> str:
        if not isinstance(seen, ComplexOrder):
            return "is not a complex order"
        term = None if self.terms is None else complex_differs_in(self.terms, seen)
        return "" if term is None else f"belongs to a complex order that differs in its {term}"


def asked_single(name: str, body: bytes) -> AskedOrder:
    """Return a single order."""
    return _Single(name, body)


def asked_complex(name: str, body: bytes) -> AskedOrder:
    """Return a complex order."""
    return _Complex(name, body)


def submit_of(body: bytes) -> Operation[PlacedOrderResponse]:
    """Return the operation that submits a body."""
    return COMPLEX_ORDERS_SUBMIT if _is_complex(body) else ORDERS_SUBMIT


def _is_complex(body: bytes) -> bool:
    try:
        raw = parse(body)
    except ValueError:
        return False
    return isinstance(raw, dict) and "orders" in raw and "legs" not in raw


def asked_in(entry: JournalEntry) -> AskedOrder:
    """Return the order of a journal entry. The body itself shows its kind."""
    name, body = entry.key.external_identifier, entry.body
    return _Complex(name, body) if _is_complex(body) else _Single(name, body)
