"""Refusals: every documented status and code, and the other bodies that errors have been seen with."""

import datetime as dt
from decimal import Decimal

from brokerage_async._generated.models import OrderEditDryRun
from tests.vectors.exchange import ACCOUNT, CUSTOMER, Exchange
from tests.vectors.orders import EDIT, EDIT_SENT, STOCK, STOCK_SENT
from tests.vectors.tokens import EXCHANGES as TOKENS

HTML = {"content-type": "text/html; charset=utf-8"}

EXCHANGES = (
    Exchange(
        name="a malformed page value",
        operation="orders.search",
        arguments=(CUSTOMER, [ACCOUNT]),
        options={"page_offset": -1},
        target="/customers/7654321/orders?account-numbers[]=5WT00001&page-offset=-1&start-date=2000-01-01",
        status=400,
        answer="""
        {
          "error": {
            "code": "validation_error",
            "message": "Request validation failed",
            "errors": [{"domain": "page-offset", "reason": "must be greater than or equal to 0"}]
          }
        }
        """,
        error="BadRequestError",
        unsent="page-offset",
        facts={
            "code": "validation_error",
            "errors.#": 1,
            "errors[0].domain": "page-offset",
            "errors[0].message": "must be greater than or equal to 0",
        },
        observed=True,
    ),
    Exchange(
        name="an expired token",
        operation="watchlists.list",
        target="/watchlists",
        status=401,
        answer='{"error":{"code":"unauthorized","message":"The access token has expired"}}',
        error="AuthenticationError",
        facts={"code": "unauthorized", "status": 401, "errors": ()},
    ),
    Exchange(
        name="a token that is not one",
        operation="quote_alerts.list",
        target="/quote-alerts",
        status=401,
        answer='{"error":{"code":"token_invalid","message":"This token is invalid or has expired"}}',
        error="AuthenticationError",
        facts={"code": "token_invalid"},
        observed=True,
    ),
    Exchange(
        name="a page from in front of the service: no User-Agent",
        operation="market_time.equity_holidays",
        target="/market-time/equities/holidays",
        status=401,
        headers=HTML,
        answer="<html>\r\n<head><title>401 Authorization Required</title></head>\r\n<body>nginx</body>\r\n</html>",
        error="AuthenticationError",
        facts={"code": None, "status": 401},
        observed=True,
    ),
    Exchange(
        name="the account of another customer",
        operation="transactions.list",
        arguments=("5WT99999",),
        options={"page_offset": 0},
        target="/accounts/5WT99999/transactions?page-offset=0",
        status=403,
        answer='{"error":{"code":"not_permitted","message":"User not permitted access"}}',
        error="PermissionDeniedError",
        facts={"code": "not_permitted", "operation": "transactions.list", "method": "GET"},
    ),
    Exchange(
        name="a scope that does not cover placing orders",
        operation="orders.submit",
        arguments=(ACCOUNT, STOCK),
        method="POST",
        target="/accounts/5WT00001/orders",
        sent=STOCK_SENT,
        status=403,
        answer='{"error":{"code":"not_permitted","message":"Missing scope: trade"}}',
        error="PermissionDeniedError",
        facts={"code": "not_permitted"},
    ),
    Exchange(
        name="no such chain",
        operation="instruments.futures_option_chain",
        arguments=("NOPE",),
        target="/futures-option-chains/NOPE",
        status=404,
        answer='{"error":{"code":"record_not_found","message":"Couldn\'t find Future Product"}}',
        error="NotFoundError",
        facts={"code": "record_not_found", "path": "/futures-option-chains/{symbol}"},
    ),
    Exchange(
        name="no such order",
        operation="orders.edit_dry_run",
        arguments=(ACCOUNT, 1, OrderEditDryRun.of(EDIT)),
        method="POST",
        target="/accounts/5WT00001/orders/1/dry-run",
        sent=EDIT_SENT,
        status=404,
        answer='{"error":{"code":"record_not_found","message":"Order not found"}}',
        error="NotFoundError",
        facts={"code": "record_not_found"},
    ),
    Exchange(
        name="a version that does not exist any more; its code is an integer",
        operation="market_time.equity_holidays",
        target="/market-time/equities/holidays",
        status=406,
        answer='{"error":{"code":406,"message":"Version 20200101 is no longer supported"}}',
        error="VersionNotSupportedError",
        facts={"code": "406", "status": 406},
        observed=True,
    ),
    Exchange(
        name="a missing parameter",
        operation="market_time.current_sessions",
        arguments=(["Nowhere"],),
        target="/market-time/sessions/current?instrument-collections[]=Nowhere",
        status=422,
        answer="""
        {
          "error": {
            "code": "validation_error",
            "message": "Request validation failed",
            "errors": [
              {"code": "inclusion", "message": "is not included in the list", "domain": "instrument-collections"}
            ]
          }
        }
        """,
        error="UnprocessableError",
        facts={
            "code": "validation_error",
            "errors[0].code": "inclusion",
            "errors[0].message": "is not included in the list",
            "errors[0].domain": "instrument-collections",
            "data": None,
        },
    ),
    Exchange(
        name="a range of more than nine months, by a service that counts differently",
        operation="market_time.sessions",
        arguments=(dt.date(2027, 2, 28),),
        options={"from_date": dt.date(2026, 5, 31)},
        target="/market-time/sessions?to-date=2027-02-28&from-date=2026-05-31",
        status=422,
        answer='{"error":{"code":"validation_error","message":"Date range must not exceed 9 months"}}',
        error="UnprocessableError",
        facts={"code": "validation_error", "errors": ()},
    ),
    Exchange(
        name="an order that fails its checks, one entry per problem",
        operation="orders.dry_run",
        arguments=(ACCOUNT, STOCK),
        method="POST",
        target="/accounts/5WT00001/orders/dry-run",
        sent=STOCK_SENT,
        status=422,
        answer="""
        {
          "error": {
            "code": "preflight_check_failure",
            "message": "One or more preflight checks failed",
            "errors": [
              {"code": "margin_check_failed", "message": "Account does not have sufficient buying power"},
              {"code": "cant_buy_for_credit", "message": "You cannot buy for a credit"}
            ]
          }
        }
        """,
        error="PreflightError",
        facts={
            "code": "preflight_check_failure",
            "errors.#": 2,
            "errors[0].code": "margin_check_failed",
            "errors[1].message": "You cannot buy for a credit",
            "data": None,
        },
    ),
    Exchange(
        name="data and error in one body",
        operation="orders.dry_run",
        arguments=(ACCOUNT, STOCK),
        method="POST",
        target="/accounts/5WT00001/orders/dry-run",
        sent=STOCK_SENT,
        status=422,
        answer="""
        {
          "data": {
            "order": {"status": "Received", "price": "401.05", "updated-at": 0},
            "buying-power-effect": {"impact": "4010.51", "effect": "Debit"},
            "errors": [{"code": "margin_check_failed", "message": "Not enough", "preflight-id": "pf"}]
          },
          "context": "/accounts/5WT00001/orders/dry-run",
          "error": {
            "code": "preflight_check_failure",
            "message": "One or more preflight checks failed",
            "errors": [{"code": "margin_check_failed", "message": "Not enough", "preflight-id": "pf"}]
          }
        }
        """,
        error="PreflightError",
        facts={
            "code": "preflight_check_failure",
            "errors[0].code": "margin_check_failed",
            "data.order.price": Decimal("401.05"),
            "data.buying_power_effect.impact": Decimal("4010.51"),
            "data.errors[0].preflight_id": "pf",
        },
        observed=True,
    ),
    Exchange(
        name="a terminal order cannot be cancelled",
        operation="orders.cancel",
        arguments=(ACCOUNT, 54758826),
        method="DELETE",
        target="/accounts/5WT00001/orders/54758826",
        status=422,
        answer='{"error":{"code":"cannot_update_order","message":"This order cannot be updated"}}',
        error="OrderNotCancellableError",
        facts={"code": "cannot_update_order", "status": 422, "attempts": 1},
    ),
    Exchange(
        name="no PAIRS order",
        operation="complex_orders.edit_pairs",
        arguments=(ACCOUNT, 310),
        options={"ratio_price_comparator": "gte"},
        method="PATCH",
        target="/accounts/5WT00001/complex-orders/310",
        sent='{"ratio-price-comparator": "gte"}',
        status=422,
        answer='{"error":{"code":"cannot_update_order","message":"Only PAIRS orders can be edited"}}',
        error="OrderNotCancellableError",
        facts={"code": "cannot_update_order"},
    ),
    Exchange(
        name="too many requests, no headers at all",
        operation="instruments.warrant",
        arguments=("EXMWS",),
        target="/instruments/warrants/EXMWS",
        status=429,
        headers={},
        error="RateLimitError",
        facts={"code": None, "retry_after": None},
    ),
    Exchange(
        name="too many requests, with a time to wait",
        operation="instruments.warrant",
        arguments=("EXMWS",),
        target="/instruments/warrants/EXMWS",
        status=429,
        headers={"content-type": "application/json", "retry-after": "3"},
        answer='{"error":{"code":"too_many_requests","message":"Slow down"}}',
        error="RateLimitError",
        facts={"code": "too_many_requests", "retry_after": 3.0},
    ),
    Exchange(
        name="something broke",
        operation="margin.requirements",
        arguments=(ACCOUNT,),
        target="/margin/accounts/5WT00001/requirements",
        status=500,
        answer='{"error":{"code":"internal_server_error","message":"Sorry, something went wrong"}}',
        error="ServerError",
        facts={"code": "internal_server_error"},
        observed=True,
    ),
    Exchange(
        name="a proxy that could not reach the service",
        operation="market_metrics.dividends",
        arguments=("MSFT",),
        target="/market-metrics/historic-corporate-events/dividends/MSFT",
        status=502,
        headers=HTML,
        answer="<html><head><title>502 Bad Gateway</title></head></html>",
        error="ServerError",
        facts={"code": None, "status": 502},
        observed=True,
    ),
    Exchange(
        name="a proxy that gave up waiting, empty",
        operation="orders.submit",
        arguments=(ACCOUNT, STOCK),
        method="POST",
        target="/accounts/5WT00001/orders",
        sent=STOCK_SENT,
        status=504,
        headers={},
        error="ServerError",
        facts={"code": None, "status": 504},
        observed=True,
    ),
    Exchange(
        name="a service that ran out of time",
        operation="watchlists.list",
        target="/watchlists",
        status=504,
        answer='{"error":{"code":"timeout_error","message":"The request timed out"}}',
        error="ServerError",
        facts={"code": "timeout_error"},
        observed=True,
    ),
    Exchange(
        name="a revoked grant, flat",
        operation="oauth.token",
        arguments=TOKENS[0].arguments,
        method="POST",
        target="/oauth/token",
        sent=TOKENS[0].sent,
        status=400,
        answer='{"error_code":"invalid_grant","error_description":"Grant revoked"}',
        error="BadRequestError",
        facts={"code": "invalid_grant"},
        observed=True,
    ),
    Exchange(
        name="the same with the names of RFC 6749",
        operation="oauth.token",
        arguments=TOKENS[0].arguments,
        method="POST",
        target="/oauth/token",
        sent=TOKENS[0].sent,
        status=401,
        answer='{"error":"invalid_client","error_description":"Unknown client"}',
        error="AuthenticationError",
        facts={"code": "invalid_client"},
        observed=True,
    ),
)
