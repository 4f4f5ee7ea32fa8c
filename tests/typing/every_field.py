# Written by `python -m codegen` from schema/; edit the schema and run it again, not this file.
"""The static type of every field of every model, compared by type checkers; nothing here is ever run."""

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any, assert_type

from brokerage_async import models


def check_pagination(it: models.Pagination) -> None:
    assert_type(it.per_page, int | None)
    assert_type(it.page_offset, int | None)
    assert_type(it.item_offset, int | None)
    assert_type(it.total_items, int | None)
    assert_type(it.total_pages, int | None)
    assert_type(it.current_item_count, int | None)
    assert_type(it.extra, Mapping[str, Any])


def check_error_body(it: models.ErrorBody) -> None:
    assert_type(it.code, str | None)
    assert_type(it.message, str | None)
    assert_type(it.errors, tuple[models.ErrorDetail, ...] | None)
    assert_type(it.extra, Mapping[str, Any])


def check_error_detail(it: models.ErrorDetail) -> None:
    assert_type(it.code, str | None)
    assert_type(it.message, str | None)
    assert_type(it.domain, str | None)
    assert_type(it.reason, str | None)
    assert_type(it.extra, Mapping[str, Any])


def check_market_session(it: models.MarketSession) -> None:
    assert_type(it.start_at, datetime | None)
    assert_type(it.open_at, datetime | None)
    assert_type(it.close_at, datetime | None)
    assert_type(it.close_at_ext, datetime | None)
    assert_type(it.instrument_collection, models.InstrumentCollection | None)
    assert_type(it.session_date, date | None)
    assert_type(it.extra, Mapping[str, Any])


def check_current_market_session(it: models.CurrentMarketSession) -> None:
    assert_type(it.start_at, datetime | None)
    assert_type(it.open_at, datetime | None)
    assert_type(it.close_at, datetime | None)
    assert_type(it.close_at_ext, datetime | None)
    assert_type(it.instrument_collection, models.InstrumentCollection | None)
    assert_type(it.session_date, date | None)
    assert_type(it.state, models.MarketState | None)
    assert_type(it.next_session, models.MarketSession | None)
    assert_type(it.previous_session, models.MarketSession | None)
    assert_type(it.extra, Mapping[str, Any])


def check_holiday_calendar(it: models.HolidayCalendar) -> None:
    assert_type(it.market_holidays, tuple[date, ...] | None)
    assert_type(it.market_half_days, tuple[date, ...] | None)
    assert_type(it.extra, Mapping[str, Any])


def check_earnings_report(it: models.EarningsReport) -> None:
    assert_type(it.occurred_date, date | None)
    assert_type(it.eps, Decimal | None)
    assert_type(it.extra, Mapping[str, Any])


def check_dividend(it: models.Dividend) -> None:
    assert_type(it.occurred_date, date | None)
    assert_type(it.amount, Decimal | None)
    assert_type(it.extra, Mapping[str, Any])


def check_equity(it: models.Equity) -> None:
    assert_type(it.active, bool | None)
    assert_type(it.borrow_rate, Decimal | None)
    assert_type(it.bypass_manual_review, bool | None)
    assert_type(it.country_of_incorporation, str | None)
    assert_type(it.country_of_taxation, str | None)
    assert_type(it.description, str | None)
    assert_type(it.halted_at, datetime | None)
    assert_type(it.instrument_sub_type, str | None)
    assert_type(it.instrument_type, models.InstrumentType | None)
    assert_type(it.is_closing_only, bool | None)
    assert_type(it.is_etf, bool | None)
    assert_type(it.is_fractional_quantity_eligible, bool | None)
    assert_type(it.is_illiquid, bool | None)
    assert_type(it.is_index, bool | None)
    assert_type(it.is_options_closing_only, bool | None)
    assert_type(it.lendability, models.Lendability | None)
    assert_type(it.listed_market, str | None)
    assert_type(it.market_time_instrument_collection, models.InstrumentCollection | None)
    assert_type(it.overnight_trading_permitted, bool | None)
    assert_type(it.pre_ipo, bool | None)
    assert_type(it.short_description, str | None)
    assert_type(it.stops_trading_at, datetime | None)
    assert_type(it.streamer_symbol, str | None)
    assert_type(it.symbol, str | None)
    assert_type(it.underlying_product_type, str | None)
    assert_type(it.option_tick_sizes, tuple[models.TickSize, ...] | None)
    assert_type(it.tick_sizes, tuple[models.TickSize, ...] | None)
    assert_type(it.id, int | None)
    assert_type(it.cusip, str | None)
    assert_type(it.extra, Mapping[str, Any])


