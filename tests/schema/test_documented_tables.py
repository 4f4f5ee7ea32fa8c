"""The schema matches the service's documentation: every field, type, value, parameter, status and rule.

The tables below are typed by hand from the documentation, in its order and with its type names. Everything else in the
schema has another ``x-provenance``, on its own or on the component or operation that holds it.

Types are written as documented, including ``bool``, ``numeric`` and ``decimal``. A second type after a colon is the
more specific one of the schema: ``string:decimal`` is documented as a string and read as a decimal. ``?`` before a type
marks a field documented without a type. ``[X]`` is an array, a capitalised word is a component, and ``*`` after a name
marks a required field.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from tests.schema.sources import schema_files
from tests.tables import for_each

FILES = schema_files()
ROOT = FILES.pop("openapi.yaml")
SCHEMAS: dict[str, dict[str, Any]] = {
    name: schema for content in FILES.values() for name, schema in content["schemas"].items()
}

# -- resources

TABLES = {
    "ItemEnvelope": """
        data ?any
        context string
    """,
    "ListEnvelope": """
        data object:ItemList
        context string
    """,
    "PageEnvelope": """
        data object:ItemList
        context string
        pagination object:Pagination
    """,
    "ItemList": """
        items [any]
    """,
    "Pagination": """
        per-page integer
        page-offset integer
        item-offset integer
        total-items integer
        total-pages integer
        current-item-count integer
    """,
    "ErrorEnvelope": """
        error object:ErrorBody
    """,
    "ErrorBody": """
        code string
        message string
        errors [ErrorDetail]
    """,
    "ErrorDetail": """
        code ?string
        message ?string
        domain ?string
    """,
    "Order": """
        id string
        account-number string
        cancel-user-id string
        cancel-username string
        cancellable boolean
        cancelled-at date-time
        cancelled-size decimal
        complex-order-id string
        complex-order-tag string
        contingent-status string:ContingentStatus
        editable boolean
        edited boolean
        external-identifier string
        global-request-id string
        gtc-date date
        in-flight-at date-time
        leg-count string:decimal
        live-at date-time
        order-type string:OrderType
        preflight-id string
        price decimal
        price-effect string:PriceEffect
        received-at date-time
        reject-reason string
        replaces-order-id string
        replacing-order-id string
        size string:decimal
        source string
        status string:OrderStatus
        stop-trigger string:decimal
        terminal-at date-time
        time-in-force string:TimeInForce
        underlying-instrument-type string:InstrumentType
        underlying-symbol string
        updated-at string:date-time
        user-id string
        username string
        value decimal
        value-effect string:PriceEffect
        legs [OrderLeg]
        order-rule object:OrderRule
    """,
    "OrderLeg": """
        action string:LegAction
        instrument-type string:InstrumentType
        quantity string:decimal
        remaining-quantity string:decimal
        symbol string
        fills [Fill]
    """,
    "Fill": """
        destination-venue string
        ext-exec-id string
        ext-group-fill-id string
        fill-id string
        fill-price decimal
        filled-at date-time
        quantity string:decimal
    """,
    "OrderRule": """
        cancel-at date-time
        cancelled-at date-time
        route-after date-time
        routed-at date-time
        order-conditions [OrderCondition]
    """,
    "OrderCondition": """
        id ?string
        action ?ConditionAction
        comparator ?Comparator
        indicator ?ConditionIndicator
        instrument-type ?InstrumentType
        is-threshold-based-on-notional boolean
        symbol ?string
        threshold ?decimal
        triggered-at date-time
        triggered-value decimal
        price-components [PriceComponent]
    """,
    "PriceComponent": """
        instrument-type ?InstrumentType
        quantity ?decimal
        quantity-direction ?QuantityDirection
        symbol ?string
    """,
    "ComplexOrder": """
        id string
        account-number string
        type string:ComplexOrderType
        ratio-price-comparator string:Comparator
        ratio-price-is-threshold-based-on-notional boolean
        ratio-price-threshold decimal
        terminal-at string:date-time
        related-orders [RelatedOrder]
        orders [Order]
        trigger-order Order
    """,
    "RelatedOrder": """
        id ?string
        complex-order-id ?string
        complex-order-tag ?string
        replaces-order-id ?string
        replacing-order-id ?string
        status ?OrderStatus
    """,
    "PlacedOrderResponse": """
        buying-power-effect object:BuyingPowerEffect
        closing-fee-calculation object:FeeCalculation
        complex-order ComplexOrder
        errors [PreflightMessage]
        fee-calculation object:FeeCalculation
        notes [PreflightMessage]
        order Order
        order-costs string
        warnings [PreflightMessage]
    """,
    "BuyingPowerEffect": """
        change-in-margin-requirement decimal
        change-in-margin-requirement-effect ?PriceEffect
        change-in-buying-power decimal
        change-in-buying-power-effect ?PriceEffect
        current-buying-power decimal
        current-buying-power-effect ?PriceEffect
        new-buying-power decimal
        new-buying-power-effect ?PriceEffect
        isolated-order-margin-requirement decimal
        isolated-order-margin-requirement-effect ?PriceEffect
        is-spread boolean
        impact decimal
        effect ?PriceEffect
    """,
    "FeeCalculation": """
        regulatory-fees decimal
        regulatory-fees-effect ?PriceEffect
        clearing-fees decimal
        clearing-fees-effect ?PriceEffect
        commission decimal
        commission-effect ?PriceEffect
        proprietary-index-option-fees decimal
        proprietary-index-option-fees-effect ?PriceEffect
        total-fees decimal
        total-fees-effect ?PriceEffect
    """,
    "PreflightMessage": """
        code ?PreflightCode
        message ?string
        preflight-id ?string
        url ?string
    """,
    "Watchlist": """
        name string
        watchlist-entries [WatchlistEntry]
        cms-id string
        group-name string
        order-index int32
    """,
    "WatchlistEntry": """
        symbol string
        instrument-type string:InstrumentType
    """,
    "QuoteAlert": """
        alert-external-id string
        completed-at date-time
        created-at date-time
        dismissed-at date-time
        dx-symbol string
        expired-at date-time
        expires-at string
        field string:AlertField
        instrument-type string:InstrumentType
        operator string:AlertOperator
        provider string
        symbol string
        threshold string:decimal
        threshold-numeric decimal
        triggered-at date-time
        user-external-id string
    """,
    "Equity": """
        active bool
        borrow-rate string:decimal
        bypass-manual-review bool
        country-of-incorporation ?string
        country-of-taxation ?string
        description ?string
        halted-at date-time
        instrument-sub-type ?string
        instrument-type ?InstrumentType
        is-closing-only bool
        is-etf bool
        is-fractional-quantity-eligible bool
        is-illiquid bool
        is-index bool
        is-options-closing-only bool
        lendability ?Lendability
        listed-market ?string
        market-time-instrument-collection ?InstrumentCollection
        overnight-trading-permitted bool
        pre-ipo bool
        short-description ?string
        stops-trading-at date-time
        streamer-symbol ?string
        symbol ?string
        underlying-product-type ?string
        option-tick-sizes [TickSize]
        tick-sizes [TickSize]
        id integer
        cusip ?string
    """,
    "TickSize": """
        value decimal
        threshold decimal
    """,
    "EquityOption": """
        active bool
        days-to-expiration int
        exercise-style ?string
        expiration-date date
        expiration-type ?string
        expires-at date-time
        halted-at ?date-time
        instrument-type ?InstrumentType
        is-closing-only bool
        listed-market ?string
        market-time-instrument-collection ?InstrumentCollection
        old-security-number ?string
        option-chain-type ?string
        option-type ?OptionType
        root-symbol ?string
        settlement-type ?string
        shares-per-contract int
        stops-trading-at ?date-time
        streamer-symbol ?string
        strike-price decimal
        symbol ?string
        underlying-symbol ?string
    """,
    "FutureOption": """
        active ?bool
        days-to-expiration ?int
        display-factor ?decimal
        exchange ?string
        exercise-style ?string
        expiration-date ?date
        expires-at ?date-time
        future-price-ratio ?decimal
        is-closing-only ?bool
        is-confirmed ?bool
        is-exercisable-weekly ?bool
        is-primary-deliverable ?bool
        is-vanilla ?bool
        last-trade-time ?string
        maturity-date ?date
        multiplier ?decimal
        notional-value ?decimal
        option-root-symbol ?string
        option-type ?OptionType
        product-code ?string
        root-symbol ?string
        security-id ?string
        settlement-type ?string
        stops-trading-at ?date-time
        streamer-symbol ?string
        strike-factor ?decimal
        strike-price ?decimal
        symbol ?string
        underlying-count ?decimal
        underlying-symbol ?string
        exchange-symbol ?string
        security-exchange ?string
        sx-id ?string
        future-option-product object:FutureOptionProduct
    """,
    "FutureOptionProduct": """
        cash-settled bool
        code ?string
        display-factor ?decimal
        exchange ?string
        expiration-type ?string
        is-am-settled bool
        itm-rule ?string
        market-sector ?string
        product-subtype ?string
        product-type ?string
        root-symbol ?string
        settlement-delay-days int
        supported bool
    """,
    "Warrant": """
        active bool
        cusip ?string
        description ?string
        instrument-type ?InstrumentType
        is-closing-only bool
        listed-market ?string
        symbol ?string
    """,
    "EarningsReport": """
        occurred-date date
        eps decimal
    """,
    "Dividend": """
        occurred-date date
        amount decimal
    """,
    "HolidayCalendar": """
        market-holidays ?[date]
        market-half-days ?[date]
    """,
    "MarketSession": "",  # named, its fields not shown
    "CurrentMarketSession": "",  # named, its fields not shown
    "MarginRequirements": """
        margin-requirement ?decimal
        maintenance-requirement ?decimal
        margin-equity ?decimal
        maintenance-excess ?decimal
        groups ?[MarginGroup]
    """,
    "MarginGroup": """
        position-entries ?[MarginPositionEntry]
        price-increase-percent ?decimal
        price-decrease-percent ?decimal
    """,
    "MarginDryRun": """
        last-results ?MarginDryRunResult
        base-results ?MarginDryRunResult
        new-order-results ?MarginDryRunResult
        change-in-margin-requirement ?decimal
        change-in-buying-power ?decimal
        current-buying-power ?decimal
        new-buying-power ?decimal
    """,
    "Transaction": """
        id ?string
        transaction-type ?TransactionType
    """,
    "TokenResponse": """
        access_token ?string
        token_type ?string
        expires_in ?integer
        refresh_token ?string
        id_token ?string
    """,
    # -- request bodies
    "NewOrder": """
        order-type* string:OrderType
        time-in-force* string:TimeInForce
        legs* [NewOrderLeg]
        gtc-date date
        stop-trigger decimal
        price decimal
        price-effect string:PriceEffect
        value decimal
        value-effect string:PriceEffect
        automated-source boolean
        external-identifier string
        partition-key string
        preflight-id string
        source string
        rules object:NewOrderRules
        advanced-instructions object:AdvancedInstructions
    """,
    "NewOrderLeg": """
        action* ?LegAction
        instrument-type* ?InstrumentType
        quantity decimal
        symbol* ?string
    """,
    "NewOrderRules": """
        cancel-at date-time
        route-after date-time
        conditions [NewOrderCondition]
    """,
    "NewOrderCondition": """
        action ?ConditionAction
        instrument-type ?InstrumentType
        symbol ?string
        comparator ?Comparator
        indicator ?ConditionIndicator
        threshold string:decimal
        price-components [NewPriceComponent]
    """,
    "NewPriceComponent": """
        instrument-type ?InstrumentType
        quantity ?decimal
        quantity-direction ?QuantityDirection
        symbol ?string
    """,
    "AdvancedInstructions": """
        strict-position-effect-validation boolean
    """,
    "OrderEditDryRun": """
        order-type* string:OrderType
        time-in-force* string:TimeInForce
        legs [NewOrderLeg]
        gtc-date date
        stop-trigger decimal
        price decimal
        price-effect string:PriceEffect
        value decimal
        value-effect string:PriceEffect
        automated-source boolean
        external-identifier string
        partition-key string
        preflight-id string
        source string
    """,
    "PairsEdit": """
        ratio-price-comparator ?Comparator
        ratio-price-threshold decimal
    """,
    "MarginOrder": """
        account-number* string
        underlying-symbol* string
        underlying-instrument-type* string:InstrumentType
        order-type* string:OrderType
        time-in-force* string:TimeInForce
        gtc-date date
        price numeric
        price-effect string:PriceEffect
        stop-trigger numeric
        replaces-order-id numeric-string
        legs [MarginOrderLeg]
    """,
    "MarginOrderLeg": """
        symbol* ?string
        instrument-type* ?InstrumentType
        action* ?LegAction
        quantity numeric
        remaining-quantity numeric
    """,
    "NewWatchlist": """
        name* string
        group-name string
        order-index int32
        watchlist-entries* [NewWatchlistEntry]
    """,
    "NewWatchlistEntry": """
        symbol* ?string
        instrument-type ?InstrumentType
    """,
    "TokenRequest": """
        grant_type* ?GrantType
        refresh_token ?string
        client_secret* ?string
        client_id ?string
        scope ?string
        code ?string
        redirect_uri ?string
    """,
}

COUNTS = {
    "Order": 41,
    "Equity": 29,
    "EquityOption": 22,
    "FutureOption": 34,
    "FutureOptionProduct": 13,
    "QuoteAlert": 16,
    "NewOrder": 16,
    "BuyingPowerEffect": 13,
    "OrderCondition": 11,
    "ComplexOrder": 10,
    "FeeCalculation": 10,
    "PlacedOrderResponse": 9,
    "Warrant": 7,
    "Fill": 7,
    "OrderLeg": 6,
    "Pagination": 6,
    "Watchlist": 5,
    "OrderRule": 5,
}

ENUMS = {
    "OrderType": "Limit, Market, Stop, Stop Limit, Notional Market, Marketable Limit, Liquidity Allocation",
    "TimeInForce": "Day, Ext, Ext Overnight, GTC, GTC Ext, GTC Ext Overnight, GTD, IOC",
    "OrderStatus": "Received, Routed, Live, Cancel Requested, Filled, Cancelled, Expired, Rejected",
    "ContingentStatus": "Pending Order",
    "LegAction": "Allocate, Buy, Buy to Close, Buy to Open, Sell, Sell to Close, Sell to Open",
    "InstrumentType": "Cryptocurrency, Equity, Equity Option, Event Contract, Fixed Income Security, Future, "
    "Future Option, Liquidity Pool, Warrant",
    "PriceEffect": "Debit, Credit",
    "ComplexOrderType": "OTOCO, OCO, OTO, PAIRS, BLAST",
    "Comparator": "gte, lte",
    "Lendability": "Easy To Borrow, Locate Required, Preborrow",
    "OptionType": "C, P",
    "SortOrder": "Desc, Asc",
    "AlertField": "Last, Bid, Ask, IV",
    "AlertOperator": ">, <",
    "InstrumentCollection": "Equity, CME, CFE",
    "GrantType": "refresh_token, authorization_code",
}

# Values allowed in a request, where the documentation allows fewer than the enumeration.
REQUEST_VALUES = {
    ("NewOrder", "order-type"): "Limit, Market, Marketable Limit, Notional Market, Stop, Stop Limit",
    ("OrderEditDryRun", "order-type"): "Limit, Market, Marketable Limit, Notional Market, Stop, Stop Limit",
    ("NewOrder", "legs[].instrument-type"): "Cryptocurrency, Equity, Equity Option, Event Contract, "
    "Fixed Income Security, Future, Future Option, Liquidity Pool",
    ("MarginOrder", "underlying-instrument-type"): "Equity, Equity Option, Future, Future Option, Cryptocurrency",
}

# -- endpoints


class Endpoint(NamedTuple):
    """Row of the documentation. ``answer``: ``X`` a resource, ``[X]`` a list, ``pages of X``, ``X or [X]`` both.

    ``errors`` are those of the endpoint itself; `general_errors` are documented for all endpoints. The documentation
    shows no errors for orders.submit, orders.list, orders.list_live and transactions.list: theirs are those of
    orders.dry_run and orders.search.
    """

    call: str
    status: int
    answer: str
    errors: str
    parameters: str = ""
    body: str | None = None


FILTERS = (
    "page-offset:integer, per-page:integer, sort:SortOrder, status[]:[OrderStatus], start-date:date, "
    "underlying-symbol:string"
)

ENDPOINTS = {
    "oauth.token": Endpoint("POST /oauth/token", 200, "TokenResponse", "401 429", body="TokenRequest"),
    "market_time.sessions": Endpoint(
        "GET /market-time/sessions", 200, "[MarketSession]", "401 422 429",
        "from-date:date, to-date*:date, instrument-collection:InstrumentCollection",
    ),
    "market_time.current_sessions": Endpoint(
        "GET /market-time/sessions/current", 200, "CurrentMarketSession or [CurrentMarketSession]", "401 422 429",
        "instrument-collections[]*:[InstrumentCollection]",
    ),
    "market_time.equity_holidays": Endpoint(
        "GET /market-time/equities/holidays", 200, "HolidayCalendar or [HolidayCalendar]", "401 429",
    ),
    "market_metrics.earnings_reports": Endpoint(
        "GET /market-metrics/historic-corporate-events/earnings-reports/{symbol}", 200, "[EarningsReport]",
        "401 403 404 422 429", "symbol*:string, start-date*:date, end-date:date",
    ),
    "market_metrics.dividends": Endpoint(
        "GET /market-metrics/historic-corporate-events/dividends/{symbol}", 200, "[Dividend]", "401 403 404 429",
        "symbol*:string",
    ),
    "instruments.equities": Endpoint(
        "GET /instruments/equities", 200, "pages of Equity", "401 429",
        "page-offset:integer, per-page:integer, is-etf:boolean, is-index:boolean, lendability:Lendability, "
        "symbol[]:[string]",
    ),
    "instruments.equity_options": Endpoint(
        "GET /instruments/equity-options", 200, "[EquityOption]", "401 429",
        "active:boolean, symbol[]:[string], with-expired:boolean",
    ),
    "instruments.warrant": Endpoint(
        "GET /instruments/warrants/{symbol}", 200, "Warrant", "401 404 429", "symbol*:string",
    ),
    "instruments.futures_option_chain": Endpoint(
        "GET /futures-option-chains/{symbol}", 200, "[FutureOption]", "401 404 429", "symbol*:string",
    ),
    "orders.dry_run": Endpoint(
        "POST /accounts/{account_number}/orders/dry-run", 201, "PlacedOrderResponse", "401 403 422 429",
        "account_number*:string", "NewOrder",
    ),
    "orders.submit": Endpoint(
        "POST /accounts/{account_number}/orders", 201, "PlacedOrderResponse", "401 403 422 429",
        "account_number*:string", "NewOrder",
    ),
    "orders.edit_dry_run": Endpoint(
        "POST /accounts/{account_number}/orders/{id}/dry-run", 201, "PlacedOrderResponse", "401 403 404 422 429",
        "account_number*:string, id*:integer", "OrderEditDryRun",
    ),
    "orders.cancel": Endpoint(
        "DELETE /accounts/{account_number}/orders/{id}", 200, "Order", "401 403 404 422 429",
        "account_number*:string, id*:integer",
    ),
    "orders.search": Endpoint(
        "GET /customers/{customer_id}/orders", 200, "pages of Order", "401 403 404 429",
        "customer_id*:integer, account-numbers[]*:[string], page-offset:integer, per-page:integer, start-at:date-time, "
        "end-at:date-time, start-date:date, end-date:date, futures-symbol:string, sort:SortOrder, "
        "status[]:[OrderStatus], underlying-instrument-type:InstrumentType, underlying-symbol:string",
    ),
    "orders.live": Endpoint(
        "GET /customers/{customer_id}/orders/live", 200, "[Order]", "401 403 404 429",
        "customer_id*:integer, account-numbers[]*:[string]",
    ),
    "orders.list": Endpoint(
        "GET /accounts/{account_number}/orders", 200, "pages of Order", "401 403 404 429",
        f"account_number*:string, {FILTERS}",
    ),
    "orders.list_live": Endpoint(
        "GET /accounts/{account_number}/orders/live", 200, "pages of Order", "401 403 404 429",
        f"account_number*:string, {FILTERS}",
    ),
    "complex_orders.get": Endpoint(
        "GET /accounts/{account_number}/complex-orders/{id}", 200, "ComplexOrder", "401 403 404 429",
        "account_number*:string, id*:integer",
    ),
    "complex_orders.edit_pairs": Endpoint(
        "PATCH /accounts/{account_number}/complex-orders/{id}", 200, "PlacedOrderResponse", "401 403 404 422 429",
        "account_number*:string, id*:integer", "PairsEdit",
    ),
    "transactions.list": Endpoint(
        "GET /accounts/{account_number}/transactions", 200, "pages of Transaction", "401 403 404 429",
        "account_number*:string, page-offset:integer, per-page:integer, sort:SortOrder, start-date:date, "
        "end-date:date, start-at:date-time, end-at:date-time, symbol:string, underlying-symbol:string, "
        "instrument-type:InstrumentType, action:LegAction, type:TransactionType, types[]:[TransactionType]",
    ),
    "margin.dry_run": Endpoint(
        "POST /margin/accounts/{account_number}/dry-run", 200, "MarginDryRun", "401 403 404 422 429",
        "account_number*:string", "MarginOrder",
    ),
    "margin.requirements": Endpoint(
        "GET /margin/accounts/{account_number}/requirements", 200, "MarginRequirements", "401 403 404 429",
        "account_number*:string",
    ),
    "watchlists.create": Endpoint("POST /watchlists", 201, "Watchlist", "401 403 422 429", body="NewWatchlist"),
    "watchlists.list": Endpoint("GET /watchlists", 200, "[Watchlist]", "401 429"),
    "quote_alerts.list": Endpoint("GET /quote-alerts", 200, "QuoteAlert or [QuoteAlert]", "401 429"),
}  # fmt: skip

# -- rules over request bodies and queries, without their messages

OBSERVED = ["Index", "Bond", "Equity Offering", "Mutual Fund", "Currency Pair", "Future Product", "Unknown"]
"""Types of instruments that only answers showed: the document lists those of a leg, and of a margin estimate."""
BY_ORDER: list[dict[str, Any]] = [
    {"when": {"order-type": ["Limit", "Stop Limit"]}, "require": ["price"]},
    {"when": {"order-type": ["Stop", "Stop Limit"]}, "require": ["stop-trigger"]},
    {"when": {"order-type": ["Notional Market"]}, "require": ["value"]},
    {"when": {"order-type": ["Liquidity Allocation"]}, "forbid": ["order-type"]},
    {"when": {"legs[].instrument-type": ["Warrant"]}, "forbid": ["legs[].instrument-type"]},
    {"when": {"legs[].instrument-type": OBSERVED}, "forbid": ["legs[].instrument-type"]},
    {"when": {"time-in-force": ["GTD"]}, "require": ["gtc-date"]},
    {"unless": {"time-in-force": ["GTD"]}, "forbid": ["gtc-date"]},
    {"unless": {"order-type": ["Notional Market"]}, "require": ["legs[].quantity"]},
    {
        "when": {"legs[].action": ["Buy", "Sell"]},
        "require-value": {"legs[].instrument-type": ["Future", "Future Option"]},
    },
]
NOT_FOR_MARGIN = ["Event Contract", "Fixed Income Security", "Liquidity Pool", "Warrant"]

RULES: dict[str, list[dict[str, Any]]] = {
    "NewOrder": BY_ORDER,
    "OrderEditDryRun": BY_ORDER,
    "MarginOrder": [
        {"when": {"underlying-instrument-type": kinds}, "forbid": ["underlying-instrument-type"]}
        for kinds in (NOT_FOR_MARGIN, OBSERVED)
    ],
    "TokenRequest": [
        {"when": {"grant_type": ["refresh_token"]}, "require": ["refresh_token"]},
        {"when": {"grant_type": ["authorization_code"]}, "require": ["code", "client_id", "redirect_uri"]},
    ],
    "market_time.sessions": [{"span": {"from": "from-date", "to": "to-date", "months": 9}}],
    "transactions.list": [{"exclusive": ["type", "types[]"]}],
}

SECTIONS = {
    "Common conventions", "Order", "Complex order", "Placed-order response", "Watchlist", "Quote alert",
    "Equity instrument", "Equity option instrument", "Future option instrument", "Warrant", "Corporate-event items",
    "Holiday calendar", "Session timings", "Margin reports", "States and transitions", "Token", "Market time",
    "Market metrics", "Instruments", "Orders", "Transactions", "Margin", "Watchlists", "Quote alerts",
    "Pagination and sorting", "Authentication", "Errors",
}  # fmt: skip

# -- reading the tables and the schema

WORDS = {"bool": "boolean", "int": "integer", "numeric": "decimal", "numeric-string": "string"}
READINGS = {"decimal", "date-time"}  # readings of a documented string, besides enumerations


def table(name: str) -> dict[str, str]:
    """Return the fields and documented types of a table, without the stars of required fields."""
    rows = (line.split() for line in TABLES[name].strip().splitlines())
    return {field.rstrip("*"): word for field, word in rows}


def required(name: str) -> list[str]:
    """Return the required fields of a table."""
    return [line.split()[0][:-1] for line in TABLES[name].strip().splitlines() if line.split()[0].endswith("*")]


def expected(word: str) -> str:
    """Return the schema type of a documented type."""
    word = word.removeprefix("?").rpartition(":")[2]
    return WORDS.get(word, word)


def actual(node: dict[str, Any]) -> str:
    """Return the type of a property or parameter, as written in the tables."""
    if "$ref" in node:
        return str(node["$ref"]).rpartition("/")[2]
    if node.get("type") == "array":
        return f"[{actual(node['items'])}]"
    kind = str(node.get("format") or node.get("type", "any"))
    return "string" if kind == "password" else kind


def documented(name: str) -> dict[str, str]:
    """Return the documented properties of a component, with their types."""
    properties = SCHEMAS[name]["properties"].items()
    return {field: actual(node) for field, node in properties if is_documented(node, SCHEMAS[name])}


def is_documented(node: dict[str, Any], owner: dict[str, Any] | None = None) -> bool:
    """Return whether the documentation contains a node: by its own provenance, else by that of its owner."""
    inherited = "documented" if owner is None else owner.get("x-provenance", "documented")
    return bool(node.get("x-provenance", inherited) == "documented")


def target(reference: str) -> Any:
    """Return the target of an absolute reference."""
    file, _, pointer = reference.partition("#/")
    section, name = pointer.split("/")
    return FILES[file][section][name]


def operations() -> dict[str, tuple[str, dict[str, Any]]]:
    """Return all operations with method and path."""
    return {
        operation["operationId"]: (f"{method.upper()} {path}", operation)
        for path, item in ROOT["paths"].items()
        for method, operation in target(item["$ref"]).items()
        if not method.startswith("x-")
    }


OPERATIONS = operations()


def resolved(node: dict[str, Any]) -> dict[str, Any]:
    """Return a parameter or response, behind its reference if it is one."""
    found: dict[str, Any] = target(node["$ref"]) if "$ref" in node else node
    return found


def answer(schema: dict[str, Any]) -> str:
    """Return the content of a success body, as written in the endpoint table."""
    if "$ref" in schema or schema.get("type") == "array":
        return actual(schema)
    if "oneOf" in schema:
        return " or ".join(sorted(map(answer, schema["oneOf"]), key=lambda form: form.startswith("[")))
    envelope = actual(schema["allOf"][0])
    data = schema["properties"]["data"]
    if envelope == "ItemEnvelope":
        return actual(data)
    item = actual(data["properties"]["items"]["items"])
    return {"ListEnvelope": f"[{item}]", "PageEnvelope": f"pages of {item}"}[envelope]


def json_schema(content: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = content["content"]["application/json"]["schema"]
    return found


def bare(rule: dict[str, Any]) -> dict[str, Any]:
    """Return a rule without its message."""
    return {key: value for key, value in rule.items() if key != "message"}


by_table = pytest.mark.parametrize("name", TABLES)
by_endpoint = pytest.mark.parametrize("name", ENDPOINTS)

# -- tests of resources and bodies


def test_documented_components_are_those_of_the_tables() -> None:
    present = {name for name, schema in SCHEMAS.items() if is_documented(schema)}
    assert present == (set(TABLES) | set(ENUMS))


@by_table
def test_fields_and_their_order(name: str) -> None:
    fields, rows = list(documented(name)), list(table(name))
    if name == "MarginDryRun":  # documented in prose, without an order
        fields, rows = sorted(fields), sorted(rows)
    assert fields == rows


@by_table
def test_types(name: str) -> None:
    assert documented(name) == {field: expected(word) for field, word in table(name).items()}


@by_table
def test_readings_of_documented_strings(name: str) -> None:
    read_as = {word.partition(":")[2] for word in table(name).values() if word.startswith("string:")}
    assert read_as <= READINGS | set(ENUMS)


@by_table
def test_required_fields(name: str) -> None:
    assert sorted(SCHEMAS[name].get("required", [])) == sorted(required(name))


@for_each("name, count", COUNTS.items())
def test_number_of_documented_fields(name: str, count: int) -> None:
    assert len(documented(name)) == count


@for_each("name", ENUMS)
def test_documented_values(name: str) -> None:
    schema = SCHEMAS[name]
    assert [value for value in schema["enum"] if value not in schema.get("x-observed", ())] == ENUMS[name].split(", ")


@for_each("name, field", REQUEST_VALUES)
def test_values_that_a_request_may_carry(name: str, field: str) -> None:
    holder = "NewOrderLeg" if field.startswith("legs[].") else name
    enum = SCHEMAS[actual(SCHEMAS[holder]["properties"][field.removeprefix("legs[].")])]["enum"]
    refusals = [rule["when"] for rule in rules_of(SCHEMAS[name]) if rule.get("forbid") == [field] and "when" in rule]
    refused = {value for when in refusals if list(when) == [field] for value in when[field]}
    assert set(enum) - refused == set(REQUEST_VALUES[name, field].split(", "))


# -- tests of endpoints


def test_documented_operations_are_those_of_the_table() -> None:
    present = {name for name, (_, operation) in OPERATIONS.items() if is_documented(operation)}
    assert present == set(ENDPOINTS)


@by_endpoint
def test_method_path_status_answer_and_body(name: str) -> None:
    call, operation = OPERATIONS[name]
    successes = {int(status): content for status, content in operation["responses"].items() if status.startswith("2")}
    body = json_schema(operation["requestBody"]) if "requestBody" in operation else None
    row = ENDPOINTS[name]
    assert call == row.call
    assert list(successes) == [row.status]
    assert answer(json_schema(successes[row.status])) == row.answer
    assert (actual(body) if body else None) == row.body


@by_endpoint
def test_error_statuses(name: str) -> None:
    _, operation = OPERATIONS[name]
    row = ENDPOINTS[name]
    present = {
        int(status)
        for status, content in operation["responses"].items()
        if not status.startswith("2") and is_documented(resolved(content))
    }
    assert present == {int(status) for status in row.errors.split()} | general_errors(name)


def general_errors(name: str) -> set[int]:
    """Return the errors that the documentation has for all endpoints, as far as they can occur at one."""
    _, operation = OPERATIONS[name]
    errors = {406}
    errors |= {403} if "x-scope" in operation else set()  # a token that does not cover the operation
    errors |= {404} if "{account_number}" in ENDPOINTS[name].call else set()  # an unknown account
    query = [one for one in map(resolved, operation.get("parameters", ())) if one["in"] == "query"]
    kinds = {one["schema"].get("type") for one in query}
    errors |= {400} if kinds & {"integer", "boolean"} else set()  # a malformed page or filter value
    # A missing parameter, or parameters that contradict each other.
    errors |= {422} if any(one.get("required") for one in query) or "x-rules" in operation else set()
    return errors


@by_endpoint
def test_parameters(name: str) -> None:
    _, operation = OPERATIONS[name]
    found = [target(p["$ref"]) if "$ref" in p else p for p in operation.get("parameters", ())]
    kinds = {"['integer', 'string']": "integer"}  # documented as integers, any `str` is accepted too
    present = {
        p["name"] + "*" * p.get("required", False): kinds.get(actual(p["schema"]), actual(p["schema"]))
        for p in found
        if is_documented(p)
    }
    rows = (row.partition(":") for row in ENDPOINTS[name].parameters.split(", ") if row)
    assert present == {field: kind for field, _, kind in rows}


def test_margin_is_offered_in_production_only() -> None:
    restricted = {name for name, (_, operation) in OPERATIONS.items() if "x-environments" in operation}
    assert {name for name in restricted if name in ENDPOINTS} == {"margin.dry_run", "margin.requirements"}


# -- tests of rules and sections


def rules_of(holder: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rules of a body or an operation, those of lists among them as well."""
    return [rule for listed in holder["x-rules"] for rule in (listed if isinstance(listed, list) else [listed])]


@for_each("name", RULES)
def test_documented_rules(name: str) -> None:
    holder = OPERATIONS[name][1] if name in OPERATIONS else SCHEMAS[name]
    present = [bare(rule) for rule in rules_of(holder) if rule.get("x-provenance", "documented") == "documented"]
    assert sorted(present, key=str) == sorted(RULES[name], key=str)


def test_no_other_rules_occur() -> None:
    holders = {**SCHEMAS, **{name: operation for name, (_, operation) in OPERATIONS.items()}}
    assert {name for name, holder in holders.items() if "x-rules" in holder and is_documented(holder)} == set(RULES)


def test_sections_exist() -> None:
    holders = [*SCHEMAS.values(), *(operation for _, operation in OPERATIONS.values())]
    assert {holder["x-section"] for holder in holders if "x-section" in holder} == SECTIONS
