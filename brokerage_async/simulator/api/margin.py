"""``margin``: the requirements report, and what an order would change in it."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import attrs

from ..._generated.converters import (
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
from ..accounts.margin import Holding, Impact, MarginDesk, merged
from ..market.instrument import Instrument
from ..market.market import Market
from ..trading.fees import Fees, amounts, fees_of
from ..trading.order_store import Blotter
from ..trading.orders import Leg, Order, Terms
from ..trading.preflight import Preflight, failed_preflight, quantity_errors
from .access import Access
from .call import Call
from .order_wires import order_wire
from .wire import Dialect, RefusedError, item, money, timestamp

__all__ = ["Margin"]


class Margin:
    """Answers with figures of the margin desk."""

    def __init__(
        self, access: Access, desk: MarginDesk, preflight: Preflight, market: Market, blotter: Blotter, dialect: Dialect
    ) -> None:
        self._access = access
        self._desk = desk
        self._preflight = preflight
        self._market = market
        self._blotter = blotter
        self._dialect = dialect

    def requirements(self, call: Call) -> Response:
        """What the account must hold, in all and per underlying."""
        account, now = self._access.account(call), call.now
        held = self._desk.by_underlying(account)
        groups = [self._group(account, underlying, holdings, now) for underlying, holdings in held.items()]
        equity, required = self._desk.equity(account, now), self._desk.total_required(account, now)
        maintenance = self._desk.maintenance(required)
        power = self._desk.buying_power(account, now)
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
        return item(report, call.context)

    def dry_run(self, call: Call) -> Response:
        """Margin before and after an order; nothing is created."""
        account, now = self._access.account(call), call.now
        asked: MarginOrder = call.body
        if asked.account_number != account.number:
            problem = self._dialect.problem("invalid", "account-number differs from the path", "account-number")
            raise RefusedError.invalid([problem])
        terms = Terms.of(asked)
        legs = self._legs(asked.legs or (), terms, now)
        impact = self._impact(account, legs, terms, now)
        before = self._desk.by_underlying(account).get(asked.underlying_symbol, [])
        after = merged(before, [(leg.instrument, leg.signed) for leg in legs])
        base = self._result(account, asked, before, now)
        draft = [Order(number=0, account=account, legs=legs, terms=terms)] if legs else []
        report = MarginDryRunWire(
            orders=[order_wire(order, self._dialect) for order in draft],
            last_results=base,
            base_results=base,
            new_order_results=self._result(account, asked, after, now),
            **impact.comparison(),
            is_spread=impact.is_spread,
        )
        return item(report, call.context)

    def _legs(self, asked: Sequence[MarginOrderLeg], terms: Terms, now: float) -> list[Leg]:
        complete = [
            leg if leg.quantity is not None else attrs.evolve(leg, quantity=leg.remaining_quantity or Decimal(0))
            for leg in asked
        ]
        legs, problems = self._preflight.legs(complete, terms, now)
        problems += quantity_errors(legs)
        if problems:
            raise failed_preflight(problems)
        return legs

    def _impact(self, account: Account, legs: Sequence[Leg], terms: Terms, now: float) -> Impact:
        if not legs:
            current, nothing = self._desk.buying_power(account, now), Decimal(0)
            return Impact(current=current, margin_change=nothing, isolated=nothing, fees=Fees(), is_spread=False)
        agreed: dict[str, Decimal] = {}
        if len(legs) == 1 and terms.price is not None:
            agreed[legs[0].instrument.symbol] = terms.price
        price_of = self._desk.pricer(now, agreed)
        fees = Fees()
        for leg in legs:
            fees += fees_of(leg.instrument, leg.action, leg.quantity, price_of(leg.instrument))
        return self._desk.impact(account, [(leg.instrument, leg.signed) for leg in legs], fees, agreed, now)

    def _result(
        self, account: Account, asked: MarginOrder, holdings: Sequence[Holding], now: float
    ) -> MarginDryRunResultWire:
        """Margin of all holdings on the underlying of a margin order."""
        underlying = asked.underlying_symbol
        price_of = self._desk.pricer(now)
        required = self._desk.required(account, holdings, underlying, price_of, now)
        working = [order for order in self._blotter.of([account]) if not order.is_terminal]
        return MarginDryRunResultWire(
            code=underlying,
            description=underlying,
            underlying_symbol=underlying,
            underlying_type=asked.underlying_instrument_type,
            underlying_price=money(self._market.underlying_price(underlying, now)),
            **amounts(
                margin_requirement=-required,
                maintenance_requirement=-self._desk.maintenance(required),
                buying_power_impact=-required,
            ),
            group_results=[],
            order_ids=[order.number for order in working if order.underlying == underlying],
            calculated_at=timestamp(now),
            marks={instrument.symbol: money(price_of(instrument)) for instrument, _ in holdings},
        )

    def _group(self, account: Account, underlying: str, holdings: Sequence[Holding], now: float) -> MarginGroupWire:
        required = self._desk.required(account, holdings, underlying, self._desk.pricer(now), now)
        figures = amounts(
            margin_requirement=-required,
            maintenance_requirement=-self._desk.maintenance(required),
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
            close_price=money(self._market.price(instrument, now)),
            fixing_price="NaN",
            strike_price=money(instrument.strike),
            option_type=instrument.option_type,
            expiration_date=instrument.expires,
        )
