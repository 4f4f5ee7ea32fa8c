"""Handlers of ``accounts``: the customer, the accounts, and their trading status."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal
from typing import TypeVar

from ..._generated.converters import (
    AccountWire,
    AddressWire,
    CustomerAccountWire,
    CustomerWire,
    PermittedAccountTypeWire,
    PermittedMarginTypeWire,
    TradingStatusWire,
)
from ..._generated.models import AuthorityLevel
from ...protocol.response import Response
from ..accounts import accounts as books
from ..accounts.day_trades import day_trade_count
from .access import Access
from .parsed_request import ParsedRequest
from .wire import Dialect, dumps, item, items, timestamp

__all__ = ["Accounts", "current_fields"]

T = TypeVar("T")

_DAY = 86400.0
_LEVELS: Mapping[str, str] = {"Margin": "No Restrictions", "Cash": "Covered And Cash Secured"}
_DAY_TRADING = (
    "day_trade_count", "day_trade_excess", "day_trader_status", "day_trading_buying_power", "day_trading_call_value",
    "is_in_day_trade_equity_maintenance_call", "is_pattern_day_trader",
)  # fmt: skip
"""Fields of the rule about pattern day traders."""
_MARGIN_TYPES = (("Cash", False), ("Reg T", True))


def current_fields(wire: T, has: Callable[[str], bool]) -> T:
    """Return a row, without the fields of the retired rule about day traders if they do not arrive any more."""
    if not has("day_trader_fields_still_arrive"):
        for name in _DAY_TRADING:
            if hasattr(wire, name):
                setattr(wire, name, None)
    return wire


class Accounts:
    """Serves the owner's record and accounts, all opened before the simulation starts.

    ``list`` comes last because it hides the builtin within the class.
    """

    def __init__(self, access: Access, dialect: Dialect, opened: float, has: Callable[[str], bool]) -> None:
        self._has = has
        self._access = access
        self._dialect = dialect
        self._opened = opened - 400 * _DAY

    def customer(self, request: ParsedRequest) -> Response:
        """Return the record of the customer, who is invented."""
        self._access.customer(request)
        types = [PermittedMarginTypeWire(name=name, is_margin=margin) for name, margin in _MARGIN_TYPES]
        address = AddressWire(
            city="Springfield", country="USA", is_domestic=True, is_foreign=False, postal_code="12345",
            state_region="IL", street_one="1 Main St",
        )  # fmt: skip
        record = CustomerWire(
            id="me",
            first_name="Simulated",
            last_name="Customer",
            address=address,
            mailing_address=address,
            is_foreign=False,
            usa_citizenship_type="Citizen",
            mobile_phone_number="5550100000",
            birth_date=date(1990, 4, 12),
            email=f"{request.customer.username}@example.com",
            tax_number_type="SSN",
            agreed_to_margining=True,
            subject_to_tax_withholding=False,
            has_industry_affiliation=False,
            has_listed_affiliation=False,
            has_political_affiliation=False,
            has_delayed_quotes=False,
            has_pending_or_approved_application=True,
            is_professional=False,
            permitted_account_types=[
                PermittedAccountTypeWire(
                    name="Individual",
                    description="Account with one owner",
                    is_tax_advantaged=False,
                    has_multiple_owners=False,
                    is_publicly_available=True,
                    margin_types=types,
                )
            ],
            created_at=timestamp(self._opened),
        )
        return item(record, request.context)

    def get(self, request: ParsedRequest) -> Response:
        """Return one account."""
        self._access.customer(request)
        return item(self._account(self._access.account(request)), request.context)

    def trading_status(self, request: ParsedRequest) -> Response:
        """Return the restrictions of an account: those that the simulator enforces."""
        return item(self.status(self._access.account(request), request.now), request.context)

    def status(self, account: books.Account, now: float) -> TradingStatusWire:
        """Return the restrictions of an account as a wire struct."""
        on_margin = account.kind == "Margin"
        wire = TradingStatusWire(
            id=self._dialect.identifier(int(account.number[3:])),
            account_number=account.number,
            are_far_otm_net_options_restricted=False,
            day_trade_count=day_trade_count(account, now),
            equities_margin_calculation_type="Reg T",
            fee_schedule_name="default",
            futures_margin_rate_multiplier=Decimal("1.0"),
            has_intraday_equities_margin=False,
            is_aggregated_at_clearing=False,
            is_closed=False,
            is_closing_only=False,
            is_cryptocurrency_closing_only=False,
            is_cryptocurrency_enabled=True,
            is_equity_offering_closing_only=False,
            is_equity_offering_enabled=False,
            is_frozen=False,
            is_full_equity_margin_required=not on_margin,
            is_futures_closing_only=False,
            is_futures_enabled=True,
            is_futures_intra_day_enabled=False,
            is_in_day_trade_equity_maintenance_call=False,
            is_in_margin_call=False,
            is_pattern_day_trader=False,
            is_risk_reducing_only=False,
            is_roll_the_day_forward_enabled=False,
            is_small_notional_futures_intra_day_enabled=False,
            options_level=_LEVELS[account.kind],
            short_calls_enabled=on_margin,
            small_notional_futures_margin_rate_multiplier=Decimal("1.0"),
            updated_at=timestamp(self._opened),
        )
        return current_fields(wire, self._has)

    def _account(self, account: books.Account) -> AccountWire:
        wire = AccountWire(
            account_number=account.number,
            account_type_name="Individual",
            created_at=timestamp(self._opened),
            day_trader_status=False,
            investment_objective="SPECULATION",
            is_closed=False,
            is_firm_error=False,
            is_firm_proprietary=False,
            is_foreign=False,
            is_futures_approved=True,
            margin_or_cash=account.kind,
            nickname=f"{account.kind} {account.number[-1]}",
            opened_at=timestamp(self._opened),
            suitable_options_level=_LEVELS[account.kind],
        )
        return current_fields(wire, self._has)

    def list(self, request: ParsedRequest) -> Response:
        """Return every account of the customer, all owned."""
        rows = (
            CustomerAccountWire(account=self._account(account), authority_level=AuthorityLevel.OWNER)
            for account in self._access.customer(request)
        )
        return items(map(dumps, rows), request.context)
