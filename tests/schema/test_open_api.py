"""Operations and components outside of the service document: all of them, with their sources and sizes.

The tables are typed by hand from the recordings and the published reference. Shapes are those of
`tests.schema.test_documented_tables`.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from typing import Any

import attrs
import pytest

from brokerage_async import models
from brokerage_async._generated import operations as generated
from brokerage_async.errors import InvalidRequestError
from brokerage_async.protocol.decoding import codec
from brokerage_async.protocol.request import encode_body
from brokerage_async.protocol.validation.requests import check, problems_of
from tests.schema.sources import schema_files
from tests.schema.test_documented_tables import OPERATIONS, SCHEMAS, answer, is_documented, json_schema
from tests.tables import for_each
from tests.vectors.backtests import NEW
from tests.vectors.complex_orders import BRACKET, BUY, PAIRS

UNDOCUMENTED = {
    "orders.replace": ("published", "PUT /accounts/{account_number}/orders/{id}", "Order"),
    "orders.edit": ("published", "PATCH /accounts/{account_number}/orders/{id}", "Order"),
    "quote_alerts.create": ("published", "POST /quote-alerts", "QuoteAlert"),
    "quote_alerts.cancel": ("published", "DELETE /quote-alerts/{alert_external_id}", None),
    "accounts.customer": ("recorded", "GET /customers/{customer_id}", "Customer"),
    "accounts.list": ("recorded", "GET /customers/{customer_id}/accounts", "[CustomerAccount]"),
    "accounts.get": ("recorded", "GET /customers/{customer_id}/accounts/{account_number}", "Account"),
    "accounts.trading_status": ("recorded", "GET /accounts/{account_number}/trading-status", "TradingStatus"),
    "balances.list": (
        "recorded", "GET /accounts/{account_number}/balances", "AccountBalance or [AccountBalance]",
    ),
    "balances.get": ("client", "GET /accounts/{account_number}/balances/{currency}", "AccountBalance"),
    "balances.snapshots": (
        "recorded", "GET /accounts/{account_number}/balance-snapshots", "pages of AccountBalance",
    ),
    "balances.net_liq_history": (
        "recorded", "GET /accounts/{account_number}/net-liq/history", "NetLiqOhlc or [NetLiqOhlc]",
    ),
    "positions.list": ("recorded", "GET /accounts/{account_number}/positions", "[Position]"),
    "risk.position_limit": ("recorded", "GET /accounts/{account_number}/position-limit", "PositionLimit"),
    "risk.span_rows": ("published", "GET /span/rows", "pages of SpanRow"),
    "margin.effective_requirement": (
        "recorded", "GET /accounts/{account_number}/margin-requirements/{underlying_symbol}/effective",
        "EffectiveMarginRequirement",
    ),
    "margin.public_configuration": ("recorded", "GET /margin-requirements-public-configuration", "MarginConfiguration"),
    "transactions.get": ("published", "GET /accounts/{account_number}/transactions/{id}", "Transaction"),
    "transactions.total_fees": ("recorded", "GET /accounts/{account_number}/transactions/total-fees", "TotalFees"),
    "instruments.equity": ("recorded", "GET /instruments/equities/{symbol}", "Equity"),
    "instruments.active_equities": ("recorded", "GET /instruments/equities/active", "pages of Equity"),
    "instruments.equity_option": ("recorded", "GET /instruments/equity-options/{symbol}", "EquityOption"),
    "instruments.futures": ("recorded", "GET /instruments/futures", "pages of Future"),
    "instruments.future": ("recorded", "GET /instruments/futures/{symbol}", "Future"),
    "instruments.future_products": ("recorded", "GET /instruments/future-products", "pages of FutureProduct"),
    "instruments.future_product": ("recorded", "GET /instruments/future-products/{exchange}/{code}", "FutureProduct"),
    "instruments.future_option_products": (
        "recorded", "GET /instruments/future-option-products",
        "pages of FutureOptionProductDetails",
    ),
    "instruments.future_option_product": (
        "published", "GET /instruments/future-option-products/{root_symbol}",
        "FutureOptionProductDetails",
    ),
    "instruments.future_option_product_of_exchange": (
        "recorded", "GET /instruments/future-option-products/{exchange}/{root_symbol}",
        "FutureOptionProductDetails",
    ),
    "instruments.future_options": ("recorded", "GET /instruments/future-options", "pages of FutureOption"),
    "instruments.future_option": ("recorded", "GET /instruments/future-options/{symbol}", "FutureOption"),
    "instruments.cryptocurrencies": ("recorded", "GET /instruments/cryptocurrencies", "[Cryptocurrency]"),
    "instruments.cryptocurrency": ("recorded", "GET /instruments/cryptocurrencies/{symbol}", "Cryptocurrency"),
    "instruments.warrants": ("recorded", "GET /instruments/warrants", "[Warrant]"),
    "instruments.quantity_decimal_precisions": (
        "recorded", "GET /instruments/quantity-decimal-precisions",
        "[QuantityDecimalPrecision]",
    ),
    "instruments.currency_pairs": ("client", "GET /instruments/currency-pairs", "[CurrencyPair]"),
    "option_chains.flat": ("recorded", "GET /option-chains/{symbol}", "[EquityOption]"),
    "option_chains.compact": ("recorded", "GET /option-chains/{symbol}/compact", "[CompactOptionChain]"),
    "option_chains.nested": ("recorded", "GET /option-chains/{symbol}/nested", "[NestedOptionChain]"),
    "option_chains.nested_futures": (
        "recorded", "GET /futures-option-chains/{symbol}/nested",
        "NestedFuturesOptionChain",
    ),
    "search.instruments": ("recorded", "GET /instruments/search", "[InstrumentSearchHit]"),
    "search.symbols": ("recorded", "GET /symbols/search/{symbol}", "SymbolSearchHit or [SymbolSearchHit]"),
    "market_data.by_type": ("recorded", "GET /market-data/by-type", "[MarketDataSnapshot]"),
    "market_data.get": ("client", "GET /market-data/{instrument_type}/{symbol}", "MarketDataSnapshot"),
    "market_data.quote_token": ("recorded", "GET /api-quote-tokens", "QuoteToken"),
    "market_metrics.list": ("recorded", "GET /market-metrics", "[UnderlyingMetrics]"),
    "market_time.equity_session": ("recorded", "GET /market-time/equities/sessions/current", "CurrentMarketSession"),
    "market_time.next_equity_session": ("published", "GET /market-time/equities/sessions/next", "MarketSession"),
    "market_time.previous_equity_session": (
        "published", "GET /market-time/equities/sessions/previous",
        "MarketSession",
    ),
    "market_time.futures_sessions": (
        "published", "GET /market-time/futures/sessions/current",
        "CurrentMarketSession or [CurrentMarketSession]",
    ),
    "market_time.futures_session": (
        "published", "GET /market-time/futures/sessions/current/{instrument_collection}",
        "CurrentMarketSession",
    ),
    "market_time.next_futures_session": (
        "published", "GET /market-time/futures/sessions/next/{instrument_collection}",
        "MarketSession",
    ),
    "market_time.previous_futures_session": (
        "published", "GET /market-time/futures/sessions/previous/{instrument_collection}",
        "MarketSession",
    ),
    "market_time.futures_holidays": (
        "published", "GET /market-time/futures/holidays/{instrument_collection}",
        "HolidayCalendar or [HolidayCalendar]",
    ),
    "watchlists.get": ("recorded", "GET /watchlists/{watchlist_name}", "Watchlist"),
    "watchlists.replace": ("recorded", "PUT /watchlists/{watchlist_name}", "Watchlist"),
    "watchlists.delete": ("recorded", "DELETE /watchlists/{watchlist_name}", None),
    "watchlists.list_public": ("recorded", "GET /public-watchlists", "[Watchlist]"),
    "watchlists.get_public": ("recorded", "GET /public-watchlists/{watchlist_name}", "Watchlist"),
    "watchlists.list_pairs": ("recorded", "GET /pairs-watchlists", "[PairsWatchlist]"),
    "watchlists.get_pairs": ("recorded", "GET /pairs-watchlists/{pairs_watchlist_name}", "PairsWatchlist"),
    "orders.get": ("published", "GET /accounts/{account_number}/orders/{id}", "Order"),
    "complex_orders.list": ("published", "GET /accounts/{account_number}/complex-orders", "pages of ComplexOrder"),
    "complex_orders.live": ("published", "GET /accounts/{account_number}/complex-orders/live", "[ComplexOrder]"),
    "complex_orders.submit": ("published", "POST /accounts/{account_number}/complex-orders", "PlacedOrderResponse"),
    "complex_orders.dry_run": (
        "published", "POST /accounts/{account_number}/complex-orders/dry-run", "PlacedOrderResponse",
    ),
    "complex_orders.edit_pairs_dry_run": (
        "published", "POST /accounts/{account_number}/complex-orders/{id}/dry-run", "PlacedOrderResponse",
    ),
    "backtests.available_dates": ("published", "GET /available-dates", "[BacktestDates]"),
    "backtests.list": ("published", "GET /backtests", "[string]"),
    "backtests.create": ("published", "POST /backtests", "Backtest"),
    "backtests.get": ("published", "GET /backtests/{id}", "Backtest"),
    "backtests.logs": ("published", "GET /backtests/{id}/logs", None),
    "backtests.cancel": ("published", "POST /backtests/{id}/cancel", None),
    "backtests.simulate_trade": ("published", "POST /simulate-trade", "[SimulatedPrice]"),
    "complex_orders.cancel": ("published", "DELETE /accounts/{account_number}/complex-orders/{id}", "ComplexOrder"),
}  # fmt: skip

# Fields of each component, those of other provenances included.
COUNTS = {
    "AccountBalance": 71,
    "Account": 28,
    "Address": 9,
    "Customer": 55,
    "Backtest": 14,
    "BacktestLeg": 11,
    "EntryConditions": 6,
    "ExitConditions": 5,
    "NewBacktest": 6,
    "CustomerSuitability": 16,
    "EffectiveMarginRequirement": 10,
    "Entity": 25,
    "EntityOfficer": 29,
    "EntitySuitability": 10,
    "NetLiqOhlc": 13,
    "PermittedAccountType": 6,
    "PermittedMarginType": 2,
    "Person": 18,
    "Position": 33,
    "PositionLimit": 13,
    "SpanRow": 4,
    "TotalFees": 2,
    "TradingStatus": 44,
    "Transaction": 49,
    "ChainFuture": 10,
    "CompactOptionChain": 9,
    "Cryptocurrency": 10,
    "CurrencyPair": 5,
    "Deliverable": 8,
    "DestinationVenueSymbol": 6,
    "ExpectedEarnings": 9,
    "ExpirationVolatility": 4,
    "Future": 34,
    "FutureOptionProduct": 20,
    "FutureOptionProductDetails": 21,
    "FutureProduct": 34,
    "FuturesOptionChain": 4,
    "FuturesOptionExpiration": 16,
    "InstrumentSearchHit": 13,
    "LiquidityState": 4,
    "MarketDataSnapshot": 52,
    "UnderlyingMetrics": 44,
    "NestedFuturesOptionChain": 2,
    "NestedOptionChain": 7,
    "NewComplexOrder": 7,
    "NewQuoteAlert": 8,
    "OptionExpiration": 5,
    "OptionStrike": 5,
    "PairsEquation": 6,
    "PairsWatchlist": 5,
    "QuantityDecimalPrecision": 4,
    "QuoteToken": 6,
    "SymbolSearchHit": 7,
    "TickSize": 3,
    "Watchlist": 10,
    "ExternalTransaction": 15,
    "MarketStateEntry": 10,
    "MarketStateSnapshot": 3,
    "OrderChain": 9,
    "OrderChainEntry": 5,
    "OrderChainLeg": 5,
    "OrderChainNode": 16,
    "OrderChainTotals": 22,
    "UnderlyingYearGainSummary": 12,
    # Market events: eventSymbol and eventTime, and the fields of the published reference.
    "Candle": 17,
    "Greeks": 13,
    "Profile": 19,
    "Quote": 12,
    "Series": 14,
    "Summary": 13,
    "TheoPrice": 12,
    "TimeAndSale": 21,
    "Trade": 14,
    "TradeETH": 14,
    "Underlying": 12,
}


def test_undocumented_operations_are_those_of_the_table() -> None:
    present = {
        name: operation["x-provenance"] for name, (_, operation) in OPERATIONS.items() if not is_documented(operation)
    }
    assert present == {name: provenance for name, (provenance, _, _) in UNDOCUMENTED.items()}


@for_each("name", UNDOCUMENTED)
def test_call_and_answer(name: str) -> None:
    call, operation = OPERATIONS[name]
    _, expected_call, expected_answer = UNDOCUMENTED[name]
    success, *others = [content for status, content in operation["responses"].items() if status.startswith("2")]
    assert [other.get("content") for other in others] in ([], [success.get("content")])
    assert call == expected_call
    assert (answer(json_schema(success)) if "content" in success else None) == expected_answer


@for_each("name, count", COUNTS.items())
def test_number_of_fields(name: str, count: int) -> None:
    assert len(SCHEMAS[name]["properties"]) == count


def test_personal_data_is_marked() -> None:
    assert {name for name, schema in SCHEMAS.items() if schema.get("x-personal")} == {
        "Address", "Customer", "CustomerSuitability", "Entity", "EntityOfficer", "EntitySuitability", "Person",
    }  # fmt: skip


# -- rules of requests, applied

OCO = attrs.evolve(BRACKET, type=models.ComplexOrderType.OCO, trigger_order=None)
OTO = attrs.evolve(BRACKET, type=models.ComplexOrderType.OTO)


@for_each("order", [BRACKET, PAIRS, OCO, OTO])
def test_complex_order_of_each_type_keeps_the_rules(order: models.NewComplexOrder) -> None:
    assert problems_of(order, strict=True) == ()


@for_each(
    "order, change, problem",
    [
        (BRACKET, {"trigger_order": None}, ("required", "trigger-order")),
        (OTO, {"trigger_order": None}, ("required", "trigger-order")),
        (OCO, {"trigger_order": BUY}, ("forbidden", "trigger-order")),
        (BRACKET, {"orders": [BUY]}, ("too_few_items", "orders")),
        (OCO, {"orders": [BUY, BRACKET.orders[1], BRACKET.orders[1]]}, ("too_many_items", "orders")),
        (OCO, {"orders": [BUY] * 2}, ("too_many_items", "orders")),
        (OTO, {"orders": [BUY] * 4}, ("too_many_items", "orders")),
        (PAIRS, {"ratio_price_threshold": None}, ("required", "ratio-price-threshold")),
        (PAIRS, {"ratio_price_threshold": Decimal(0)}, ("out_of_range", "ratio-price-threshold")),
        (BRACKET, {"trigger_order": attrs.evolve(BUY, price=None)}, ("required", "trigger-order.price")),
    ],
)
def test_complex_order_that_breaks_a_rule(order: Any, change: dict[str, Any], problem: tuple[str, str]) -> None:
    """The published rules are the service's and the tickets' to check; the client refuses what cannot be meant."""
    broken = attrs.evolve(order, **change)
    found, refused = problems_of(broken, service=True), problems_of(broken)
    assert problem in [(each.code, each.domain) for each in found]
    own = [("out_of_range", "ratio-price-threshold"), ("required", "trigger-order.price")]
    assert [(each.code, each.domain) for each in refused] == [each for each in own if each == problem]


def test_leg_of_a_backtest_without_its_terms_is_refused_by_the_service() -> None:
    put = models.BacktestLeg(
        type=models.BacktestLegType.EQUITY_OPTION,
        direction=models.BacktestDirection.SHORT,
        quantity=101,
        strike_selection=models.StrikeSelection.DELTA,
        days_until_expiration=45,
    )
    backtest = attrs.evolve(NEW, legs=[models.BacktestLeg(), put])
    assert [problem.domain for problem in problems_of(backtest)] == ["legs[1].quantity"]
    assert [(problem.code, problem.domain) for problem in problems_of(backtest, service=True)] == [
        ("required", "legs[0].type"),
        ("required", "legs[0].direction"),
        ("required", "legs[0].quantity"),
        ("required", "legs[0].strikeSelection"),
        ("required", "legs[0].daysUntilExpiration"),
        ("out_of_range", "legs[1].quantity"),
        ("required", "legs[1].side"),
    ]


@for_each("kind", ["Index", "Bond", "Unknown", "Warrant"])
def test_order_of_an_instrument_that_cannot_be_ordered_is_refused(kind: str) -> None:
    leg = attrs.evolve(BUY.legs[0], instrument_type=models.InstrumentType(kind))
    assert [each.domain for each in problems_of(attrs.evolve(BUY, legs=[leg]))] == ["legs[0].instrument-type"]


@for_each(
    "operation, query, problem",
    [
        (generated.MARKET_METRICS_LIST, {"symbols": ["A,B"]}, ("value_not_allowed", "symbols[0]")),
        (generated.MARKET_METRICS_LIST, {"symbols": []}, ("too_few_items", "symbols")),
        (generated.SEARCH_INSTRUMENTS, {"limit": 101}, ("out_of_range", "limit")),
    ],
)
def test_query_that_breaks_a_rule(operation: Any, query: dict[str, Any], problem: tuple[str, str]) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        check(operation, {}, query, None)
    assert [(each.code, each.domain) for each in caught.value.errors] == [problem]


@for_each(
    "operation, query",
    [
        (generated.MARKET_DATA_BY_TYPE, {}),
        (generated.MARKET_DATA_BY_TYPE, {"equity": ["A"] * 60, "future": ["B"] * 41}),
        (generated.BALANCES_NET_LIQ_HISTORY, {}),
        (generated.ORDERS_LIST, {"underlying-instrument-type": "Warrant"}),
    ],
)
def test_query_that_breaks_a_published_rule_is_sent(operation: Any, query: dict[str, Any]) -> None:
    assert operation.service_rules
    check(operation, {"account_number": "5WT00001"}, query, None)


def test_published_fields_are_read() -> None:
    def decoded(operation: str, data: str) -> Any:
        return codec.decode(generated.OPERATIONS[operation], f'{{"data":{data}}}'.encode(), strict=True).value

    fees = decoded("orders.dry_run", '{"closing-fee-calculation":{"total-fees":"0.5"}}').closing_fee_calculation
    assert fees.total_fees == Decimal("0.5")
    assert decoded("orders.dry_run", '{"closing-fee-calculation":"0.12"}').closing_fee_calculation == "0.12"
    (price,) = decoded(
        "market_data.by_type", '{"items":[{"dayOpen":"1","prevDayClose":"2","close-price-type":"Regular"}]}'
    )
    assert (price.day_open, price.prev_day_close) == (1, 2)
    assert price.close_price_type is models.ClosePriceType.REGULAR
    (metrics,) = decoded("market_metrics.list", '{"items":[{"implied-volatility-rank":"0.3","liquidity":"4"}]}')
    assert (metrics.implied_volatility_index_rank, metrics.liquidity_value) == (Decimal("0.3"), 4)
    equity = decoded("instruments.equity", '{"market-time-instrument-collection":"Equity Index"}')
    assert equity.market_time_instrument_collection == models.InstrumentCollection.EQUITY_INDEX
    (bar,) = decoded("balances.net_liq_history", '{"items":[{"time":"2026-03-02T09:30:00-05:00[America/New_York]"}]}')
    assert bar.time.utcoffset() == timedelta(hours=-5)
    (booking,) = decoded("transactions.list", '{"items":[{"id":1,"transaction-type":"Trade"}]}')
    assert booking.transaction_type is models.TransactionType.TRADE
    ticket = attrs.evolve(BUY, max_value_per_liquidity_allocation_fill=Decimal(100))
    assert b'"max-value-per-liquidity-allocation-fill":"100"' in encode_body(generated.ORDERS_DRY_RUN, ticket)


def refusing_rules(node: Any, grade: str = "documented") -> Iterator[tuple[str, str]]:
    """Yield the grade and the message of each rule that the client checks before it sends."""
    if isinstance(node, dict):
        grade = node.get("x-provenance", grade)
        for each in node.get("x-rules", ()):
            if isinstance(each, list):  # rules that other bodies share with `NewOrder`, which the document describes
                yield from ((rule.get("x-provenance", "documented"), rule["message"]) for rule in each)
            else:
                yield each.get("x-provenance", grade), each["message"]
        node = node.values()
    if not isinstance(node, str | int | float | None):
        for each in node:
            yield from refusing_rules(each, grade)


def test_client_refuses_only_what_the_service_document_forbids() -> None:
    """Or what this library guards against: all other rules are the service's to judge."""
    rules = list(refusing_rules(list(schema_files().values())))
    assert len(rules) > 20
    assert [rule for rule in rules if rule[0] not in ("documented", "library")] == []