def check_tick_size(it: models.TickSize) -> None:
    assert_type(it.value, Decimal | None)
    assert_type(it.threshold, Decimal | None)
    assert_type(it.extra, Mapping[str, Any])


def check_equity_option(it: models.EquityOption) -> None:
    assert_type(it.active, bool | None)
    assert_type(it.days_to_expiration, int | None)
    assert_type(it.exercise_style, str | None)
    assert_type(it.expiration_date, date | None)
    assert_type(it.expiration_type, str | None)
    assert_type(it.expires_at, datetime | None)
    assert_type(it.halted_at, datetime | None)
    assert_type(it.instrument_type, models.InstrumentType | None)
    assert_type(it.is_closing_only, bool | None)
    assert_type(it.listed_market, str | None)
    assert_type(it.market_time_instrument_collection, models.InstrumentCollection | None)
    assert_type(it.old_security_number, str | None)
    assert_type(it.option_chain_type, str | None)
    assert_type(it.option_type, models.OptionType | None)
    assert_type(it.root_symbol, str | None)
    assert_type(it.settlement_type, str | None)
    assert_type(it.shares_per_contract, int | None)
    assert_type(it.stops_trading_at, datetime | None)
    assert_type(it.streamer_symbol, str | None)
    assert_type(it.strike_price, Decimal | None)
    assert_type(it.symbol, str | None)
    assert_type(it.underlying_symbol, str | None)
    assert_type(it.extra, Mapping[str, Any])


def check_future_option(it: models.FutureOption) -> None:
    assert_type(it.active, bool | None)
    assert_type(it.days_to_expiration, int | None)
    assert_type(it.display_factor, Decimal | None)
    assert_type(it.exchange, str | None)
    assert_type(it.exercise_style, str | None)
    assert_type(it.expiration_date, date | None)
    assert_type(it.expires_at, datetime | None)
    assert_type(it.future_price_ratio, Decimal | None)
    assert_type(it.is_closing_only, bool | None)
    assert_type(it.is_confirmed, bool | None)
    assert_type(it.is_exercisable_weekly, bool | None)
    assert_type(it.is_primary_deliverable, bool | None)
    assert_type(it.is_vanilla, bool | None)
    assert_type(it.last_trade_time, str | None)
    assert_type(it.maturity_date, date | None)
    assert_type(it.multiplier, Decimal | None)
    assert_type(it.notional_value, Decimal | None)
    assert_type(it.option_root_symbol, str | None)
    assert_type(it.option_type, models.OptionType | None)
    assert_type(it.product_code, str | None)
    assert_type(it.root_symbol, str | None)
    assert_type(it.security_id, str | None)
    assert_type(it.settlement_type, str | None)
    assert_type(it.stops_trading_at, datetime | None)
    assert_type(it.streamer_symbol, str | None)
    assert_type(it.strike_factor, Decimal | None)
    assert_type(it.strike_price, Decimal | None)
    assert_type(it.symbol, str | None)
    assert_type(it.underlying_count, Decimal | None)
    assert_type(it.underlying_symbol, str | None)
    assert_type(it.exchange_symbol, str | None)
    assert_type(it.security_exchange, str | None)
    assert_type(it.sx_id, str | None)
    assert_type(it.future_option_product, models.FutureOptionProduct | None)
    assert_type(it.extra, Mapping[str, Any])


def check_future_option_product(it: models.FutureOptionProduct) -> None:
    assert_type(it.cash_settled, bool | None)
    assert_type(it.code, str | None)
    assert_type(it.display_factor, Decimal | None)
    assert_type(it.exchange, str | None)
    assert_type(it.expiration_type, str | None)
    assert_type(it.is_am_settled, bool | None)
    assert_type(it.itm_rule, str | None)
    assert_type(it.market_sector, str | None)
    assert_type(it.product_subtype, str | None)
    assert_type(it.product_type, str | None)
    assert_type(it.root_symbol, str | None)
    assert_type(it.settlement_delay_days, int | None)
    assert_type(it.supported, bool | None)
    assert_type(it.extra, Mapping[str, Any])


