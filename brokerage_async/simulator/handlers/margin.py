"""``margin``: the requirements report, and what an order would change in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from ...protocol.response import Response
from ..accounts import Account
from ..blotter import Blotter
from ..call import Call
from ..fees import Fees, effect, fees_of
from ..instrument import Instrument
from ..margin import Holding, Impact, MarginDesk
from ..market import Market
from ..orders import Leg, Order, Terms
from ..preflight import Preflight, refusal_entries, terms_of
from ..wire import Dialect, RefusedError, dumps, item, money, timestamp
from .access import Access

__all__ = ["Margin"]


def _amounts(**amounts: Decimal) -> dict[str, str]:
    """Amounts without sign, each with its effect: money held or gained is a credit, money required a debit."""
    fields: dict[str, str] = {}
    for name, amount in amounts.items():
        wire = name.replace("_", "-")
        fields[wire] = money(abs(amount))
        fields[f"{wire}-effect"] = effect(-amount)
    return fields


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
        groups = [self._group(account, underlying, now) for underlying in self._desk.by_underlying(account)]
        equity, required = self._desk.equity(account, now), self._desk.total_required(account, now)
        maintenance = self._desk.maintenance(required)
        power = self._desk.buying_power(account, now)
        report = {
            "account-number": account.number,
            "description": "Total",
            "margin-calculation-type": "Reg T" if account.kind == "Margin" else "Cash",
            "option-level": "No Restrictions",
            **_amounts(
                margin_requirement=-required,
                initial_requirement=-required,
                maintenance_requirement=-maintenance,
                margin_equity=equity,
                option_buying_power=power,
                reg_t_margin_requirement=-required,
                reg_t_option_buying_power=power,
                maintenance_excess=equity - maintenance,
            ),
            "groups": groups,
            "last-state-timestamp": self._dialect.moment(now),
        }
        return item(dumps(report), call.context)

    def dry_run(self, call: Call) -> Response:
        """Margin before and after an order; nothing is created."""
        account, now, body = self._access.account(call), call.now, call.body
        if body["account-number"] != account.number:
            problem = self._dialect.problem("invalid", "account-number differs from the path", "account-number")
            raise RefusedError.invalid([problem])
        terms = terms_of(body)
        legs = self._legs(body.get("legs") or (), terms, now)
        impact = self._impact(account, legs, terms, now)
        underlying = body["underlying-symbol"]
        before = self._desk.by_underlying(account).get(underlying, [])
        after = [*before, *((leg.instrument, leg.signed) for leg in legs)]
        draft = [Order(number=0, account=account, legs=legs, terms=terms).wire(self._dialect)] if legs else []
        report = {
            "orders": draft,
            "last-results": self._result(account, body, before, now),
            "base-results": self._result(account, body, before, now),
            "new-order-results": self._result(account, body, after, now),
            **impact.comparison(),
            **_amounts(isolated_order_margin_requirement=-impact.isolated),
            "is-spread": impact.is_spread,
        }
        return item(report, call.context)

    def _legs(self, asked: Sequence[Mapping[str, Any]], terms: Terms, now: float) -> list[Leg]:
        complete = [
            leg if leg.get("quantity") else {**leg, "quantity": leg.get("remaining-quantity", "0")} for leg in asked
        ]
        legs, problems = self._preflight.legs(complete, terms, now)
        if problems:
            entries = refusal_entries(problems)
            raise RefusedError(422, "preflight_check_failure", "One or more preflight checks failed", errors=entries)
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
        self, account: Account, body: Mapping[str, Any], holdings: Sequence[Holding], now: float
    ) -> dict[str, Any]:
        """Margin of all holdings on the underlying of a margin order."""
        underlying = body["underlying-symbol"]
        price_of = self._desk.pricer(now)
        required = self._desk.required(account, holdings, underlying, price_of, now)
        working = [order for order in self._blotter.of([account]) if not order.is_terminal]
        return {
            "code": underlying,
            "description": underlying,
            "underlying-symbol": underlying,
            "underlying-type": body["underlying-instrument-type"],
            "underlying-price": money(self._market.underlying_price(underlying, now)),
            **_amounts(
                margin_requirement=-required,
                maintenance_requirement=-self._desk.maintenance(required),
                buying_power_impact=-required,
            ),
            "group-results": [],
            "order-ids": [order.number for order in working if order.underlying == underlying],
            "calculated-at": timestamp(now),
            "marks": {instrument.symbol: money(price_of(instrument)) for instrument, _ in holdings},
        }

    def _group(self, account: Account, underlying: str, now: float) -> dict[str, Any]:
        holdings = self._desk.by_underlying(account)[underlying]
        required = self._desk.required(account, holdings, underlying, self._desk.pricer(now), now)
        figures = _amounts(
            margin_requirement=-required,
            maintenance_requirement=-self._desk.maintenance(required),
            buying_power=-required,
        )
        entries = [self._entry(account, instrument, now) for instrument, _ in holdings]
        return {
            "description": underlying,
            "code": underlying,
            "underlying-symbol": underlying,
            "underlying-type": holdings[0][0].underlying_type,
            "margin-calculation-type": "Reg T",
            **figures,
            **_amounts(initial_requirement=-required),
            "groups": [
                {
                    "description": "SPREAD" if len(entries) > 1 else "LONG_UNDERLYING",
                    **figures,
                    "includes-working-order": False,
                    "position-entries": entries,
                }
            ],
            "price-increase-percent": "0.5",
            "price-decrease-percent": "-0.5",
        }

    def _entry(self, account: Account, instrument: Instrument, now: float) -> dict[str, Any]:
        position = account.positions[instrument.symbol]
        fields: dict[str, Any] = {
            "instrument-symbol": instrument.symbol,
            "instrument-type": instrument.instrument_type,
            "quantity": format(position.quantity, "f"),
            "average-open-price": money(position.average_price.quantize(Decimal("0.0001"))),
            "close-price": money(self._market.price(instrument, now)),
            "fixing-price": "NaN",
        }
        if instrument.strike is not None and instrument.expires is not None:
            fields["strike-price"] = money(instrument.strike)
            fields["option-type"] = instrument.option_type
            fields["expiration-date"] = instrument.expires.isoformat()
        return fields
