"""Questions of `conformance` about recorded behaviour, one for each entry of the list that can be asked for safely.

A probe returns None if the service does as described, else what it does: words of ours, or its answer. A switch of the
simulator that is turned off makes exactly its own probe differ.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from .._generated.models import (
    Comparator,
    ComplexOrderType,
    ConditionAction,
    InstrumentType,
    LegAction,
    MarginOrder,
    NewComplexOrder,
    NewOrder,
    NewOrderCondition,
    NewOrderLeg,
    NewOrderRules,
    OrderType,
    PreflightCode,
    PriceEffect,
    QuantityDirection,
    TimeInForce,
)
from .._generated.operations import OPERATIONS
from ..protocol.decoding.lenient import parse
from .witness import VERSION, Answer, NotAskedError, Witness, leg, limit, sale

__all__ = ["PROBES", "unasked"]

Probe = Callable[[Witness], Awaitable[Answer | str | None]]

UNRELATED = frozenset(
    {
        "margin_check_failed", "tif_no_after_hours_opening_market_orders", "illegal_buy_and_sell_on_same_symbol",
        "cannot_close_against_more_than_existing_position", "invalid_symbol", "not_permitted", "unauthorized",
    }
)  # fmt: skip
"""Codes that say nothing about the rule which a dry-run breaks."""

CLOSED = frozenset({PreflightCode.TIF_NEXT_VALID_SESSION.value, PreflightCode.TIF_NEXT_VALID_SESSSION.value})

_STREAM = "it shows on a stream, and the command asks over HTTP only"
_WRITE = "it shows when an order works, fills or is changed"
_LOAD = "asking would load the service or block a login"
_CLIENT = "it concerns the client alone"
_FIELDS = "it is part of the schema, with which the answers are compared"

_REASONS: Mapping[str, Sequence[str]] = {
    _WRITE: (
        "off_tick_rejected_at_routing", "live_lists_keep_working_orders", "edited_orders_are_bare",
        "edits_take_no_legs", "sandbox_fills_by_market_simulators", "sandbox_is_reset_daily",
        "administrators_remove_orders", "cancels_confirmed_late", "filled_with_fills_to_come",
        "fills_after_cancel_requests", "live_orders_can_be_rejected", "no_change_before_live", "orders_can_be_dead",
        "orders_pass_in_flight", "replacements_wait_for_the_cancel", "sandbox_sessions_go_offline",
        "submits_held_for_long", "options_deliver", "stops_of_spreads_have_a_net_trigger",
        "future_options_have_no_stops",
    ),
    "it shows by an order of an evening": ("order_searches_count_eastern_days",),
    "it shows at night": ("overnight_orders_work_at_night",),
    "another rule refuses such an order first": ("oco_orders_have_two_components",),
    "all orders for cryptocurrencies are refused": ("cryptocurrency_orders_have_one_leg",),
    "it changes something": ("deleted_watchlists_are_returned",),
    _LOAD: ("rates_of_operations", "bare_429", "failed_logins_block", "some_401s_need_the_user"),
    _CLIENT: (
        "versions_in_production_only", "sandbox_has_no_market_data", "invented_preflight_codes",
        "exchange_identifier_is_never_sent",
    ),
    _FIELDS: (
        "closing_fees_are_an_object", "liquidity_allocations_have_a_maximum", "prices_have_fields_of_the_day",
        "indices_have_a_collection", "backtests_have_logs", "some_times_name_their_zone", "some_operations_end",
        "transactions_have_types", "backtests_have_bounds",
    ),
    "it takes --orders, in the sandbox": ("external_identifier_echoed",),
    _STREAM: (
        "account_stream_unknown_domain", "account_stream_missing_value", "account_stream_answer_without_value",
        "account_stream_tokens", "candle_history_contract", "mute_streams", "lost_events", "quote_token_address",
        "unknown_streamer_symbols",
    ),
}  # fmt: skip
_UNASKED = {name: reason for reason, names in _REASONS.items() for name in names}


def unasked(name: str) -> str:
    """Return why an entry of the list has no probe."""
    return _STREAM if name.startswith("dxlink_") else _UNASKED.get(name, "it has no probe")


# Customers, versions, lists.


async def _customer_is_me(witness: Witness) -> Answer | None:
    (customer,) = await _rows(witness, "accounts.customer")
    if not customer.id:
        raise NotAskedError("the customer has no identifier")
    if customer.id == "me":
        return None
    answer = await witness.send(OPERATIONS["accounts.list"].bind(customer_id=customer.id))
    return answer if answer.is_success else None


async def _versioned(witness: Witness, name: str, version: str | None = VERSION) -> Answer:
    """Return the answer of a list of an account or a customer in a version."""
    if not witness.in_production:
        raise NotAskedError("the client asks for no version in the sandbox")
    values: dict[str, Any] = {"account_number": await witness.account()}
    if name == "orders.live":
        values = {"customer_id": "me", "account_numbers": [await witness.account()]}
    elif name == "instruments.equity_options":
        values = {"symbols": list(await witness.options())}
    return await witness.send(OPERATIONS[name].bind(**values), version=version)


def _is_answered(answer: Answer) -> bool:
    """Return whether a list was answered; a refusal of the version or of a value counts, others say nothing."""
    if answer.status in (401, 403, 404, 429) or answer.status >= 500:
        raise NotAskedError("the request was refused for another reason")
    return answer.is_success


def _is_paged(answer: Answer) -> bool:
    return answer.decoded is not None and answer.decoded.pagination is not None


def _has_pages(name: str) -> Probe:
    async def probe(witness: Witness) -> Answer | str | None:
        answer = await _versioned(witness, name)
        if not _is_answered(answer):
            return answer
        return None if _is_paged(answer) else "a list without pages"

    return probe


async def _balances_are_a_list(witness: Witness) -> Answer | str | None:
    answer = await _versioned(witness, "balances.list")
    if not _is_answered(answer):
        return answer
    if answer.decoded is None:
        return "a body that cannot be read"
    raw = parse(answer.body)
    data = raw.get("data") if isinstance(raw, dict) else None
    return None if isinstance(data, dict) and "items" in data else "one object"


async def _order_searches_need_a_start(witness: Witness) -> Answer | None:
    answer = await _search_without_start(witness, VERSION)
    return answer if _is_answered(answer) or answer.status != 400 else None


async def _search_without_start(witness: Witness, version: str | None) -> Answer:
    if not witness.in_production:
        raise NotAskedError("the client asks for no version in the sandbox")
    return await witness.get(f"/accounts/{await witness.account()}/orders", version=version, per_page=1)


async def _older_versions_get_a_406(witness: Witness) -> Answer | None:
    if not witness.in_production:
        raise NotAskedError("the client asks for no version in the sandbox")
    answer = await witness.send(OPERATIONS["market_time.equity_holidays"].bind(), version="20200101")
    return None if answer.status == 406 else answer


async def _no_version_gets_the_oldest(witness: Witness) -> str | None:
    """Look for what only the newest version does: the pages of a customer's list, and the refusal of a search."""
    for version in ("20250813", None):
        live, search = await _versioned(witness, "orders.live", version), await _search_without_start(witness, version)
        _is_answered(live)
        is_new = search.status == 400 or _is_paged(live)
        if version is not None and (is_new or live.status == 406):
            raise NotAskedError("the versions cannot be told apart")
    return "a newer version" if is_new else None