def check_warrant(it: models.Warrant) -> None:
    assert_type(it.active, bool | None)
    assert_type(it.cusip, str | None)
    assert_type(it.description, str | None)
    assert_type(it.instrument_type, models.InstrumentType | None)
    assert_type(it.is_closing_only, bool | None)
    assert_type(it.listed_market, str | None)
    assert_type(it.symbol, str | None)
    assert_type(it.extra, Mapping[str, Any])


def check_order(it: models.Order) -> None:
    assert_type(it.id, str | None)
    assert_type(it.account_number, str | None)
    assert_type(it.cancel_user_id, str | None)
    assert_type(it.cancel_username, str | None)
    assert_type(it.cancellable, bool | None)
    assert_type(it.cancelled_at, datetime | None)
    assert_type(it.cancelled_size, Decimal | None)
    assert_type(it.complex_order_id, str | None)
    assert_type(it.complex_order_tag, str | None)
    assert_type(it.contingent_status, models.ContingentStatus | None)
    assert_type(it.editable, bool | None)
    assert_type(it.edited, bool | None)
    assert_type(it.external_identifier, str | None)
    assert_type(it.global_request_id, str | None)
    assert_type(it.gtc_date, date | None)
    assert_type(it.in_flight_at, datetime | None)
    assert_type(it.leg_count, Decimal | None)
    assert_type(it.live_at, datetime | None)
    assert_type(it.order_type, models.OrderType | None)
    assert_type(it.preflight_id, str | None)
    assert_type(it.price, Decimal | None)
    assert_type(it.price_effect, models.PriceEffect | None)
    assert_type(it.received_at, datetime | None)
    assert_type(it.reject_reason, str | None)
    assert_type(it.replaces_order_id, str | None)
    assert_type(it.replacing_order_id, str | None)
    assert_type(it.size, Decimal | None)
    assert_type(it.source, str | None)
    assert_type(it.status, models.OrderStatus | None)
    assert_type(it.stop_trigger, Decimal | None)
    assert_type(it.terminal_at, datetime | None)
    assert_type(it.time_in_force, models.TimeInForce | None)
    assert_type(it.underlying_instrument_type, models.InstrumentType | None)
    assert_type(it.underlying_symbol, str | None)
    assert_type(it.updated_at, datetime | None)
    assert_type(it.user_id, str | None)
    assert_type(it.username, str | None)
    assert_type(it.value, Decimal | None)
    assert_type(it.value_effect, models.PriceEffect | None)
    assert_type(it.legs, tuple[models.OrderLeg, ...] | None)
    assert_type(it.order_rule, models.OrderRule | None)
    assert_type(it.ext_client_order_id, str | None)
    assert_type(it.ext_exchange_order_number, str | None)
    assert_type(it.ext_global_order_number, int | None)
    assert_type(it.destination_venue, str | None)
    assert_type(it.extra, Mapping[str, Any])


def check_order_leg(it: models.OrderLeg) -> None:
    assert_type(it.action, models.LegAction | None)
    assert_type(it.instrument_type, models.InstrumentType | None)
    assert_type(it.quantity, Decimal | None)
    assert_type(it.remaining_quantity, Decimal | None)
    assert_type(it.symbol, str | None)
    assert_type(it.fills, tuple[models.Fill, ...] | None)
    assert_type(it.extra, Mapping[str, Any])


def check_fill(it: models.Fill) -> None:
    assert_type(it.destination_venue, str | None)
    assert_type(it.ext_exec_id, str | None)
    assert_type(it.ext_group_fill_id, str | None)
    assert_type(it.fill_id, str | None)
    assert_type(it.fill_price, Decimal | None)
    assert_type(it.filled_at, datetime | None)
    assert_type(it.quantity, Decimal | None)
    assert_type(it.extra, Mapping[str, Any])


def check_order_rule(it: models.OrderRule) -> None:
    assert_type(it.cancel_at, datetime | None)
    assert_type(it.cancelled_at, datetime | None)
    assert_type(it.route_after, datetime | None)
    assert_type(it.routed_at, datetime | None)
    assert_type(it.order_conditions, tuple[models.OrderCondition, ...] | None)
    assert_type(it.extra, Mapping[str, Any])


def check_order_condition(it: models.OrderCondition) -> None:
    assert_type(it.id, str | None)
    assert_type(it.action, str | None)
    assert_type(it.comparator, models.Comparator | None)
    assert_type(it.indicator, str | None)
    assert_type(it.instrument_type, models.InstrumentType | None)
    assert_type(it.is_threshold_based_on_notional, bool | None)
    assert_type(it.symbol, str | None)
    assert_type(it.threshold, Decimal | None)
    assert_type(it.triggered_at, datetime | None)
    assert_type(it.triggered_value, Decimal | None)
    assert_type(it.price_components, tuple[models.PriceComponent, ...] | None)
    assert_type(it.extra, Mapping[str, Any])


