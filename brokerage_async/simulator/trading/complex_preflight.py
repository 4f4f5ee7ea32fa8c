"""Checks before a complex order is accepted."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import attrs

from ..._generated.converters import PlacedOrderResponseWire
from ..._generated.models import NewComplexOrder, NewOrder
from ..accounts.accounts import Account
from ..accounts.margin_calculator import BuyingPowerImpact
from ..api.wire import Dialect, money
from .complex_orders import EXCLUSIVE, ComplexOrder, tag_of
from .fees import Fees
from .orders import Order, Terms
from .preflight import Message, Preflight, PreflightResult, closing_wire, preflight_error

__all__ = ["ComplexPreflightResult", "check_complex", "placed_wire"]

_SHORT = Message("margin_check_failed", "Insufficient buying power for this complex order")


@attrs.frozen(kw_only=True)
class ComplexPreflightResult:
    """Result of checking a complex order.

    ``components`` are the results of its members, by preflight identifier. ``counted`` are those that take buying power
    of their own: exits that wait for a trigger order close the position that it opens, and of two exclusive orders only
    one is executed.
    """

    draft: ComplexOrder
    components: Sequence[PreflightResult]
    counted: Sequence[PreflightResult]

    @property
    def impact(self) -> BuyingPowerImpact:
        """Effect of the whole complex order."""
        impacts = [result.impact for result in self.counted]
        return BuyingPowerImpact(
            current=self.components[0].impact.current,
            margin_change=sum((impact.margin_change for impact in impacts), Decimal(0)),
            isolated=sum((impact.isolated for impact in impacts), Decimal(0)),
            fees=sum((impact.fees for impact in impacts), Fees()),
            is_spread=any(impact.is_spread for impact in impacts),
        )

    @property
    def errors(self) -> list[tuple[int, Message]]:
        """Errors with the preflight identifiers of their components."""
        found = [(number, error) for number, result in enumerate(self.components) for error in result.errors]
        impact = self.impact
        if not found and impact.new < 0 and impact.change < 0:
            found.append((0, _SHORT))
        return found

    def wire(self, dialect: Dialect) -> PlacedOrderResponseWire:
        """Return the placed-order response."""
        warnings = [(number, warning) for number, result in enumerate(self.components) for warning in result.warnings]
        wire = placed_wire(self.draft, self.impact, dialect)
        wire.warnings = [warning.wire(dialect.identifier(number)) for number, warning in warnings]
        wire.errors = [error.wire(dialect.identifier(number)) for number, error in self.errors]
        wire.closing_fee_calculation = closing_wire(sum((each.closing_fees for each in self.counted), Fees()), dialect)
        wire.order_costs = money(self.impact.fees.total)
        return wire


def placed_wire(shown: ComplexOrder, impact: BuyingPowerImpact, dialect: Dialect) -> PlacedOrderResponseWire:
    """Return a placed-order response without messages."""
    return PlacedOrderResponseWire(
        complex_order=shown.wire(dialect),
        warnings=[],
        errors=[],
        notes=[],
        buying_power_effect=impact.wire(),
        fee_calculation=impact.fees.wire(),
    )


def check_complex(
    preflight: Preflight, account: Account, requested: NewComplexOrder, now: float
) -> ComplexPreflightResult:
    """Check a whole complex order. Raise RefusedError for an instrument that is not served."""
    kind = requested.type
    draft = ComplexOrder(
        number=0,
        account=account,
        type=kind,
        comparator=requested.ratio_price_comparator,
        threshold=requested.ratio_price_threshold,
        is_notional=bool(requested.ratio_price_is_threshold_based_on_notional),
    )
    components = list[PreflightResult]()
    if requested.trigger_order is not None:
        components.append(_component(preflight, draft, requested.trigger_order, 0, now, tag_of(kind, trigger=True)))
        draft.trigger = components[0].order
    for number, order in enumerate(requested.orders, start=len(components)):
        components.append(_component(preflight, draft, order, number, now, tag_of(kind)))
        draft.orders.append(components[-1].order)
    return ComplexPreflightResult(draft=draft, components=components, counted=_counted(draft, components))


def _component(
    preflight: Preflight, draft: ComplexOrder, requested: NewOrder, number: int, now: float, tag: str
) -> PreflightResult:
    """Check one component. One that waits for the trigger order is not held against the positions of today."""
    terms = attrs.evolve(Terms.of(requested), preflight_id=str(number))
    legs, problems = preflight.legs(requested.legs, terms, now)
    if problems:
        raise preflight_error(problems)
    order = Order(number=0, account=draft.account, legs=legs, terms=terms)
    order.complex_order, order.tag = draft, tag
    return preflight.check(order, now, deferred=draft.trigger is not None)


def _counted(draft: ComplexOrder, components: Sequence[PreflightResult]) -> list[PreflightResult]:
    first = [result for result in components if result.order is draft.trigger]
    rest = [result for result in components[len(first) :] if not first or result.order.opens]
    if rest and draft.type in EXCLUSIVE:
        rest = [min(rest, key=lambda result: result.impact.change)]
    return first + rest
