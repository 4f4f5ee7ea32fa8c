"""Customers, their accounts, and the restrictions of an account."""

import datetime as dt
from decimal import Decimal

from tests.vectors.exchange import ACCOUNT, Exchange

EXCHANGES = (
    Exchange(
        name="the own record as the sandbox sends it, with underscores in the account types",
        operation="accounts.customer",
        arguments=("me",),
        target="/customers/me",
        answer="""
        {
          "data": {
            "id": "me",
            "first-name": "Ada",
            "last-name": "Example",
            "address": {"city": "Springfield", "country": "USA", "is-domestic": true, "is-foreign": "false",
                        "postal-code": "12345", "state-region": "IL", "street-one": "1 Main St"},
            "is-foreign": false,
            "usa-citizenship-type": "Citizen",
            "mobile-phone-number": "",
            "birth-date": "1990-04-12",
            "email": "ada@example.com",
            "tax-number-type": "SSN",
            "agreed-to-margining": true,
            "has-delayed-quotes": true,
            "has-pending-or-approved-application": "true",
            "is-professional": false,
            "permitted-account-types": [
              {"name": "Individual", "description": "Single owner", "is_tax_advantaged": false,
               "has_multiple_owners": false, "is_publicly_available": true,
               "margin_types": [{"name": "Cash", "is_margin": false}, {"name": "Reg T", "is_margin": true}]}
            ],
            "created-at": "2026-02-03T14:05:06.789+00:00"
          },
          "context": "/customers/me"
        }
        """,
        facts={
            "id": "me",
            "first_name": "Ada",
            "address.city": "Springfield",
            "address.is_foreign": False,
            "birth_date": dt.date(1990, 4, 12),
            "mobile_phone_number": "",
            "has_pending_or_approved_application": True,
            "permitted_account_types.#": 1,
            "permitted_account_types[0].has_multiple_owners": False,
            "permitted_account_types[0].margin_types[1].name": "Reg T",
            "permitted_account_types[0].margin_types[1].is_margin": True,
            "person": None,
        },
    ),
    Exchange(
        name="a record of production, with suitability, person and dashes throughout",
        operation="accounts.customer",
        arguments=(7654321,),
        target="/customers/7654321",
        answer="""
        {
          "data": {
            "id": "me",
            "external-id": "C0000012345",
            "customer-suitability": {"id": 77, "annual-net-income": 90000, "net-worth": 250000,
                                     "liquid-net-worth": 40000,
                                     "employment-status": "EMPLOYED", "number-of-dependents": 2,
                                     "stock-trading-experience": "EXTENSIVE"},
            "tax-number": "*****6789",
            "has-institutional-assets": "false",
            "identifiable-type": "Person",
            "person": {"first-name": "Ada", "birth-date": "1990-04-12", "number-of-dependents": "2"},
            "permitted-account-types": [{"name": "Roth IRA", "is-tax-advantaged": true,
                                         "margin-types": [{"name": "IRA Margin", "is-margin": true}]}]
          },
          "context": "/customers/me"
        }
        """,
        facts={
            "customer_suitability.id": "77",
            "customer_suitability.annual_net_income": Decimal(90000),
            "customer_suitability.number_of_dependents": 2,
            "has_institutional_assets": False,
            "person.number_of_dependents": 2,
            "person.birth_date": dt.date(1990, 4, 12),
            "permitted_account_types[0].is_tax_advantaged": True,
            "permitted_account_types[0].margin_types[0].is_margin": True,
        },
    ),
    Exchange(
        name="each account with the authority over it, closed ones included",
        operation="accounts.list",
        arguments=("me",),
        target="/customers/me/accounts",
        answer="""
        {
          "data": {
            "items": [
              {
                "account": {
                  "account-number": "5WX12345", "account-type-name": "Individual",
                  "created-at": "2026-02-03T14:05:06.789+00:00", "day-trader-status": false,
                  "investment-objective": "GROWTH", "is-closed": false, "is-firm-error": false,
                  "is-firm-proprietary": false, "is-foreign": false, "is-futures-approved": true,
                  "margin-or-cash": "Margin", "nickname": "Main", "opened-at": "2026-02-03T14:05:06.789+00:00",
                  "suitable-options-level": "No Restrictions"
                },
                "authority-level": "owner"
              },
              {"account": {"account-number": "5WX99999", "day-trader-status": "false", "is-foreign": "true",
                           "is-closed": true, "closed-at": "2026-03-01T00:00:00Z", "is-test-drive": false},
               "authority-level": "trade-only"}
            ]
          },
          "context": "/customers/me/accounts"
        }
        """,
        facts={
            "#": 2,
            "[0].account.account_number": "5WX12345",
            "[0].account.opened_at": dt.datetime(2026, 2, 3, 14, 5, 6, 789000, tzinfo=dt.UTC),
            "[0].authority_level": "owner",
            "[0].authority_level.is_known": True,
            "[1].account.is_closed": True,
            "[1].account.is_foreign": True,
            "[1].account.day_trader_status": False,
            "[1].authority_level": "trade-only",
        },
    ),
    Exchange(
        name="one account, without the authority around it",
        operation="accounts.get",
        arguments=("me", ACCOUNT),
        target="/customers/me/accounts/5WT00001",
        answer="""
        {
          "data": {"account-number": "5WT00001", "external-id": "A0000123456", "funding-date": "2026-02-04",
                   "futures-account-purpose": "SPECULATING", "margin-or-cash": "Cash", "submitting-user-id": 44},
          "context": "/customers/me/accounts/5WT00001"
        }
        """,
        facts={
            "account_number": "5WT00001",
            "funding_date": dt.date(2026, 2, 4),
            "margin_or_cash": "Cash",
            "submitting_user_id": "44",
            "is_closed": None,
        },
    ),
    Exchange(
        name="what the account may do",
        operation="accounts.trading_status",
        arguments=(ACCOUNT,),
        target="/accounts/5WT00001/trading-status",
        answer="""
        {
          "data": {
            "account-number": "5WT00001", "day-trade-count": 1, "equities-margin-calculation-type": "Reg T",
            "fee-schedule-name": "default", "futures-margin-rate-multiplier": "0.0", "id": 4711, "is-closed": false,
            "is-closing-only": false, "is-frozen": false, "is-futures-enabled": true, "is-in-margin-call": false,
            "is-pattern-day-trader": false, "options-level": "No Restrictions", "short-calls-enabled": true,
            "small-notional-futures-margin-rate-multiplier": 0.5, "updated-at": "2026-03-02T15:04:05.678+00:00"
          },
          "context": "/accounts/5WT00001/trading-status"
        }
        """,
        facts={
            "id": "4711",
            "day_trade_count": 1,
            "futures_margin_rate_multiplier": Decimal("0.0"),
            "small_notional_futures_margin_rate_multiplier": Decimal("0.5"),
            "is_frozen": False,
            "is_risk_reducing_only": None,
            "pdt_reset_on": None,
            "updated_at": dt.datetime(2026, 3, 2, 15, 4, 5, 678000, tzinfo=dt.UTC),
        },
    ),
)