def check_price_component(it: models.PriceComponent) -> None:
    assert_type(it.instrument_type, models.InstrumentType | None)
    assert_type(it.quantity, Decimal | None)
    assert_type(it.quantity_direction, str | None)
    assert_type(it.symbol, str | None)
    assert_type(it.extra, Mapping[str, Any])


def check_placed_order_response(it: models.PlacedOrderResponse) -> None:
    assert_type(it.buying_power_effect, models.BuyingPowerEffect | None)
    assert_type(it.closing_fee_calculation, str | None)
    assert_type(it.complex_order, models.ComplexOrder | None)
    assert_type(it.errors, tuple[models.PreflightMessage, ...] | None)
    assert_type(it.fee_calculation, models.FeeCalculation | None)
    assert_type(it.notes, tuple[models.PreflightMessage, ...] | None)
    assert_type(it.order, models.Order | None)
    assert_type(it.order_costs, str | None)
    assert_type(it.warnings, tuple[models.PreflightMessage, ...] | None)
    assert_type(it.extra, Mapping[str, Any])


def check_buying_power_effect(it: models.BuyingPowerEffect) -> None:
    assert_type(it.change_in_margin_requirement, Decimal | None)
    assert_type(it.change_in_margin_requirement_effect, models.PriceEffect | None)
    assert_type(it.change_in_buying_power, Decimal | None)
    assert_type(it.change_in_buying_power_effect, models.PriceEffect | None)
    assert_type(it.current_buying_power, Decimal | None)
    assert_type(it.current_buying_power_effect, models.PriceEffect | None)
    assert_type(it.new_buying_power, Decimal | None)
    assert_type(it.new_buying_power_effect, models.PriceEffect | None)
    assert_type(it.isolated_order_margin_requirement, Decimal | None)
    assert_type(it.isolated_order_margin_requirement_effect, models.PriceEffect | None)
    assert_type(it.is_spread, bool | None)
    assert_type(it.impact, Decimal | None)
    assert_type(it.effect, models.PriceEffect | None)
    assert_type(it.extra, Mapping[str, Any])


def check_fee_calculation(it: models.FeeCalculation) -> None:
    assert_type(it.regulatory_fees, Decimal | None)
    assert_type(it.regulatory_fees_effect, models.PriceEffect | None)
    assert_type(it.clearing_fees, Decimal | None)
    assert_type(it.clearing_fees_effect, models.PriceEffect | None)
    assert_type(it.commission, Decimal | None)
    assert_type(it.commission_effect, models.PriceEffect | None)
    assert_type(it.proprietary_index_option_fees, Decimal | None)
    assert_type(it.proprietary_index_option_fees_effect, models.PriceEffect | None)
    assert_type(it.total_fees, Decimal | None)
    assert_type(it.total_fees_effect, models.PriceEffect | None)
    assert_type(it.regulatory_fees_breakdown, tuple[models.FeeBreakdown, ...] | None)
    assert_type(it.clearing_fees_breakdown, tuple[models.FeeBreakdown, ...] | None)
    assert_type(it.commission_breakdown, tuple[models.FeeBreakdown, ...] | None)
    assert_type(it.proprietary_fees_breakdown, tuple[models.FeeBreakdown, ...] | None)
    assert_type(it.per_quantity, bool | None)
    assert_type(it.extra, Mapping[str, Any])


def check_fee_breakdown(it: models.FeeBreakdown) -> None:
    assert_type(it.name, str | None)
    assert_type(it.value, Decimal | None)
    assert_type(it.effect, models.PriceEffect | None)
    assert_type(it.extra, Mapping[str, Any])


def check_preflight_message(it: models.PreflightMessage) -> None:
    assert_type(it.code, str | None)
    assert_type(it.message, str | None)
    assert_type(it.preflight_id, str | None)
    assert_type(it.url, str | None)
    assert_type(it.extra, Mapping[str, Any])