async def _pages_have_maxima(witness: Witness) -> Answer | None:
    account, start = await witness.account(), witness.today.isoformat()
    version = VERSION if witness.in_production else None
    for name, most in (("orders", 200), ("transactions", 2_000)):
        answer = await witness.get(f"/accounts/{account}/{name}", version=version, per_page=most + 1, start_date=start)
        if _is_answered(answer) or answer.status != 400:
            return answer
    return None


async def _order_searches_take_three_underlying_types(witness: Witness) -> Answer | None:
    bound = OPERATIONS["orders.list"].bind(
        account_number=await witness.account(), underlying_instrument_type=InstrumentType.WARRANT, per_page=1
    )
    answer = await witness.send(bound)
    return answer if _is_answered(answer) or answer.status not in (400, 422) else None


# Fields.


async def _rows(witness: Witness, name: str) -> Sequence[Any]:
    rows = (await witness.ask(name)).rows
    if not rows:
        raise NotAskedError(f"{name} has no row")
    return rows


async def _day_trader_fields_still_arrive(witness: Witness) -> str | None:
    accounts = [row.account for row in await _rows(witness, "accounts.list")]
    return None if any(each and each.day_trader_status is not None for each in accounts) else "no such field"


async def _quote_token_level(witness: Witness) -> str | None:
    (token,) = await _rows(witness, "market_data.quote_token")
    level = "api" if witness.in_production else "demo"
    return None if token.level == level else f"another level than {level}"


