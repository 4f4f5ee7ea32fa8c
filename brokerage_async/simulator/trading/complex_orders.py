"""Complex orders: orders that depend on each other."""

from __future__ import annotations

from decimal import Decimal

import attrs

from ..._generated.converters import ComplexOrderWire, RelatedOrderWire
from ..._generated.models import Comparator, ComplexOrderType
from ..accounts.accounts import Account
from ..api.order_wires import order_wire
from ..api.wire import Dialect, timestamp
from .orders import Order, number_of

__all__ = ["EXCLUSIVE", "ComplexOrder", "tag_of"]

EXCLUSIVE = frozenset({ComplexOrderType.OCO, ComplexOrderType.OTOCO})
"""Types of which a fill of one order cancels the other."""


def tag_of(kind: ComplexOrderType, *, trigger: bool = False) -> str:
    """Return the tag of a component."""
    if trigger:
        return f"{kind}::trigger-order"
    return f"{kind}::oco-1-order" if kind is ComplexOrderType.OTOCO else f"{kind}::order"


@attrs.define(kw_only=True, eq=False)
class ComplexOrder:
    """Orders that depend on each other.

    ``number`` is 0 in a dry-run. The ratio fields are those of a PAIRS order, which is ``released`` once its ratio is
    met; other types are when their trigger order is filled.
    """

    number: int
    account: Account
    type: ComplexOrderType
    orders: list[Order] = attrs.field(factory=list)
    trigger: Order | None = None
    comparator: Comparator | None = None
    threshold: Decimal | None = None
    is_notional: bool = False
    released: bool = False
    terminal_at: float | None = None
    related: list[Order] = attrs.field(factory=list)

    @property
    def members(self) -> list[Order]:
        """Every current order of the group, the trigger order first."""
        return [*([self.trigger] if self.trigger is not None else []), *self.orders]

    @property
    def waits_for_ratio(self) -> bool:
        """Whether it is a pair whose ratio has not been met."""
        return self.type is ComplexOrderType.PAIRS and not self.released

    def replaced(self, old: Order, new: Order) -> None:
        """Substitute ``new`` for ``old``: a replacement, or the original if that is abandoned."""
        self.related = [*(order for order in self.related if order is not new), old]
        if self.trigger is old:
            self.trigger = new
        self.orders = [new if order is old else order for order in self.orders]

    def wire(self, dialect: Dialect) -> ComplexOrderWire:
        """Return the complex order as a wire struct."""
        return ComplexOrderWire(
            id=dialect.identifier(self.number or None),
            account_number=self.account.number,
            type=self.type,
            ratio_price_comparator=self.comparator,
            ratio_price_threshold=self.threshold,
            ratio_price_is_threshold_based_on_notional=None if self.threshold is None else self.is_notional,
            terminal_at=timestamp(self.terminal_at),
            orders=[order_wire(order, dialect) for order in self.orders],
            trigger_order=None if self.trigger is None else order_wire(self.trigger, dialect),
            related_orders=[self._related(order) for order in self.related],
        )

    def _related(self, order: Order) -> RelatedOrderWire:
        """Return a related order, whose identifiers are strings in either form."""
        replaces, replaced_by = number_of(order.replaces), number_of(order.replaced_by)
        return RelatedOrderWire(
            id=str(order.number),
            complex_order_id=str(self.number),
            complex_order_tag=order.tag,
            replaces_order_id=None if replaces is None else str(replaces),
            replacing_order_id=None if replaced_by is None else str(replaced_by),
            status=order.status,
        )
