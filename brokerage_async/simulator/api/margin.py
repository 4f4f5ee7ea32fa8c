"""Handlers of ``margin`` and ``risk``: requirements, dry-runs, position limits and SPAN files."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import attrs

from ..._generated import converters as wires
from ..._generated.models import InstrumentCollection, MarginOrder
from ..market.calendar import CALENDARS
from ..trading.accounts import UNCOVERED, Account, Holding, amounts, merged
from ..trading.orders import Order, order_wire, terms_of
from ..trading.preflight import LIMITS, preflight_error, quantity_errors
from .request_parser import Handlers, ParsedRequest
from .wire import RefusedError, like, money, same, timestamp


class Margin(Handlers):
    """Reports the figures of the margin calculator."""

    def effective_requirement(self, request: ParsedRequest) -> Any:
        account, symbol = self._account_of(request), request.path["underlying_symbol"]
        if not self._prices.is_known(symbol):
            raise RefusedError.not_found("underlying")
        initial = account.equity_rate
        maintenance = self._calculator.maintenance(initial)
        return wires.EffectiveMarginRequirementWire(
            underlying_symbol=symbol,
            **same(f"{initial:f}", "long_equity_initial", "short_equity_initial"),
            **same(f"{maintenance:f}", "long_equity_maintenance", "short_equity_maintenance"),
            **same(f"{UNCOVERED:f}", "naked_option_standard", "naked_option_minimum"),
            naked_option_floor="0.00",
        )

    def public_configuration(self, request: ParsedRequest) -> Any:
        return wires.MarginConfigurationWire(risk_free_rate=Decimal("0.0425"))

    def requirements(self, request: ParsedRequest) -> Any:
        account, now = self._account_of(request), request.now
        groups = []
        for underlying, holdings in self._calculator.by_underlying(account).items():
            needed = self._calculator.required(account, holdings, now)
            kept = self._calculator.maintenance(needed)
            figures = amounts(margin_requirement=-needed, maintenance_requirement=-kept, buying_power=-needed)
            entries = [
                like(
                    wires.MarginPositionEntryWire,
                    instrument,
                    instrument_symbol=instrument.symbol,
                    quantity=format(position.quantity, "f"),
                    average_open_price=money(position.average_price.quantize(Decimal("0.0001"))),
                    close_price=money(self._prices.price(instrument, now)),
                    fixing_price="NaN",
                    strike_price=money(instrument.strike),
                    expiration_date=instrument.expires,
                )
                for instrument, _ in holdings
                for position in [account.positions[instrument.symbol]]
            ]
            positions = wires.MarginPositionGroupWire(
                description="SPREAD" if len(entries) > 1 else "LONG_UNDERLYING",
                **figures,
                includes_working_order=False,
                position_entries=entries,
            )
            group = wires.MarginGroupWire(
                **same(underlying, "code", "description", "underlying_symbol"),
                underlying_type=holdings[0][0].underlying_type,
                margin_calculation_type="Reg T",
                **figures,
                **amounts(initial_requirement=-needed),
                groups=[positions],
                price_increase_percent="0.5",
                price_decrease_percent="-0.5",
            )
            groups.append(group)
        equity, required = self._calculator.equity(account, now), self._calculator.total_required(account, now)
        maintenance = self._calculator.maintenance(required)
        power = self._calculator.buying_power(account, now)
        return wires.MarginRequirementsWire(
            account_number=account.number,
            description="Total",
            margin_calculation_type="Reg T" if account.kind == "Margin" else "Cash",
            option_level="No Restrictions",
            **amounts(
                **same(-required, "margin_requirement", "initial_requirement", "reg_t_margin_requirement"),
                **same(power, "option_buying_power", "reg_t_option_buying_power"),
                maintenance_requirement=-maintenance,
                margin_equity=equity,
                maintenance_excess=equity - maintenance,
            ),
            groups=groups,
            last_state_timestamp=self._dialect.moment(now),
        )

    def dry_run(self, request: ParsedRequest) -> Any:
        """Return the margin before and after an order. Nothing is created."""
        account, now = self._account_of(request), request.now
        requested: MarginOrder = request.body
        if requested.account_number != account.number:
            problem = self._dialect.problem("invalid", "account-number differs from the path", "account-number")
            raise RefusedError.invalid([problem])
        terms = terms_of(requested)
        complete = [
            leg if leg.quantity is not None else attrs.evolve(leg, quantity=leg.remaining_quantity or Decimal(0))
            for leg in requested.legs or ()
        ]
        legs, problems = self._state.preflight.legs(complete, terms, now)
        problems += quantity_errors(legs)
        if problems:
            raise preflight_error(problems)
        draft = Order(number=0, account=account, legs=legs, terms=terms)
        impact = self._state.preflight.impact(draft, now)
        before = self._calculator.by_underlying(account).get(requested.underlying_symbol, [])
        after = merged(before, [(leg.instrument, leg.signed) for leg in legs])
        base = self._result(account, requested, before, now)
        return wires.MarginDryRunWire(
            orders=[order_wire(draft, self._dialect)] if legs else [],
            last_results=base,
            base_results=base,
            new_order_results=self._result(account, requested, after, now),
            **impact.comparison(),
            is_spread=impact.is_spread,
        )

    def _result(
        self, account: Account, requested: MarginOrder, holdings: Sequence[Holding], now: float
    ) -> wires.MarginDryRunResultWire:
        underlying = requested.underlying_symbol
        required = self._calculator.required(account, holdings, now)
        kept = self._calculator.maintenance(required)
        working = [order for order in self._state.order_store.of([account]) if not order.is_terminal]
        return wires.MarginDryRunResultWire(
            **same(underlying, "code", "description", "underlying_symbol"),
            underlying_type=requested.underlying_instrument_type,
            underlying_price=money(self._prices.underlying_price(underlying, now)),
            **amounts(margin_requirement=-required, maintenance_requirement=-kept, buying_power_impact=-required),
            group_results=[],
            order_ids=[order.number for order in working if order.underlying == underlying],
            calculated_at=timestamp(now),
            marks={instrument.symbol: money(self._prices.price(instrument, now)) for instrument, _ in holdings},
        )


_EXCHANGES = {"CME": InstrumentCollection.CME, "CFE": InstrumentCollection.CFE}
_WIDTH = 80


class Risk(Handlers):
    """Serves the limits that orders are held against, and margin files made from the simulated prices."""

    def position_limit(self, request: ParsedRequest) -> Any:
        return wires.PositionLimitWire(
            account_number=self._account_of(request).number,
            **{
                f"{kind.name.lower()}_{what}_size": size
                for kind, limit in LIMITS.items()
                for what, size in attrs.asdict(limit).items()
            },
        )

    def span_rows(self, request: ParsedRequest) -> Any:
        """Return a page of the file of one day. A day without a finished session has none."""
        exchange, day = request.query["exchange"], request.query["date"]
        if exchange not in _EXCHANGES:
            raise RefusedError.invalid([request.problem("exchange", "exchange must be CME or CFE")])
        session = CALENDARS[_EXCHANGES[exchange]].session(day)
        lines = []  # a header, then the settlement price of every future
        if session and session.close <= request.now:
            lines.append(f"0 {exchange:<6}{day:%Y%m%d}S".ljust(_WIDTH))
            for contract in self._catalogue.futures(day).definitions:
                product = contract.product
                if product.exchange == exchange and contract.expires >= day:
                    price = self._prices.underlying_price(contract.symbol, session.close)
                    month = f"{contract.year}{contract.month:02d}"
                    line = f"82{exchange:<6}{product.code:<10}{product.code:<10}FUT{month}{price:>20f}"
                    lines.append(line.ljust(_WIDTH))
        return request.page(
            range(len(lines)),
            lambda row: wires.SpanRowWire(file_date=day, row_index=row, exchange=exchange, row_data=lines[row]),
        )
