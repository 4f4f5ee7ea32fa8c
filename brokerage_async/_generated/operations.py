# Written by `python -m codegen` from schema/; edit the schema and run it again, not this file.
# ruff: noqa: E501
"""Every endpoint of the service as data, by the name under which it is called, and every request body."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from brokerage_async.operation import BodyField, Effect, Operation, Parameter, RequestModel, Rule, Shape

from .models import (
    AdvancedInstructions,
    AlertField,
    AlertOperator,
    Comparator,
    ComplexOrder,
    CurrentMarketSession,
    Dividend,
    EarningsReport,
    Equity,
    EquityOption,
    FutureOption,
    GrantType,
    HolidayCalendar,
    InstrumentCollection,
    InstrumentType,
    LegAction,
    Lendability,
    MarginDryRun,
    MarginOrder,
    MarginOrderLeg,
    MarginRequirements,
    MarketSession,
    NewOrder,
    NewOrderCondition,
    NewOrderLeg,
    NewOrderRules,
    NewPriceComponent,
    NewQuoteAlert,
    NewWatchlist,
    NewWatchlistEntry,
    Order,
    OrderEdit,
    OrderStatus,
    OrderType,
    PairsEdit,
    PlacedOrderResponse,
    PriceEffect,
    QuoteAlert,
    SortOrder,
    TimeInForce,
    TokenRequest,
    TokenResponse,
    Transaction,
    Warrant,
    Watchlist,
)

__all__ = ["OPERATIONS", "REQUEST_MODELS"]

OAUTH_TOKEN: Operation[TokenResponse] = Operation(
    name="oauth.token",
    method="POST",
    path="/oauth/token",
    effect=Effect.READ,
    shape=Shape.BARE,
    result=TokenResponse,
    status=200,
    body=TokenRequest,
    body_required=True,
    section="Token",
)

MARKET_TIME_SESSIONS: Operation[list[MarketSession]] = Operation(
    name="market_time.sessions",
    method="GET",
    path="/market-time/sessions",
    effect=Effect.READ,
    shape=Shape.MANY,
    result=MarketSession,
    status=200,
    scope="read",
    parameters=(
        Parameter(name="to_date", wire="to-date", location="query", kind="date", required=True),
        Parameter(name="from_date", wire="from-date", location="query", kind="date"),
        Parameter(
            name="instrument_collection", wire="instrument-collection", location="query", choices=InstrumentCollection
        ),
    ),
    rules=(
        Rule(
            span=("from-date", "to-date", 9),
            message="from-date to to-date spans more than nine months; ask for a shorter range.",
        ),
    ),
    section="Market time",
)

MARKET_TIME_CURRENT_SESSIONS: Operation[list[CurrentMarketSession]] = Operation(
    name="market_time.current_sessions",
    method="GET",
    path="/market-time/sessions/current",
    effect=Effect.READ,
    shape=Shape.MANY,
    result=CurrentMarketSession,
    status=200,
    scope="read",
    parameters=(
        Parameter(
            name="instrument_collections",
            wire="instrument-collections[]",
            location="query",
            array=True,
            required=True,
            choices=InstrumentCollection,
        ),
    ),
    section="Market time",
)

MARKET_TIME_EQUITY_HOLIDAYS: Operation[HolidayCalendar] = Operation(
    name="market_time.equity_holidays",
    method="GET",
    path="/market-time/equities/holidays",
    effect=Effect.READ,
    shape=Shape.ONE,
    result=HolidayCalendar,
    status=200,
    scope="read",
    section="Market time",
)

MARKET_METRICS_EARNINGS_REPORTS: Operation[list[EarningsReport]] = Operation(
    name="market_metrics.earnings_reports",
    method="GET",
    path="/market-metrics/historic-corporate-events/earnings-reports/{symbol}",
    effect=Effect.READ,
    shape=Shape.MANY,
    result=EarningsReport,
    status=200,
    scope="read",
    parameters=(
        Parameter(name="symbol", wire="symbol", location="path", required=True),
        Parameter(name="start_date", wire="start-date", location="query", kind="date", required=True),
        Parameter(name="end_date", wire="end-date", location="query", kind="date"),
    ),
    section="Market metrics",
)

MARKET_METRICS_DIVIDENDS: Operation[list[Dividend]] = Operation(
    name="market_metrics.dividends",
    method="GET",
    path="/market-metrics/historic-corporate-events/dividends/{symbol}",
    effect=Effect.READ,
    shape=Shape.MANY,
    result=Dividend,
    status=200,
    scope="read",
    parameters=(Parameter(name="symbol", wire="symbol", location="path", required=True),),
    section="Market metrics",
)

INSTRUMENTS_EQUITIES: Operation[list[Equity]] = Operation(
    name="instruments.equities",
    method="GET",
    path="/instruments/equities",
    effect=Effect.READ,
    shape=Shape.PAGE,
    result=Equity,
    status=200,
    scope="read",
    parameters=(
        Parameter(name="symbols", wire="symbol[]", location="query", array=True),
        Parameter(name="is_etf", wire="is-etf", location="query", kind="boolean"),
        Parameter(name="is_index", wire="is-index", location="query", kind="boolean"),
        Parameter(name="lendability", wire="lendability", location="query", choices=Lendability),
        Parameter(name="per_page", wire="per-page", location="query", kind="integer", minimum=1),
        Parameter(name="page_offset", wire="page-offset", location="query", kind="integer", minimum=0),
    ),
    section="Instruments",
)

INSTRUMENTS_EQUITY_OPTIONS: Operation[list[EquityOption]] = Operation(
    name="instruments.equity_options",
    method="GET",
    path="/instruments/equity-options",
    effect=Effect.READ,
    shape=Shape.MANY,
    result=EquityOption,
    status=200,
    scope="read",
    parameters=(
        Parameter(name="symbols", wire="symbol[]", location="query", array=True),
        Parameter(name="active", wire="active", location="query", kind="boolean"),
        Parameter(name="with_expired", wire="with-expired", location="query", kind="boolean"),
    ),
    section="Instruments",
)

INSTRUMENTS_WARRANT: Operation[Warrant] = Operation(
    name="instruments.warrant",
    method="GET",
    path="/instruments/warrants/{symbol}",
    effect=Effect.READ,
    shape=Shape.ONE,
    result=Warrant,
    status=200,
    scope="read",
    parameters=(Parameter(name="symbol", wire="symbol", location="path", required=True),),
    section="Instruments",
)

INSTRUMENTS_FUTURES_OPTION_CHAIN: Operation[list[FutureOption]] = Operation(
    name="instruments.futures_option_chain",
    method="GET",
    path="/futures-option-chains/{symbol}",
    effect=Effect.READ,
    shape=Shape.MANY,
    result=FutureOption,
    status=200,
    scope="read",
    parameters=(Parameter(name="symbol", wire="symbol", location="path", required=True),),
    section="Instruments",
)

ORDERS_LIST: Operation[list[Order]] = Operation(
    name="orders.list",
    method="GET",
    path="/accounts/{account_number}/orders",
    effect=Effect.READ,
    shape=Shape.PAGE,
    result=Order,
    status=200,
    scope="read",
    parameters=(
        Parameter(name="account_number", wire="account_number", location="path", required=True),
        Parameter(name="page_offset", wire="page-offset", location="query", kind="integer", minimum=0),
        Parameter(name="per_page", wire="per-page", location="query", kind="integer", minimum=1, maximum=200),
        Parameter(name="sort", wire="sort", location="query", choices=SortOrder),
        Parameter(name="statuses", wire="status[]", location="query", array=True, choices=OrderStatus),
        Parameter(name="start_date", wire="start-date", location="query", kind="date"),
        Parameter(name="end_date", wire="end-date", location="query", kind="date"),
        Parameter(name="start_at", wire="start-at", location="query", kind="date-time"),
        Parameter(name="end_at", wire="end-at", location="query", kind="date-time"),
        Parameter(name="underlying_symbol", wire="underlying-symbol", location="query"),
        Parameter(
            name="underlying_instrument_type",
            wire="underlying-instrument-type",
            location="query",
            choices=InstrumentType,
        ),
        Parameter(name="futures_symbol", wire="futures-symbol", location="query"),
    ),
    section="Orders",
)

ORDERS_SUBMIT: Operation[PlacedOrderResponse] = Operation(
    name="orders.submit",
    method="POST",
    path="/accounts/{account_number}/orders",
    effect=Effect.MUTATE,
    shape=Shape.ONE,
    result=PlacedOrderResponse,
    status=201,
    scope="trade",
    parameters=(Parameter(name="account_number", wire="account_number", location="path", required=True),),
    body=NewOrder,
    body_required=True,
    section="Orders",
)

ORDERS_LIST_LIVE: Operation[list[Order]] = Operation(
    name="orders.list_live",
    method="GET",
    path="/accounts/{account_number}/orders/live",
    effect=Effect.READ,
    shape=Shape.PAGE,
    result=Order,
    status=200,
    scope="read",
    parameters=(
        Parameter(name="account_number", wire="account_number", location="path", required=True),
        Parameter(name="page_offset", wire="page-offset", location="query", kind="integer", minimum=0),
        Parameter(name="per_page", wire="per-page", location="query", kind="integer", minimum=1, maximum=200),
        Parameter(name="sort", wire="sort", location="query", choices=SortOrder),
        Parameter(name="statuses", wire="status[]", location="query", array=True, choices=OrderStatus),
        Parameter(name="start_date", wire="start-date", location="query", kind="date"),
        Parameter(name="end_date", wire="end-date", location="query", kind="date"),
        Parameter(name="start_at", wire="start-at", location="query", kind="date-time"),
        Parameter(name="end_at", wire="end-at", location="query", kind="date-time"),
        Parameter(name="underlying_symbol", wire="underlying-symbol", location="query"),
        Parameter(
            name="underlying_instrument_type",
            wire="underlying-instrument-type",
            location="query",
            choices=InstrumentType,
        ),
        Parameter(name="futures_symbol", wire="futures-symbol", location="query"),
    ),
    section="Orders",
)

ORDERS_DRY_RUN: Operation[PlacedOrderResponse] = Operation(
    name="orders.dry_run",
    method="POST",
    path="/accounts/{account_number}/orders/dry-run",
    effect=Effect.PREFLIGHT,
    shape=Shape.ONE,
    result=PlacedOrderResponse,
    status=201,
    scope="trade",
    parameters=(Parameter(name="account_number", wire="account_number", location="path", required=True),),
    body=NewOrder,
    body_required=True,
    section="Orders",
)

ORDERS_REPLACE: Operation[Order] = Operation(
    name="orders.replace",
    method="PUT",
    path="/accounts/{account_number}/orders/{id}",
    effect=Effect.MUTATE,
    shape=Shape.ONE,
    result=Order,
    status=200,
    scope="trade",
    parameters=(
        Parameter(name="account_number", wire="account_number", location="path", required=True),
        Parameter(name="id", wire="id", location="path", kind="identifier", required=True),
    ),
    body=OrderEdit,
    body_required=True,
    observed=True,
    section="Orders",
)

ORDERS_EDIT: Operation[Order] = Operation(
    name="orders.edit",
    method="PATCH",
    path="/accounts/{account_number}/orders/{id}",
    effect=Effect.MUTATE,
    shape=Shape.ONE,
    result=Order,
    status=200,
    scope="trade",
    parameters=(
        Parameter(name="account_number", wire="account_number", location="path", required=True),
        Parameter(name="id", wire="id", location="path", kind="identifier", required=True),
    ),
    body=OrderEdit,
    body_required=True,
    observed=True,
    section="Orders",
)

ORDERS_CANCEL: Operation[Order] = Operation(
    name="orders.cancel",
    method="DELETE",
    path="/accounts/{account_number}/orders/{id}",
    effect=Effect.MUTATE,
    shape=Shape.ONE,
    result=Order,
    status=200,
    scope="trade",
    parameters=(
        Parameter(name="account_number", wire="account_number", location="path", required=True),
        Parameter(name="id", wire="id", location="path", kind="identifier", required=True),
    ),
    section="Orders",
)

ORDERS_EDIT_DRY_RUN: Operation[PlacedOrderResponse] = Operation(
    name="orders.edit_dry_run",
    method="POST",
    path="/accounts/{account_number}/orders/{id}/dry-run",
    effect=Effect.PREFLIGHT,
    shape=Shape.ONE,
    result=PlacedOrderResponse,
    status=201,
    scope="trade",
    parameters=(
        Parameter(name="account_number", wire="account_number", location="path", required=True),
        Parameter(name="id", wire="id", location="path", kind="identifier", required=True),
    ),
    body=OrderEdit,
    body_required=True,
    section="Orders",
)

ORDERS_SEARCH: Operation[list[Order]] = Operation(
    name="orders.search",
    method="GET",
    path="/customers/{customer_id}/orders",
    effect=Effect.READ,
    shape=Shape.PAGE,
    result=Order,
    status=200,
    scope="read",
    parameters=(
        Parameter(name="customer_id", wire="customer_id", location="path", kind="identifier", required=True),
        Parameter(name="account_numbers", wire="account-numbers[]", location="query", array=True, required=True),
        Parameter(name="page_offset", wire="page-offset", location="query", kind="integer", minimum=0),
        Parameter(name="per_page", wire="per-page", location="query", kind="integer", minimum=1),
        Parameter(name="start_at", wire="start-at", location="query", kind="date-time"),
        Parameter(name="end_at", wire="end-at", location="query", kind="date-time"),
        Parameter(name="start_date", wire="start-date", location="query", kind="date"),
        Parameter(name="end_date", wire="end-date", location="query", kind="date"),
        Parameter(name="futures_symbol", wire="futures-symbol", location="query"),
        Parameter(name="sort", wire="sort", location="query", choices=SortOrder),
        Parameter(name="statuses", wire="status[]", location="query", array=True, choices=OrderStatus),
        Parameter(
            name="underlying_instrument_type",
            wire="underlying-instrument-type",
            location="query",
            choices=InstrumentType,
        ),
        Parameter(name="underlying_symbol", wire="underlying-symbol", location="query"),
    ),
    section="Orders",
)

ORDERS_LIVE: Operation[list[Order]] = Operation(
    name="orders.live",
    method="GET",
    path="/customers/{customer_id}/orders/live",
    effect=Effect.READ,
    shape=Shape.MANY,
    result=Order,
    status=200,
    scope="read",
    parameters=(
        Parameter(name="customer_id", wire="customer_id", location="path", kind="identifier", required=True),
        Parameter(name="account_numbers", wire="account-numbers[]", location="query", array=True, required=True),
        Parameter(name="page_offset", wire="page-offset", location="query", kind="integer", minimum=0),
        Parameter(name="per_page", wire="per-page", location="query", kind="integer", minimum=1),
    ),
    section="Orders",
)

COMPLEX_ORDERS_GET: Operation[ComplexOrder] = Operation(
    name="complex_orders.get",
    method="GET",
    path="/accounts/{account_number}/complex-orders/{id}",
    effect=Effect.READ,
    shape=Shape.ONE,
    result=ComplexOrder,
    status=200,
    scope="read",
    parameters=(
        Parameter(name="account_number", wire="account_number", location="path", required=True),
        Parameter(name="id", wire="id", location="path", kind="identifier", required=True),
    ),
    section="Orders",
)

COMPLEX_ORDERS_EDIT_PAIRS: Operation[PlacedOrderResponse] = Operation(
    name="complex_orders.edit_pairs",
    method="PATCH",
    path="/accounts/{account_number}/complex-orders/{id}",
    effect=Effect.MUTATE,
    shape=Shape.ONE,
    result=PlacedOrderResponse,
    status=200,
    scope="trade",
    parameters=(
        Parameter(name="account_number", wire="account_number", location="path", required=True),
        Parameter(name="id", wire="id", location="path", kind="identifier", required=True),
    ),
    body=PairsEdit,
    body_required=True,
    section="Orders",
)

TRANSACTIONS_LIST: Operation[list[Transaction]] = Operation(
    name="transactions.list",
    method="GET",
    path="/accounts/{account_number}/transactions",
    effect=Effect.READ,
    shape=Shape.PAGE,
    result=Transaction,
    status=200,
    scope="read",
    parameters=(
        Parameter(name="account_number", wire="account_number", location="path", required=True),
        Parameter(name="page_offset", wire="page-offset", location="query", kind="integer", minimum=0),
        Parameter(name="per_page", wire="per-page", location="query", kind="integer", minimum=1, maximum=2000),
        Parameter(name="sort", wire="sort", location="query", choices=SortOrder),
        Parameter(name="start_date", wire="start-date", location="query", kind="date"),
        Parameter(name="end_date", wire="end-date", location="query", kind="date"),
        Parameter(name="start_at", wire="start-at", location="query", kind="date-time"),
        Parameter(name="end_at", wire="end-at", location="query", kind="date-time"),
        Parameter(name="symbol", wire="symbol", location="query"),
        Parameter(name="underlying_symbol", wire="underlying-symbol", location="query"),
        Parameter(name="instrument_type", wire="instrument-type", location="query", choices=InstrumentType),
        Parameter(name="action", wire="action", location="query", choices=LegAction),
        Parameter(name="type", wire="type", location="query"),
        Parameter(name="types", wire="types[]", location="query", array=True),
    ),
    rules=(
        Rule(
            exclusive=("type", "types[]"),
            message="type and types exclude each other; give one type or a list of them, not both.",
        ),
    ),
    section="Transactions",
)

MARGIN_DRY_RUN: Operation[MarginDryRun] = Operation(
    name="margin.dry_run",
    method="POST",
    path="/margin/accounts/{account_number}/dry-run",
    effect=Effect.PREFLIGHT,
    shape=Shape.ONE,
    result=MarginDryRun,
    status=200,
    scope="trade",
    parameters=(Parameter(name="account_number", wire="account_number", location="path", required=True),),
    body=MarginOrder,
    body_required=True,
    production_only=True,
    section="Margin",
)

MARGIN_REQUIREMENTS: Operation[MarginRequirements] = Operation(
    name="margin.requirements",
    method="GET",
    path="/margin/accounts/{account_number}/requirements",
    effect=Effect.READ,
    shape=Shape.ONE,
    result=MarginRequirements,
    status=200,
    scope="read",
    parameters=(Parameter(name="account_number", wire="account_number", location="path", required=True),),
    production_only=True,
    section="Margin",
)

WATCHLISTS_CREATE: Operation[Watchlist] = Operation(
    name="watchlists.create",
    method="POST",
    path="/watchlists",
    effect=Effect.MUTATE,
    shape=Shape.ONE,
    result=Watchlist,
    status=201,
    scope="trade",
    body=NewWatchlist,
    body_required=True,
    section="Watchlists",
)

WATCHLISTS_LIST: Operation[list[Watchlist]] = Operation(
    name="watchlists.list",
    method="GET",
    path="/watchlists",
    effect=Effect.READ,
    shape=Shape.MANY,
    result=Watchlist,
    status=200,
    scope="read",
    section="Watchlists",
)

QUOTE_ALERTS_LIST: Operation[list[QuoteAlert]] = Operation(
    name="quote_alerts.list",
    method="GET",
    path="/quote-alerts",
    effect=Effect.READ,
    shape=Shape.MANY,
    result=QuoteAlert,
    status=200,
    scope="read",
    section="Quote alerts",
)

QUOTE_ALERTS_CREATE: Operation[QuoteAlert] = Operation(
    name="quote_alerts.create",
    method="POST",
    path="/quote-alerts",
    effect=Effect.MUTATE,
    shape=Shape.ONE,
    result=QuoteAlert,
    status=201,
    scope="trade",
    body=NewQuoteAlert,
    body_required=True,
    observed=True,
    section="Quote alerts",
)

QUOTE_ALERTS_CANCEL: Operation[None] = Operation(
    name="quote_alerts.cancel",
    method="DELETE",
    path="/quote-alerts/{alert_external_id}",
    effect=Effect.MUTATE,
    shape=Shape.NONE,
    status=204,
    scope="trade",
    parameters=(Parameter(name="alert_external_id", wire="alert_external_id", location="path", required=True),),
    observed=True,
    section="Quote alerts",
)

#: Every operation by its name.
OPERATIONS: Mapping[str, Operation[Any]] = {
    operation.name: operation
    for operation in (
        OAUTH_TOKEN,
        MARKET_TIME_SESSIONS,
        MARKET_TIME_CURRENT_SESSIONS,
        MARKET_TIME_EQUITY_HOLIDAYS,
        MARKET_METRICS_EARNINGS_REPORTS,
        MARKET_METRICS_DIVIDENDS,
        INSTRUMENTS_EQUITIES,
        INSTRUMENTS_EQUITY_OPTIONS,
        INSTRUMENTS_WARRANT,
        INSTRUMENTS_FUTURES_OPTION_CHAIN,
        ORDERS_LIST,
        ORDERS_SUBMIT,
        ORDERS_LIST_LIVE,
        ORDERS_DRY_RUN,
        ORDERS_REPLACE,
        ORDERS_EDIT,
        ORDERS_CANCEL,
        ORDERS_EDIT_DRY_RUN,
        ORDERS_SEARCH,
        ORDERS_LIVE,
        COMPLEX_ORDERS_GET,
        COMPLEX_ORDERS_EDIT_PAIRS,
        TRANSACTIONS_LIST,
        MARGIN_DRY_RUN,
        MARGIN_REQUIREMENTS,
        WATCHLISTS_CREATE,
        WATCHLISTS_LIST,
        QUOTE_ALERTS_LIST,
        QUOTE_ALERTS_CREATE,
        QUOTE_ALERTS_CANCEL,
    )
}

#: What the schema says of every model that occurs in a request body.
REQUEST_MODELS: Mapping[type[Any], RequestModel] = {
    TokenRequest: RequestModel(
        fields=(
            BodyField(name="grant_type", wire="grant_type", kind="string", required=True, choices=GrantType),
            BodyField(name="refresh_token", wire="refresh_token", kind="string"),
            BodyField(name="client_secret", wire="client_secret", kind="string", required=True),
            BodyField(name="client_id", wire="client_id", kind="string"),
            BodyField(name="scope", wire="scope", kind="string"),
            BodyField(name="code", wire="code", kind="string"),
            BodyField(name="redirect_uri", wire="redirect_uri", kind="string"),
        ),
        rules=(
            Rule(
                when={"grant_type": ("refresh_token",)},
                require=("refresh_token",),
                message="The refresh_token grant needs the refresh_token.",
            ),
            Rule(
                when={"grant_type": ("authorization_code",)},
                require=("code", "client_id", "redirect_uri"),
                message="The authorization_code grant needs code, client_id and redirect_uri.",
            ),
        ),
    ),
    NewOrderLeg: RequestModel(
        fields=(
            BodyField(name="action", wire="action", kind="string", required=True, choices=LegAction),
            BodyField(
                name="instrument_type", wire="instrument-type", kind="string", required=True, choices=InstrumentType
            ),
            BodyField(name="quantity", wire="quantity", kind="decimal"),
            BodyField(name="symbol", wire="symbol", kind="string", required=True),
        ),
    ),
    NewPriceComponent: RequestModel(
        fields=(
            BodyField(name="instrument_type", wire="instrument-type", kind="string", choices=InstrumentType),
            BodyField(name="quantity", wire="quantity", kind="decimal"),
            BodyField(name="quantity_direction", wire="quantity-direction", kind="string"),
            BodyField(name="symbol", wire="symbol", kind="string"),
        ),
    ),
    NewOrderCondition: RequestModel(
        fields=(
            BodyField(name="action", wire="action", kind="string"),
            BodyField(name="instrument_type", wire="instrument-type", kind="string", choices=InstrumentType),
            BodyField(name="symbol", wire="symbol", kind="string"),
            BodyField(name="comparator", wire="comparator", kind="string", choices=Comparator),
            BodyField(name="indicator", wire="indicator", kind="string"),
            BodyField(name="threshold", wire="threshold", kind="decimal"),
            BodyField(
                name="price_components", wire="price-components", kind="object", array=True, model=NewPriceComponent
            ),
        ),
    ),
    NewOrderRules: RequestModel(
        fields=(
            BodyField(name="cancel_at", wire="cancel-at", kind="date-time"),
            BodyField(name="route_after", wire="route-after", kind="date-time"),
            BodyField(name="conditions", wire="conditions", kind="object", array=True, model=NewOrderCondition),
        ),
    ),
    AdvancedInstructions: RequestModel(
        fields=(
            BodyField(
                name="strict_position_effect_validation", wire="strict-position-effect-validation", kind="boolean"
            ),
        ),
    ),
    NewOrder: RequestModel(
        fields=(
            BodyField(name="order_type", wire="order-type", kind="string", required=True, choices=OrderType),
            BodyField(name="time_in_force", wire="time-in-force", kind="string", required=True, choices=TimeInForce),
            BodyField(
                name="legs", wire="legs", kind="object", array=True, required=True, min_items=1, model=NewOrderLeg
            ),
            BodyField(name="gtc_date", wire="gtc-date", kind="date"),
            BodyField(name="stop_trigger", wire="stop-trigger", kind="decimal"),
            BodyField(name="price", wire="price", kind="decimal"),
            BodyField(name="price_effect", wire="price-effect", kind="string", choices=PriceEffect),
            BodyField(name="value", wire="value", kind="decimal"),
            BodyField(name="value_effect", wire="value-effect", kind="string", choices=PriceEffect),
            BodyField(name="automated_source", wire="automated-source", kind="boolean"),
            BodyField(name="external_identifier", wire="external-identifier", kind="string"),
            BodyField(name="partition_key", wire="partition-key", kind="string"),
            BodyField(name="preflight_id", wire="preflight-id", kind="string"),
            BodyField(name="source", wire="source", kind="string"),
            BodyField(name="rules", wire="rules", kind="object", model=NewOrderRules),
            BodyField(
                name="advanced_instructions", wire="advanced-instructions", kind="object", model=AdvancedInstructions
            ),
        ),
        rules=(
            Rule(
                when={"order-type": ("Limit", "Stop Limit")},
                require=("price",),
                message="A Limit or Stop Limit order needs price, its limit price.",
            ),
            Rule(
                when={"order-type": ("Stop", "Stop Limit")},
                require=("stop-trigger",),
                message="A Stop or Stop Limit order needs stop-trigger, the price that sets it off.",
            ),
            Rule(
                when={"order-type": ("Notional Market",)},
                require=("value",),
                message="A Notional Market order needs value, the money to be spent or raised.",
            ),
            Rule(
                when={"order-type": ("Liquidity Allocation",)},
                forbid=("order-type",),
                message="Liquidity Allocation is only ever reported; choose another order-type.",
            ),
            Rule(
                when={"legs[].instrument-type": ("Warrant",)},
                forbid=("legs[].instrument-type",),
                message="Warrants cannot be ordered; choose another instrument-type for the leg.",
            ),
            Rule(
                when={"time-in-force": ("GTD",)},
                require=("gtc-date",),
                message="Time in force GTD needs gtc-date, the last day on which the order works.",
            ),
            Rule(
                unless={"time-in-force": ("GTD",)},
                forbid=("gtc-date",),
                message="gtc-date goes with time in force GTD only; leave it out or set time-in-force to GTD.",
            ),
            Rule(
                unless={"order-type": ("Notional Market",)},
                require=("legs[].quantity",),
                message="Every leg needs a quantity, unless the order is a Notional Market order.",
            ),
            Rule(
                when={"order-type": ("Notional Market",)},
                forbid=("legs[].quantity",),
                message="A Notional Market order is sized by value; leave quantity out of its legs.",
            ),
            Rule(
                when={"legs[].action": ("Buy", "Sell")},
                require_value={"legs[].instrument-type": ("Future", "Future Option")},
                message="Buy and Sell are for futures; other legs say whether they open or close, such as Buy to Open.",
            ),
            Rule(
                exclusive=("price", "value"),
                message="price and value exclude each other; an order has a limit price or an amount of money, not both.",
            ),
            Rule(
                when={"order-type": ("Market",), "time-in-force": ("GTC", "GTC Ext", "GTC Ext Overnight")},
                forbid=("time-in-force",),
                message="A Market order cannot stay working until cancelled; use Day or another time-in-force.",
            ),
            Rule(distinct="legs[].symbol", message="Two legs name the same symbol; put them into one leg."),
            Rule(
                when={"legs[].instrument-type": ("Equity Option", "Future Option")},
                max_items=("legs", 4),
                message="An order holds at most four option legs.",
            ),
            Rule(
                when={"legs[].instrument-type": ("Equity", "Future")},
                max_items=("legs", 1),
                message="An order holds at most one equity or future leg.",
            ),
            Rule(
                positive=("legs[].quantity",),
                library=True,
                message="A quantity must be greater than zero; the action of the leg says whether it is bought or sold.",
            ),
            Rule(
                positive=("value",),
                library=True,
                message="value must be greater than zero; value-effect says whether it is spent or raised.",
            ),
            Rule(
                not_negative=("price",),
                library=True,
                message="price must not be negative; set price-effect to Credit to receive it.",
            ),
            Rule(not_negative=("stop-trigger",), library=True, message="stop-trigger must not be negative."),
        ),
    ),
    OrderEdit: RequestModel(
        fields=(
            BodyField(name="order_type", wire="order-type", kind="string", required=True, choices=OrderType),
            BodyField(name="time_in_force", wire="time-in-force", kind="string", required=True, choices=TimeInForce),
            BodyField(name="legs", wire="legs", kind="object", array=True, min_items=1, model=NewOrderLeg),
            BodyField(name="gtc_date", wire="gtc-date", kind="date"),
            BodyField(name="stop_trigger", wire="stop-trigger", kind="decimal"),
            BodyField(name="price", wire="price", kind="decimal"),
            BodyField(name="price_effect", wire="price-effect", kind="string", choices=PriceEffect),
            BodyField(name="value", wire="value", kind="decimal"),
            BodyField(name="value_effect", wire="value-effect", kind="string", choices=PriceEffect),
            BodyField(name="automated_source", wire="automated-source", kind="boolean"),
            BodyField(name="external_identifier", wire="external-identifier", kind="string"),
            BodyField(name="partition_key", wire="partition-key", kind="string"),
            BodyField(name="preflight_id", wire="preflight-id", kind="string"),
            BodyField(name="source", wire="source", kind="string"),
        ),
        rules=(
            Rule(
                when={"order-type": ("Limit", "Stop Limit")},
                require=("price",),
                message="A Limit or Stop Limit order needs price, its limit price.",
            ),
            Rule(
                when={"order-type": ("Stop", "Stop Limit")},
                require=("stop-trigger",),
                message="A Stop or Stop Limit order needs stop-trigger, the price that sets it off.",
            ),
            Rule(
                when={"order-type": ("Notional Market",)},
                require=("value",),
                message="A Notional Market order needs value, the money to be spent or raised.",
            ),
            Rule(
                when={"order-type": ("Liquidity Allocation",)},
                forbid=("order-type",),
                message="Liquidity Allocation is only ever reported; choose another order-type.",
            ),
            Rule(
                when={"legs[].instrument-type": ("Warrant",)},
                forbid=("legs[].instrument-type",),
                message="Warrants cannot be ordered; choose another instrument-type for the leg.",
            ),
            Rule(
                when={"time-in-force": ("GTD",)},
                require=("gtc-date",),
                message="Time in force GTD needs gtc-date, the last day on which the order works.",
            ),
            Rule(
                unless={"time-in-force": ("GTD",)},
                forbid=("gtc-date",),
                message="gtc-date goes with time in force GTD only; leave it out or set time-in-force to GTD.",
            ),
            Rule(
                unless={"order-type": ("Notional Market",)},
                require=("legs[].quantity",),
                message="Every leg needs a quantity, unless the order is a Notional Market order.",
            ),
            Rule(
                when={"order-type": ("Notional Market",)},
                forbid=("legs[].quantity",),
                message="A Notional Market order is sized by value; leave quantity out of its legs.",
            ),
            Rule(
                when={"legs[].action": ("Buy", "Sell")},
                require_value={"legs[].instrument-type": ("Future", "Future Option")},
                message="Buy and Sell are for futures; other legs say whether they open or close, such as Buy to Open.",
            ),
            Rule(
                exclusive=("price", "value"),
                message="price and value exclude each other; an order has a limit price or an amount of money, not both.",
            ),
            Rule(
                when={"order-type": ("Market",), "time-in-force": ("GTC", "GTC Ext", "GTC Ext Overnight")},
                forbid=("time-in-force",),
                message="A Market order cannot stay working until cancelled; use Day or another time-in-force.",
            ),
            Rule(distinct="legs[].symbol", message="Two legs name the same symbol; put them into one leg."),
            Rule(
                when={"legs[].instrument-type": ("Equity Option", "Future Option")},
                max_items=("legs", 4),
                message="An order holds at most four option legs.",
            ),
            Rule(
                when={"legs[].instrument-type": ("Equity", "Future")},
                max_items=("legs", 1),
                message="An order holds at most one equity or future leg.",
            ),
            Rule(
                positive=("legs[].quantity",),
                library=True,
                message="A quantity must be greater than zero; the action of the leg says whether it is bought or sold.",
            ),
            Rule(
                positive=("value",),
                library=True,
                message="value must be greater than zero; value-effect says whether it is spent or raised.",
            ),
            Rule(
                not_negative=("price",),
                library=True,
                message="price must not be negative; set price-effect to Credit to receive it.",
            ),
            Rule(not_negative=("stop-trigger",), library=True, message="stop-trigger must not be negative."),
        ),
    ),
    PairsEdit: RequestModel(
        fields=(
            BodyField(name="ratio_price_comparator", wire="ratio-price-comparator", kind="string", choices=Comparator),
            BodyField(name="ratio_price_threshold", wire="ratio-price-threshold", kind="decimal"),
        ),
    ),
    MarginOrderLeg: RequestModel(
        fields=(
            BodyField(name="symbol", wire="symbol", kind="string", required=True),
            BodyField(
                name="instrument_type", wire="instrument-type", kind="string", required=True, choices=InstrumentType
            ),
            BodyField(name="action", wire="action", kind="string", required=True, choices=LegAction),
            BodyField(name="quantity", wire="quantity", kind="decimal"),
            BodyField(name="remaining_quantity", wire="remaining-quantity", kind="decimal"),
        ),
    ),
    MarginOrder: RequestModel(
        fields=(
            BodyField(name="account_number", wire="account-number", kind="string", required=True),
            BodyField(name="underlying_symbol", wire="underlying-symbol", kind="string", required=True),
            BodyField(
                name="underlying_instrument_type",
                wire="underlying-instrument-type",
                kind="string",
                required=True,
                choices=InstrumentType,
            ),
            BodyField(name="order_type", wire="order-type", kind="string", required=True, choices=OrderType),
            BodyField(name="time_in_force", wire="time-in-force", kind="string", required=True, choices=TimeInForce),
            BodyField(name="gtc_date", wire="gtc-date", kind="date"),
            BodyField(name="price", wire="price", kind="decimal"),
            BodyField(name="price_effect", wire="price-effect", kind="string", choices=PriceEffect),
            BodyField(name="stop_trigger", wire="stop-trigger", kind="decimal"),
            BodyField(name="replaces_order_id", wire="replaces-order-id", kind="string"),
            BodyField(name="legs", wire="legs", kind="object", array=True, model=MarginOrderLeg),
        ),
        rules=(
            Rule(
                when={
                    "underlying-instrument-type": (
                        "Event Contract",
                        "Fixed Income Security",
                        "Liquidity Pool",
                        "Warrant",
                    )
                },
                forbid=("underlying-instrument-type",),
                message="Margin is estimated for equities, futures, options on them and cryptocurrencies only.",
            ),
            Rule(
                positive=("legs[].quantity",),
                library=True,
                message="A quantity must be greater than zero; the action of the leg says whether it is bought or sold.",
            ),
            Rule(
                not_negative=("legs[].remaining-quantity",),
                library=True,
                message="remaining-quantity must not be negative.",
            ),
            Rule(
                not_negative=("price",),
                library=True,
                message="price must not be negative; set price-effect to Credit to receive it.",
            ),
            Rule(not_negative=("stop-trigger",), library=True, message="stop-trigger must not be negative."),
        ),
    ),
    NewWatchlistEntry: RequestModel(
        fields=(
            BodyField(name="symbol", wire="symbol", kind="string", required=True),
            BodyField(name="instrument_type", wire="instrument-type", kind="string", choices=InstrumentType),
        ),
    ),
    NewWatchlist: RequestModel(
        fields=(
            BodyField(name="name", wire="name", kind="string", required=True),
            BodyField(name="group_name", wire="group-name", kind="string"),
            BodyField(name="order_index", wire="order-index", kind="integer", minimum=-2147483648, maximum=2147483647),
            BodyField(
                name="watchlist_entries",
                wire="watchlist-entries",
                kind="object",
                array=True,
                required=True,
                model=NewWatchlistEntry,
            ),
        ),
    ),
    NewQuoteAlert: RequestModel(
        fields=(
            BodyField(name="field", wire="field", kind="string", required=True, choices=AlertField),
            BodyField(name="operator", wire="operator", kind="string", required=True, choices=AlertOperator),
            BodyField(name="symbol", wire="symbol", kind="string", required=True),
            BodyField(name="threshold", wire="threshold", kind="decimal", required=True),
        ),
    ),
}