def check_new_order(it: models.NewOrder) -> None:
    assert_type(it.order_type, models.OrderType)
    assert_type(it.time_in_force, models.TimeInForce)
    assert_type(it.legs, tuple[models.NewOrderLeg, ...])
    assert_type(it.gtc_date, date | None)
    assert_type(it.stop_trigger, Decimal | None)
    assert_type(it.price, Decimal | None)
    assert_type(it.price_effect, models.PriceEffect | None)
    assert_type(it.value, Decimal | None)
    assert_type(it.value_effect, models.PriceEffect | None)
    assert_type(it.automated_source, bool | None)
    assert_type(it.external_identifier, str | None)
    assert_type(it.partition_key, str | None)
    assert_type(it.preflight_id, str | None)
    assert_type(it.source, str | None)
    assert_type(it.rules, models.NewOrderRules | None)
    assert_type(it.advanced_instructions, models.AdvancedInstructions | None)
    assert_type(it.extra, Mapping[str, Any])


def check_new_order_leg(it: models.NewOrderLeg) -> None:
    assert_type(it.action, models.LegAction)
    assert_type(it.instrument_type, models.InstrumentType)
    assert_type(it.quantity, Decimal | None)
    assert_type(it.symbol, str)
    assert_type(it.extra, Mapping[str, Any])


def check_new_order_rules(it: models.NewOrderRules) -> None:
    assert_type(it.cancel_at, datetime | None)
    assert_type(it.route_after, datetime | None)
    assert_type(it.conditions, tuple[models.NewOrderCondition, ...] | None)
    assert_type(it.extra, Mapping[str, Any])


def check_new_order_condition(it: models.NewOrderCondition) -> None:
    assert_type(it.action, str | None)
    assert_type(it.instrument_type, models.InstrumentType | None)
    assert_type(it.symbol, str | None)
    assert_type(it.comparator, models.Comparator | None)
    assert_type(it.indicator, str | None)
    assert_type(it.threshold, Decimal | None)
    assert_type(it.price_components, tuple[models.NewPriceComponent, ...] | None)
    assert_type(it.extra, Mapping[str, Any])


def check_new_price_component(it: models.NewPriceComponent) -> None:
    assert_type(it.instrument_type, models.InstrumentType | None)
    assert_type(it.quantity, Decimal | None)
    assert_type(it.quantity_direction, str | None)
    assert_type(it.symbol, str | None)
    assert_type(it.extra, Mapping[str, Any])


def check_advanced_instructions(it: models.AdvancedInstructions) -> None:
    assert_type(it.strict_position_effect_validation, bool | None)
    assert_type(it.extra, Mapping[str, Any])


def check_order_edit(it: models.OrderEdit) -> None:
    assert_type(it.order_type, models.OrderType)
    assert_type(it.time_in_force, models.TimeInForce)
    assert_type(it.legs, tuple[models.NewOrderLeg, ...] | None)
    assert_type(it.gtc_date, date | None)
    assert_type(it.stop_trigger, Decimal | None)
    assert_type(it.price, Decimal | None)
    assert_type(it.price_effect, models.PriceEffect | None)
    assert_type(it.value, Decimal | None)
    assert_type(it.value_effect, models.PriceEffect | None)
    assert_type(it.automated_source, bool | None)
    assert_type(it.external_identifier, str | None)
    assert_type(it.partition_key, str | None)
    assert_type(it.preflight_id, str | None)
    assert_type(it.source, str | None)
    assert_type(it.extra, Mapping[str, Any])


def check_complex_order(it: models.ComplexOrder) -> None:
    assert_type(it.id, str | None)
    assert_type(it.account_number, str | None)
    assert_type(it.type, models.ComplexOrderType | None)
    assert_type(it.ratio_price_comparator, models.Comparator | None)
    assert_type(it.ratio_price_is_threshold_based_on_notional, bool | None)
    assert_type(it.ratio_price_threshold, Decimal | None)
    assert_type(it.terminal_at, datetime | None)
    assert_type(it.related_orders, tuple[models.RelatedOrder, ...] | None)
    assert_type(it.orders, tuple[models.Order, ...] | None)
    assert_type(it.trigger_order, models.Order | None)
    assert_type(it.extra, Mapping[str, Any])


def check_related_order(it: models.RelatedOrder) -> None:
    assert_type(it.id, str | None)
    assert_type(it.complex_order_id, str | None)
    assert_type(it.complex_order_tag, str | None)
    assert_type(it.replaces_order_id, str | None)
    assert_type(it.replacing_order_id, str | None)
    assert_type(it.status, models.OrderStatus | None)
    assert_type(it.extra, Mapping[str, Any])


