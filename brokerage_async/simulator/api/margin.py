"""Handlers of ``margin``: the requirements report and dry-runs.

The arithmetic is in ``accounts``.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import attrs

from ..._generated.converters import (
    EffectiveMarginRequirementWire,
    MarginConfigurationWire,
    MarginDryRunResultWire,
    MarginDryRunWire,
    MarginGroupWire,
    MarginPositionEntryWire,
    MarginPositionGroupWire,
    MarginRequirementsWire,
)
from ..._generated.models import MarginOrder, MarginOrderLeg
from ...protocol.response import Response
from ..accounts.accounts import Account
from ..accounts.margin_calculator import UNCOVERED, BuyingPowerImpact, Holding, MarginCalculator, merged
from ..market.instrument import Instrument
from ..market.prices import Prices
from ..trading.fees import Fees, amounts, fees_of
from ..trading.order_store import OrderStore
from ..trading.orders import Leg, Order, Terms
from ..trading.preflight import Preflight, preflight_error, quantity_errors
from .access import Access
from .order_wires import order_wire
from .parsed_request import ParsedRequest
from .wire import Dialect, RefusedError, item, money, timestamp

__all__ = ["Margin"]


class Margin:
    """Reports the figures of the margin calculator."""

    def __init__(
        self,
        access: Access,
        calculator: MarginCalculator,
        preflight: Preflight,
        prices: Prices,
        order_store: OrderStore,
        dialect: Dialect,
    ) -> None:
        self._access = access
        self._calculator = calculator
        self._preflight = preflight
        self._prices = prices
        self._order_store = order_store
        self._dialect = dialect

    def effective_requirement(self, request: ParsedRequest) -> Response:
        """Return the rules of the margin calculator for an underlying, as fractions."""
        account, symbol = self._access.account(request), request.path["underlying_symbol"]
        if not self._prices.is_known(symbol):
            raise RefusedError.not_found("underlying")
        initial = account.equity_rate
        maintenance = self._calculator.maintenance(initial)
        requirement = EffectiveMarginRequirementWire(
            underlying_symbol=symbol,
            long_equity_initial=f"{initial:f}",
            long_equity_maintenance=f"{maintenance:f}",
            short_equity_initial=f"{initial:f}",
            short_equity_maintenance=f"{maintenance:f}",
            naked_option_standard=f"{UNCOVERED:f}",
            naked_option_minimum=f"{UNCOVERED:f}",
            naked_option_floor="0.00",
        )
        return item(requirement, request.context)

    def public_configuration(self, request: ParsedRequest) -> Response:
        """Return the rate without risk, which the simulated prices do not use."""
        return item(MarginConfigurationWire(risk_free_rate=Decimal("0.0425")), request.context)

    def requirements(self, request: ParsedRequest) -> Response:
        """Return the requirements of an account, in total and per underlying."""
        account, now = self._access.account(request), request.now
        held = self._calculator.by_underlying(account)
        groups = [self._group(account, underlying, holdings, now) for underlying, holdings in held.items()]
        equity, required = (
            self._calculator.equity(account, now),
            self._calculator.total_required(account, now),
        )
        maintenance = self._calculator.maintenance(required)
        power = self._calculator.buying_power(account, now)
        report = MarginRequirementsWire(
            account_number=account.number,
            description="Total",
            margin_calculation_type="Reg T" if account.kind == "Margin" else "Cash",
            option_level="No Restrictions",
            **amounts(
                margin_requirement=-required,
                initial_requirement=-required,
                maintenance_requirement=-maintenance,
                margin_equity=equity,
                option_buying_power=power,
                reg_t_margin_requirement=-required,
                reg_t_option_buying_power=power,
                maintenance_excess=equity - maintenance,
            ),
            groups=groups,
            last_state_timestamp=self._dialect.moment(now),
        )
        return item(report, request.context)

    def dry_run(self, request: ParsedRequest) -> Response:
        """Return the margin before and after an order; nothing is created."""
        account, now = self._access.account(request), request.now
        requested: MarginOrder = request.body
        if requested.account_number != account.number:
            problem = self._dialect.problem("invalid", "account-number differs from the path", "account-number")
            raise RefusedError.invalid([problem])
        terms = Terms.of(requested)
        legs = self._legs(requested.legs or (), terms, now)
        impact = self._impact(account, legs, terms, now)
        before = self._calculator.by_underlying(account).get(requested.underlying_symbol, [])
        after = merged(before, [(leg.instrument, leg.signed) for leg in legs])
        base = self._result(account, requested, before, now)
        draft = [Order(number=0, account=account, legs=legs, terms=terms)] if legs else []
        report = MarginDryRunWire(
            orders=[order_wire(order, self._dialect) for order in draft],
            last_results=base,
            base_results=base,
            new_order_results=self._result(account, requested, after, now),
            **impact.comparison(),
            is_spread=impact.is_spread,
        )
        return item(report, request.context)

    def _legs(self, requested: Sequence[MarginOrderLeg], terms: Terms, now: float) -> list[Leg]:
        complete = [
            leg if leg.quantity is not None else attrs.evolve(leg, quantity=leg.remaining_quantity or Decimal(0))
            for leg in requested
        ]
        legs, problems = self._preflight.legs(complete, terms, now)
        problems += quantity_errors(legs)
        if problems:
            raise preflight_error(problems)
        return legs

    def _impact(self, account: Account, legs: Sequence[Leg], terms: Terms, now: float) -> BuyingPowerImpact:
        if not legs:
            current, nothing = self._calculator.buying_power(account, now), Decimal(0)
            return BuyingPowerImpact(
                current=current, margin_change=nothing, isolated=nothing, fees=Fees(), is_spread=False
            )
        agreed: dict[str, Decimal] = {}
        if len(legs) == 1 and terms.price is not None:
            agreed[legs[0].instrument.symbol] = terms.price
        price_of = self._calculator.pricer(now, agreed)
        fees = Fees()
        for leg in legs:
            fees += fees_of(leg.instrument, leg.action, leg.quantity, price_of(leg.instrument))
        return self._calculator.impact(account, [(leg.instrument, leg.signed) for leg in legs], fees, agreed, now)

    def _result(
        self, account: Account, requested: MarginOrder, holdings: Sequence[Holding], now: float
    ) -> MarginDryRunResultWire:
        """Return the margin of all holdings on the underlying of a margin order."""
        underlying = requested.underlying_symbol
        price_of = self._calculator.pricer(now)
        required = self._calculator.required(account, holdings, underlying, price_of, now)
        working = [order for order in self._order_store.of([account]) if not order.is_terminal]
        return MarginDryRunResultWire(
            code=underlying,
            description=underlying,
            underlying_symbol=underlying,
            underlying_type=requested.underlying_instrument_type,
            underlying_price=money(self._prices.underlying_price(underlying, now)),
            **amounts(
                margin_requirement=-required,
                maintenance_requirement=-self._calculator.maintenance(required),
                buying_power_impact=-required,
            ),
            group_results=[],
            order_ids=[order.number for order in working if order.underlying == underlying],
            calculated_at=timestamp(now),
            marks={instrument.symbol: money(price_of(instrument)) for instrument, _ in holdings},
        )

    def _group(self, account: Account, underlying: str, holdings: Sequence[Holding], now: float) -> MarginGroupWire:
        required = self._calculator.required(account, holdings, underlying, self._calculator.pricer(now), now)
        figures = amounts(
            margin_requirement=-required,
            maintenance_requirement=-self._calculator.maintenance(required),
            buying_power=-required,
        )
        entries = [self._entry(account, instrument, now) for instrument, _ in holdings]
        positions = MarginPositionGroupWire(
            description="SPREAD" if len(entries) > 1 else "LONG_UNDERLYING",
            **figures,
            includes_working_order=False,
            position_entries=entries,
        )
        return MarginGroupWire(
            description=underlying,
            code=underlying,
            underlying_symbol=underlying,
            underlying_type=holdings[0][0].underlying_type,
            margin_calculation_type="Reg T",
            **figures,
            **amounts(initial_requirement=-required),
            groups=[positions],
            price_increase_percent="0.5",
            price_decrease_percent="-0.5",
        )

    def _entry(self, account: Account, instrument: Instrument, now: float) -> MarginPositionEntryWire:
        position = account.positions[instrument.symbol]
        return MarginPositionEntryWire(
            instrument_symbol=instrument.symbol,
            instrument_type=instrument.instrument_type,
            quantity=format(position.quantity, "f"),
            average_open_price=money(position.average_price.quantize(Decimal("0.0001"))),
            close_price=money(self._prices.price(instrument, now)),
            fixing_price="NaN",
            strike_price=money(instrument.strike),
            option_type=instrument.option_type,
            expiration_date=instrument.expires,
        )