async def _tick_tables_by_threshold(witness: Witness) -> str | None:
    tables = [row.tick_sizes for row in await _rows(witness, "instruments.equities") if row.tick_sizes]
    if not tables:
        raise NotAskedError("instruments.equities has no table of ticks")
    open_ended = {sum(each.threshold is None for each in table) for table in tables}
    return None if open_ended == {1} else "tables without exactly one row that has no threshold"


async def _metrics_have_two_spellings(witness: Witness) -> str | None:
    found = await _rows(witness, "market_metrics.list")
    return None if any(row.implied_volatility_index_rank is not None for row in found) else "neither spelling"


# Dry-runs.


def _refused(
    make: Callable[[Witness], Awaitable[object]], code: str | None = None, operation: str = "orders.dry_run"
) -> Probe:
    """Return the probe of a rule: a dry-run that breaks it is refused, with ``code`` if that is known."""

    async def probe(witness: Witness) -> Answer | None:
        answer = await witness.dry_run(await make(witness), operation)
        codes = {each for each in answer.codes if each}
        if _is_answered(answer):
            return answer
        if code in codes or (code is None and not codes & UNRELATED):
            return None
        if codes & UNRELATED:
            raise NotAskedError("the dry-run was refused for another reason")
        return answer

    return probe


async def _no_price_effect(witness: Witness) -> NewOrder:
    return limit(leg(await witness.symbol()), price_effect=None)


async def _market_of_two(witness: Witness) -> NewOrder:
    legs = [leg(symbol, kind=InstrumentType.EQUITY_OPTION) for symbol in await witness.options()]
    return _market(*legs)


async def _opening_stop_gtc(witness: Witness) -> NewOrder:
    terms = {"order_type": OrderType.STOP, "time_in_force": TimeInForce.GTC, "stop_trigger": Decimal(9000)}
    return _market(leg(await witness.symbol()), **terms)


async def _market_when_closed(witness: Witness) -> NewOrder:
    if not await _is_closed(witness):
        raise NotAskedError("the market is open")
    return _market(leg(await witness.symbol()))


async def _notional_of_a_dollar(witness: Witness) -> NewOrder:
    terms = {"order_type": OrderType.NOTIONAL_MARKET, "value": Decimal(1), "value_effect": PriceEffect.DEBIT}
    return _market(leg(await witness.symbol(), quantity=None), **terms)


def _market(*legs: NewOrderLeg, **terms: Any) -> NewOrder:
    return limit(*legs, **{"order_type": OrderType.MARKET, "price": None, "price_effect": None, **terms})


async def _option_in_extended_hours(witness: Witness) -> NewOrder:
    _, option = await witness.options()
    return limit(leg(option, kind=InstrumentType.EQUITY_OPTION), time_in_force=TimeInForce.EXT)


async def _plain_action_of_an_option(witness: Witness) -> NewOrder:
    rows = await _rows(witness, "instruments.future_options")
    latest = max(rows, key=lambda row: str(row.expiration_date))
    return limit(leg(latest.symbol, LegAction.BUY, kind=InstrumentType.FUTURE_OPTION))


async def _coins(witness: Witness) -> NewOrder:
    (coin, *_) = await _rows(witness, "instruments.cryptocurrencies")
    return limit(leg(coin.symbol, quantity="0.001", kind=InstrumentType.CRYPTOCURRENCY))


async def _half_a_condition(witness: Witness) -> NewOrder:
    symbol = await witness.symbol()
    condition = NewOrderCondition(action=ConditionAction.ROUTE, comparator=Comparator.GTE, symbol=symbol)
    return limit(leg(symbol), rules=NewOrderRules(conditions=(condition,)))


async def _option_twice(witness: Witness) -> NewOrder:
    _, option = await witness.options()
    return limit(*[leg(option, kind=InstrumentType.EQUITY_OPTION)] * 2)


async def _no_trigger(witness: Witness) -> NewComplexOrder:
    return NewComplexOrder(type=ComplexOrderType.OTOCO, orders=witness.exits(await witness.symbol()))


async def _two_limits(witness: Witness) -> NewComplexOrder:
    profit, _ = witness.exits(await witness.symbol())
    return NewComplexOrder(type=ComplexOrderType.OCO, orders=(profit, profit))


async def _blast(witness: Witness) -> NewComplexOrder:
    return NewComplexOrder(type=ComplexOrderType.BLAST, orders=witness.exits(await witness.symbol()))


async def _same_symbol_twice(witness: Witness) -> MarginOrder:
    symbol = await witness.symbol()
    return await witness.margin_order(symbol, symbol)