def check_pairs_edit(it: models.PairsEdit) -> None:
    assert_type(it.ratio_price_comparator, models.Comparator | None)
    assert_type(it.ratio_price_threshold, Decimal | None)
    assert_type(it.extra, Mapping[str, Any])


def check_transaction(it: models.Transaction) -> None:
    assert_type(it.id, str | None)
    assert_type(it.account_number, str | None)
    assert_type(it.transaction_type, str | None)
    assert_type(it.transaction_sub_type, str | None)
    assert_type(it.transaction_date, date | None)
    assert_type(it.executed_at, datetime | None)
    assert_type(it.symbol, str | None)
    assert_type(it.underlying_symbol, str | None)
    assert_type(it.instrument_type, models.InstrumentType | None)
    assert_type(it.action, models.LegAction | None)
    assert_type(it.quantity, Decimal | None)
    assert_type(it.price, Decimal | None)
    assert_type(it.value, Decimal | None)
    assert_type(it.value_effect, models.PriceEffect | None)
    assert_type(it.net_value, Decimal | None)
    assert_type(it.net_value_effect, models.PriceEffect | None)
    assert_type(it.commission, Decimal | None)
    assert_type(it.commission_effect, models.PriceEffect | None)
    assert_type(it.clearing_fees, Decimal | None)
    assert_type(it.clearing_fees_effect, models.PriceEffect | None)
    assert_type(it.regulatory_fees, Decimal | None)
    assert_type(it.regulatory_fees_effect, models.PriceEffect | None)
    assert_type(it.proprietary_index_option_fees, Decimal | None)
    assert_type(it.proprietary_index_option_fees_effect, models.PriceEffect | None)
    assert_type(it.description, str | None)
    assert_type(it.is_estimated_fee, bool | None)
    assert_type(it.order_id, str | None)
    assert_type(it.leg_count, int | None)
    assert_type(it.currency, str | None)
    assert_type(it.exec_id, str | None)
    assert_type(it.ext_exec_id, str | None)
    assert_type(it.ext_group_id, str | None)
    assert_type(it.lots, tuple[models.TransactionLot, ...] | None)
    assert_type(it.extra, Mapping[str, Any])


def check_transaction_lot(it: models.TransactionLot) -> None:
    assert_type(it.id, str | None)
    assert_type(it.transaction_id, str | None)
    assert_type(it.quantity, Decimal | None)
    assert_type(it.price, Decimal | None)
    assert_type(it.quantity_direction, str | None)
    assert_type(it.executed_at, datetime | None)
    assert_type(it.transaction_date, date | None)
    assert_type(it.extra, Mapping[str, Any])


def check_margin_order(it: models.MarginOrder) -> None:
    assert_type(it.account_number, str)
    assert_type(it.underlying_symbol, str)
    assert_type(it.underlying_instrument_type, models.InstrumentType)
    assert_type(it.order_type, models.OrderType)
    assert_type(it.time_in_force, models.TimeInForce)
    assert_type(it.gtc_date, date | None)
    assert_type(it.price, Decimal | None)
    assert_type(it.price_effect, models.PriceEffect | None)
    assert_type(it.stop_trigger, Decimal | None)
    assert_type(it.replaces_order_id, str | None)
    assert_type(it.legs, tuple[models.MarginOrderLeg, ...] | None)
    assert_type(it.extra, Mapping[str, Any])


def check_margin_order_leg(it: models.MarginOrderLeg) -> None:
    assert_type(it.symbol, str)
    assert_type(it.instrument_type, models.InstrumentType)
    assert_type(it.action, models.LegAction)
    assert_type(it.quantity, Decimal | None)
    assert_type(it.remaining_quantity, Decimal | None)
    assert_type(it.extra, Mapping[str, Any])


def check_margin_dry_run(it: models.MarginDryRun) -> None:
    assert_type(it.orders, tuple[models.Order, ...] | None)
    assert_type(it.last_results, models.MarginDryRunResult | None)
    assert_type(it.base_results, models.MarginDryRunResult | None)
    assert_type(it.new_order_results, models.MarginDryRunResult | None)
    assert_type(it.change_in_margin_requirement, Decimal | None)
    assert_type(it.change_in_margin_requirement_effect, models.PriceEffect | None)
    assert_type(it.change_in_buying_power, Decimal | None)
    assert_type(it.change_in_buying_power_effect, models.PriceEffect | None)
    assert_type(it.current_buying_power, Decimal | None)
    assert_type(it.current_buying_power_effect, models.PriceEffect | None)
    assert_type(it.new_buying_power, Decimal | None)
    assert_type(it.new_buying_power_effect, models.PriceEffect | None)
    assert_type(it.isolated_order_margin_requirement, Decimal | None)
    assert_type(it.isolated_order_margin_requirement_effect, models.PriceEffect | None)
    assert_type(it.is_spread, bool | None)
    assert_type(it.extra, Mapping[str, Any])


def check_margin_dry_run_result(it: models.MarginDryRunResult) -> None:
    assert_type(it.code, str | None)
    assert_type(it.description, str | None)
    assert_type(it.underlying_symbol, str | None)
    assert_type(it.underlying_type, models.InstrumentType | None)
    assert_type(it.underlying_price, Decimal | None)
    assert_type(it.margin_requirement, Decimal | None)
    assert_type(it.margin_requirement_effect, models.PriceEffect | None)
    assert_type(it.maintenance_requirement, Decimal | None)
    assert_type(it.maintenance_requirement_effect, models.PriceEffect | None)
    assert_type(it.buying_power_impact, Decimal | None)
    assert_type(it.buying_power_impact_effect, models.PriceEffect | None)
    assert_type(it.group_results, tuple[Mapping[str, Any], ...] | None)
    assert_type(it.order_ids, tuple[str, ...] | None)
    assert_type(it.calculated_at, datetime | None)
    assert_type(it.marks, Mapping[str, Any] | None)
    assert_type(it.extra, Mapping[str, Any])


def check_margin_requirements(it: models.MarginRequirements) -> None:
    assert_type(it.account_number, str | None)
    assert_type(it.description, str | None)
    assert_type(it.margin_calculation_type, str | None)
    assert_type(it.option_level, str | None)
    assert_type(it.margin_requirement, Decimal | None)
    assert_type(it.margin_requirement_effect, models.PriceEffect | None)
    assert_type(it.initial_requirement, Decimal | None)
    assert_type(it.initial_requirement_effect, models.PriceEffect | None)
    assert_type(it.maintenance_requirement, Decimal | None)
    assert_type(it.maintenance_requirement_effect, models.PriceEffect | None)
    assert_type(it.margin_equity, Decimal | None)
    assert_type(it.margin_equity_effect, models.PriceEffect | None)
    assert_type(it.option_buying_power, Decimal | None)
    assert_type(it.option_buying_power_effect, models.PriceEffect | None)
    assert_type(it.reg_t_margin_requirement, Decimal | None)
    assert_type(it.reg_t_margin_requirement_effect, models.PriceEffect | None)
    assert_type(it.reg_t_option_buying_power, Decimal | None)
    assert_type(it.reg_t_option_buying_power_effect, models.PriceEffect | None)
    assert_type(it.maintenance_excess, Decimal | None)
    assert_type(it.maintenance_excess_effect, models.PriceEffect | None)
    assert_type(it.groups, tuple[models.MarginGroup, ...] | None)
    assert_type(it.last_state_timestamp, datetime | None)
    assert_type(it.extra, Mapping[str, Any])


def check_margin_group(it: models.MarginGroup) -> None:
    assert_type(it.description, str | None)
    assert_type(it.code, str | None)
    assert_type(it.underlying_symbol, str | None)
    assert_type(it.underlying_type, models.InstrumentType | None)
    assert_type(it.margin_calculation_type, str | None)
    assert_type(it.margin_requirement, Decimal | None)
    assert_type(it.margin_requirement_effect, models.PriceEffect | None)
    assert_type(it.initial_requirement, Decimal | None)
    assert_type(it.initial_requirement_effect, models.PriceEffect | None)
    assert_type(it.maintenance_requirement, Decimal | None)
    assert_type(it.maintenance_requirement_effect, models.PriceEffect | None)
    assert_type(it.buying_power, Decimal | None)
    assert_type(it.buying_power_effect, models.PriceEffect | None)
    assert_type(it.groups, tuple[models.MarginPositionGroup, ...] | None)
    assert_type(it.position_entries, tuple[models.MarginPositionEntry, ...] | None)
    assert_type(it.price_increase_percent, Decimal | None)
    assert_type(it.price_decrease_percent, Decimal | None)
    assert_type(it.extra, Mapping[str, Any])