async def _close_of_too_much(witness: Witness) -> NewOrder:
    for held in (await witness.ask("positions.list")).rows:
        is_long = held.quantity_direction is QuantityDirection.LONG
        if held.instrument_type is InstrumentType.EQUITY and is_long and held.quantity is not None:
            return sale(held.symbol, str(int(held.quantity) + 1))
    raise NotAskedError("the account holds no shares")


async def _is_closed(witness: Witness) -> bool:
    """Return whether an order of the day would wait for the next session, as its dry-run warns."""
    return bool(_warnings(await witness.ask("orders.dry_run")) & CLOSED)


def _warnings(answer: Answer) -> set[str]:
    return {str(each.code) for placed in answer.rows for each in placed.warnings or ()}


async def _next_session_warning_is_dotted(witness: Witness) -> str | None:
    if not await _is_closed(witness):
        raise NotAskedError("the market is open")
    is_dotted = PreflightCode.TIF_NEXT_VALID_SESSION in _warnings(await witness.ask("orders.dry_run"))
    return None if is_dotted else PreflightCode.TIF_NEXT_VALID_SESSSION.value


async def _close_of_nothing(witness: Witness) -> tuple[set[str], set[str]]:
    """Return the actions and the warnings of the dry-run of a close without a position."""
    close = sale(await witness.symbol())
    answer = await witness.once("close of nothing", lambda: witness.dry_run(close))
    orders = [placed.order for placed in answer.rows if placed.order is not None]
    if not orders:
        raise NotAskedError("the dry-run was refused")
    return {str(each.action) for order in orders for each in order.legs or ()}, _warnings(answer)


async def _close_becomes_open(witness: Witness) -> str | None:
    actions, _ = await _close_of_nothing(witness)
    return None if actions == {"Sell to Open"} else "the leg stays a close"


async def _closing_with_no_position(witness: Witness) -> str | None:
    actions, warnings = await _close_of_nothing(witness)
    if "closing_with_no_position" in warnings:
        return None
    if actions != {"Sell to Open"}:
        raise NotAskedError("the close stays one")
    return "no such warning"


COMPLEX = "complex_orders.dry_run"
PROBES: Mapping[str, Probe] = {
    "customer_is_me": _customer_is_me,
    "close_becomes_open": _close_becomes_open,
    "closing_with_no_position": _closing_with_no_position,
    "older_versions_get_a_406": _older_versions_get_a_406,
    "no_version_gets_the_oldest": _no_version_gets_the_oldest,
    "balances_are_a_list": _balances_are_a_list,
    "equity_options_in_pages": _has_pages("instruments.equity_options"),
    "account_live_list_in_pages": _has_pages("orders.list_live"),
    "customer_live_list_in_pages": _has_pages("orders.live"),
    "order_searches_need_a_start": _order_searches_need_a_start,
    "pages_have_maxima": _pages_have_maxima,
    "order_searches_take_three_underlying_types": _order_searches_take_three_underlying_types,
    "tick_tables_by_threshold": _tick_tables_by_threshold,
    "oco_orders_are_a_limit_and_a_stop": _refused(_two_limits, "invalid_oco_order_type_combo", COMPLEX),
    "cryptocurrency_orders_are_off": _refused(_coins),
    "price_terms_by_order_type": _refused(_no_price_effect),
    "market_orders_have_one_leg": _refused(_market_of_two),
    "market_orders_are_never_gtc": _refused(_opening_stop_gtc, "gtc_market_orders_not_supported"),
    "opening_market_orders_need_an_open_market": _refused(
        _market_when_closed, "tif_no_after_hours_opening_market_orders"
    ),
    "fractions_are_small_market_orders": _refused(_notional_of_a_dollar),
    "extended_hours_are_for_equities": _refused(_option_in_extended_hours),
    "buy_and_sell_are_for_futures": _refused(_plain_action_of_an_option),
    "conditions_are_complete": _refused(_half_a_condition),
    "legs_are_distinct_and_few": _refused(_option_twice),
    "complex_orders_have_their_components": _refused(_no_trigger, operation=COMPLEX),
    "blast_orders_are_refused": _refused(_blast, operation=COMPLEX),
    "margin_orders_have_four_distinct_legs": _refused(_same_symbol_twice, operation="margin.dry_run"),
    "no_account_holds_both_sides": _refused(_close_of_too_much, "cannot_close_against_more_than_existing_position"),
    "next_session_warning_is_dotted": _next_session_warning_is_dotted,
    "day_trader_fields_still_arrive": _day_trader_fields_still_arrive,
    "metrics_have_two_spellings": _metrics_have_two_spellings,
    "quote_token_level": _quote_token_level,
}
"""Probes by the entry of the list that they ask about."""