def check_margin_position_group(it: models.MarginPositionGroup) -> None:
    assert_type(it.description, str | None)
    assert_type(it.margin_requirement, Decimal | None)
    assert_type(it.margin_requirement_effect, models.PriceEffect | None)
    assert_type(it.maintenance_requirement, Decimal | None)
    assert_type(it.maintenance_requirement_effect, models.PriceEffect | None)
    assert_type(it.includes_working_order, bool | None)
    assert_type(it.buying_power, Decimal | None)
    assert_type(it.buying_power_effect, models.PriceEffect | None)
    assert_type(it.position_entries, tuple[models.MarginPositionEntry, ...] | None)
    assert_type(it.extra, Mapping[str, Any])


def check_margin_position_entry(it: models.MarginPositionEntry) -> None:
    assert_type(it.instrument_symbol, str | None)
    assert_type(it.instrument_type, models.InstrumentType | None)
    assert_type(it.quantity, Decimal | None)
    assert_type(it.average_open_price, Decimal | None)
    assert_type(it.close_price, Decimal | None)
    assert_type(it.fixing_price, Decimal | None)
    assert_type(it.strike_price, Decimal | None)
    assert_type(it.option_type, models.OptionType | None)
    assert_type(it.expiration_date, date | None)
    assert_type(it.extra, Mapping[str, Any])


def check_watchlist(it: models.Watchlist) -> None:
    assert_type(it.name, str | None)
    assert_type(it.watchlist_entries, tuple[models.WatchlistEntry, ...] | None)
    assert_type(it.cms_id, str | None)
    assert_type(it.group_name, str | None)
    assert_type(it.order_index, int | None)
    assert_type(it.extra, Mapping[str, Any])


def check_watchlist_entry(it: models.WatchlistEntry) -> None:
    assert_type(it.symbol, str | None)
    assert_type(it.instrument_type, models.InstrumentType | None)
    assert_type(it.extra, Mapping[str, Any])


def check_new_watchlist(it: models.NewWatchlist) -> None:
    assert_type(it.name, str)
    assert_type(it.group_name, str | None)
    assert_type(it.order_index, int | None)
    assert_type(it.watchlist_entries, tuple[models.NewWatchlistEntry, ...])
    assert_type(it.extra, Mapping[str, Any])


def check_new_watchlist_entry(it: models.NewWatchlistEntry) -> None:
    assert_type(it.symbol, str)
    assert_type(it.instrument_type, models.InstrumentType | None)
    assert_type(it.extra, Mapping[str, Any])


def check_quote_alert(it: models.QuoteAlert) -> None:
    assert_type(it.alert_external_id, str | None)
    assert_type(it.completed_at, datetime | None)
    assert_type(it.created_at, datetime | None)
    assert_type(it.dismissed_at, datetime | None)
    assert_type(it.dx_symbol, str | None)
    assert_type(it.expired_at, datetime | None)
    assert_type(it.expires_at, str | None)
    assert_type(it.field, models.AlertField | None)
    assert_type(it.instrument_type, models.InstrumentType | None)
    assert_type(it.operator, models.AlertOperator | None)
    assert_type(it.provider, str | None)
    assert_type(it.symbol, str | None)
    assert_type(it.threshold, Decimal | None)
    assert_type(it.threshold_numeric, Decimal | None)
    assert_type(it.triggered_at, datetime | None)
    assert_type(it.user_external_id, str | None)
    assert_type(it.extra, Mapping[str, Any])


def check_new_quote_alert(it: models.NewQuoteAlert) -> None:
    assert_type(it.field, models.AlertField)
    assert_type(it.operator, models.AlertOperator)
    assert_type(it.symbol, str)
    assert_type(it.threshold, Decimal)
    assert_type(it.extra, Mapping[str, Any])


def check_token_request(it: models.TokenRequest) -> None:
    assert_type(it.grant_type, models.GrantType)
    assert_type(it.refresh_token, str | None)
    assert_type(it.client_secret, str)
    assert_type(it.client_id, str | None)
    assert_type(it.scope, str | None)
    assert_type(it.code, str | None)
    assert_type(it.redirect_uri, str | None)
    assert_type(it.extra, Mapping[str, Any])


def check_token_response(it: models.TokenResponse) -> None:
    assert_type(it.access_token, str | None)
    assert_type(it.token_type, str | None)
    assert_type(it.expires_in, int | None)
    assert_type(it.refresh_token, str | None)
    assert_type(it.id_token, str | None)
    assert_type(it.extra, Mapping[str, Any])


def check_token_error_body(it: models.TokenErrorBody) -> None:
    assert_type(it.error_code, str | None)
    assert_type(it.error_description, str | None)
    assert_type(it.extra, Mapping[str, Any])
