# Written by `python -m codegen` from schema/; edit the schema and run it again, not this file.
"""The models as they look on the wire, and both ways between the two.

A wire struct is decoded in C with its types checked; ``build`` copies it into the frozen model. ``of`` goes the other
way. Bytes and dicts take the same road: both become wire structs first.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any

import msgspec

from brokerage_async._values import (
    CLASS_SWAP,
    EMPTY,
    date_or_keep,
    decimal_as_sent,
    decimal_or_keep,
    decimal_text,
    finished,
    finite,
    items_or_keys,
    keep,
    raw_object,
    read_decimal,
    read_epoch,
    twin,
)

from .models import (
    AdvancedInstructions,
    AlertField,
    AlertOperator,
    BuyingPowerEffect,
    Comparator,
    ComplexOrder,
    ComplexOrderType,
    ContingentStatus,
    CurrentMarketSession,
    Dividend,
    EarningsReport,
    Equity,
    EquityOption,
    ErrorBody,
    ErrorDetail,
    FeeBreakdown,
    FeeCalculation,
    Fill,
    FutureOption,
    FutureOptionProduct,
    GrantType,
    HolidayCalendar,
    InstrumentCollection,
    InstrumentType,
    LegAction,
    Lendability,
    MarginDryRun,
    MarginDryRunResult,
    MarginGroup,
    MarginOrder,
    MarginOrderLeg,
    MarginPositionEntry,
    MarginPositionGroup,
    MarginRequirements,
    MarketSession,
    MarketState,
    NewOrder,
    NewOrderCondition,
    NewOrderLeg,
    NewOrderRules,
    NewPriceComponent,
    NewQuoteAlert,
    NewWatchlist,
    NewWatchlistEntry,
    OptionType,
    Order,
    OrderCondition,
    OrderEdit,
    OrderLeg,
    OrderRule,
    OrderStatus,
    OrderType,
    Pagination,
    PairsEdit,
    PlacedOrderResponse,
    PreflightMessage,
    PriceComponent,
    PriceEffect,
    QuoteAlert,
    RelatedOrder,
    TickSize,
    TimeInForce,
    TokenErrorBody,
    TokenRequest,
    TokenResponse,
    Transaction,
    TransactionLot,
    Warrant,
    Watchlist,
    WatchlistEntry,
)

__all__ = ["WIRES", "DateText", "DecimalText", "Moment", "MomentText", "Wire"]

# Text that is read further when the model is built, and moments that name their offset.
DecimalText = Annotated[str, msgspec.Meta(extra={"kind": "decimal"})]
DateText = Annotated[str, msgspec.Meta(extra={"kind": "date"})]
MomentText = Annotated[str, msgspec.Meta(extra={"kind": "datetime"})]
Moment = Annotated[datetime, msgspec.Meta(tz=True)]

#: Objects of one model that are remembered in order to be shared.
MOST_SHARED = 4096


class Wire(msgspec.Struct, gc=False, forbid_unknown_fields=True, omit_defaults=True):
    """A model as it looks on the wire."""

    @abstractmethod
    def build(self) -> Any:
        """The model with these values. Raises ValueError when one of them cannot be read."""

    def build_new(self) -> Any:
        """The same, but never an object that somebody else has as well."""
        return self.build()

    @staticmethod
    @abstractmethod
    def of(model: Any) -> Any:
        """The wire struct of a model, or a dict when there is raw JSON to be written over it."""


def with_extra(wire: Wire, extra: Mapping[str, Any]) -> dict[str, Any]:
    """The wire struct as a dict with the raw JSON of the model written over it."""
    return {**msgspec.to_builtins(wire, builtin_types=(Decimal,)), **extra}


_Pagination = twin(Pagination)


class PaginationWire(Wire, rename="kebab"):
    """Pagination on the wire."""

    per_page: int | None = None
    page_offset: int | None = None
    item_offset: int | None = None
    total_items: int | None = None
    total_pages: int | None = None
    current_item_count: int | None = None

    def build(self) -> Pagination:
        """The frozen model with these values."""
        o = _Pagination()
        o.extra = EMPTY
        o.per_page = self.per_page
        o.page_offset = self.page_offset
        o.item_offset = self.item_offset
        o.total_items = self.total_items
        o.total_pages = self.total_pages
        o.current_item_count = self.current_item_count
        if not CLASS_SWAP:
            return finished(o, Pagination)
        o.__class__ = Pagination
        built: Pagination = o
        return built

    @staticmethod
    def of(model: Pagination) -> Any:
        """The wire struct of the model, or a dict when there is raw JSON to be written over it."""
        wire = PaginationWire(
            model.per_page,
            model.page_offset,
            model.item_offset,
            model.total_items,
            model.total_pages,
            model.current_item_count,
        )
        return with_extra(wire, model.extra) if model.extra else wire


_ErrorBody = twin(ErrorBody)


class ErrorBodyWire(Wire):
    """ErrorBody on the wire."""

    code: str | int | None = None
    message: str | None = None
    errors: list[ErrorDetailWire] | None = None

    def build(self) -> ErrorBody:
        """The frozen model with these values."""
        v: Any
        o = _ErrorBody()
        o.extra = EMPTY
        o.code = v if (v := self.code) is None or v.__class__ is str else str(v)
        o.message = self.message
        o.errors = None if (v := self.errors) is None else tuple([item.build() for item in v])
        if not CLASS_SWAP:
            return finished(o, ErrorBody)
        o.__class__ = ErrorBody
        built: ErrorBody = o
        return built

    @staticmethod
    def of(model: ErrorBody) -> Any:
        """The wire struct of the model, or a dict when there is raw JSON to be written over it."""
        v: Any
        wire = ErrorBodyWire(
            model.code,
            model.message,
            None if (v := model.errors) is None else [ErrorDetailWire.of(item) for item in v],
        )
        return with_extra(wire, model.extra) if model.extra else wire


_ErrorDetail = twin(ErrorDetail)


class ErrorDetailWire(Wire):
    """ErrorDetail on the wire."""

    code: str | None = None
    message: str | None = None
    domain: str | None = None
    reason: str | None = None

    def build(self) -> ErrorDetail:
        """The frozen model with these values."""
        o = _ErrorDetail()
        o.extra = EMPTY
        o.code = self.code
        o.message = self.message
        o.domain = self.domain
        o.reason = self.reason
        if not CLASS_SWAP:
            return finished(o, ErrorDetail)
        o.__class__ = ErrorDetail
        built: ErrorDetail = o
        return built

    @staticmethod
    def of(model: ErrorDetail) -> Any:
        """The wire struct of the model, or a dict when there is raw JSON to be written over it."""
        wire = ErrorDetailWire(
            model.code,
            model.message,
            model.domain,
            model.reason,
        )
        return with_extra(wire, model.extra) if model.extra else wire


_MarketSession = twin(MarketSession)


class MarketSessionWire(Wire, rename="kebab"):
    """MarketSession on the wire."""

    start_at: Moment | None = None
    open_at: Moment | None = None
    close_at: Moment | None = None
    close_at_ext: Moment | None = None
    instrument_collection: InstrumentCollection | None = None
    session_date: date | None = None

    def build(self) -> MarketSession:
        """The frozen model with these values."""
        o = _MarketSession()
        o.extra = EMPTY
        o.start_at = self.start_at
        o.open_at = self.open_at
        o.close_at = self.close_at
        o.close_at_ext = self.close_at_ext
        o.instrument_collection = self.instrument_collection
        o.session_date = self.session_date
        if not CLASS_SWAP:
            return finished(o, MarketSession)
        o.__class__ = MarketSession
        built: MarketSession = o
        return built

    @staticmethod
    def of(model: MarketSession) -> Any:
        """The wire struct of the model, or a dict when there is raw JSON to be written over it."""
        wire = MarketSessionWire(
            model.start_at,
            model.open_at,
            model.close_at,
            model.close_at_ext,
            model.instrument_collection,
            model.session_date,
        )
        return with_extra(wire, model.extra) if model.extra else wire


_CurrentMarketSession = twin(CurrentMarketSession)


class CurrentMarketSessionWire(Wire, rename="kebab"):
    """CurrentMarketSession on the wire."""

    start_at: Moment | None = None
    open_at: Moment | None = None
    close_at: Moment | None = None
    close_at_ext: Moment | None = None
    instrument_collection: InstrumentCollection | None = None
    session_date: date | None = None
    state: MarketState | None = None
    next_session: MarketSessionWire | None = None
    previous_session: MarketSessionWire | None = None

    def build(self) -> CurrentMarketSession:
        """The frozen model with these values."""
        v: Any
        o = _CurrentMarketSession()
        o.extra = EMPTY
        o.start_at = self.start_at
        o.open_at = self.open_at
        o.close_at = self.close_at
        o.close_at_ext = self.close_at_ext
        o.instrument_collection = self.instrument_collection
        o.session_date = self.session_date
        o.state = self.state
        o.next_session = None if (v := self.next_session) is None else v.build()
        o.previous_session = None if (v := self.previous_session) is None else v.build()
        if not CLASS_SWAP:
            return finished(o, CurrentMarketSession)
        o.__class__ = CurrentMarketSession
        built: CurrentMarketSession = o
        return built

    @staticmethod
    def of(model: CurrentMarketSession) -> Any:
        """The wire struct of the model, or a dict when there is raw JSON to be written over it."""
        v: Any
        wire = CurrentMarketSessionWire(
            model.start_at,
            model.open_at,
            model.close_at,
            model.close_at_ext,
            model.instrument_collection,
            model.session_date,
            model.state,
            None if (v := model.next_session) is None else MarketSessionWire.of(v),
            None if (v := model.previous_session) is None else MarketSessionWire.of(v),
        )
        return with_extra(wire, model.extra) if model.extra else wire


_HolidayCalendar = twin(HolidayCalendar)


class HolidayCalendarWire(Wire, rename="kebab"):
    """HolidayCalendar on the wire."""

    market_holidays: list[Any] | dict[str, Any] | None = None
    market_half_days: list[Any] | dict[str, Any] | None = None

    def build(self) -> HolidayCalendar:
        """The frozen model with these values."""
        v: Any
        o = _HolidayCalendar()
        o.extra = EMPTY
        o.market_holidays = (
            None if (v := self.market_holidays) is None else items_or_keys(v, o, "market-holidays", date.fromisoformat)
        )
        o.market_half_days = (
            None
            if (v := self.market_half_days) is None
            else items_or_keys(v, o, "market-half-days", date.fromisoformat)
        )
        if not CLASS_SWAP:
            return finished(o, HolidayCalendar)
        o.__class__ = HolidayCalendar
        built: HolidayCalendar = o
        return built

    @staticmethod
    def of(model: HolidayCalendar) -> Any:
        """The wire struct of the model, or a dict when there is raw JSON to be written over it."""
        v: Any
        wire = HolidayCalendarWire(
            None if (v := model.market_holidays) is None else list(v),
            None if (v := model.market_half_days) is None else list(v),
        )
        return with_extra(wire, model.extra) if model.extra else wire


_EarningsReport = twin(EarningsReport)


class EarningsReportWire(Wire, rename="kebab"):
    """EarningsReport on the wire."""

    occurred_date: date | None = None
    eps: Decimal | None = None

    def build(self) -> EarningsReport:
        """The frozen model with these values."""
        v: Any
        o = _EarningsReport()
        o.extra = EMPTY
        o.occurred_date = self.occurred_date
        o.eps = None if (v := self.eps) is None else finite(v)
        if not CLASS_SWAP:
            return finished(o, EarningsReport)
        o.__class__ = EarningsReport
        built: EarningsReport = o
        return built

    @staticmethod
    def of(model: EarningsReport) -> Any:
        """The wire struct of the model, or a dict when there is raw JSON to be written over it."""
        v: Any
        wire = EarningsReportWire(
            model.occurred_date,
            None if (v := model.eps) is None else decimal_as_sent(v),
        )
        return with_extra(wire, model.extra) if model.extra else wire


_Dividend = twin(Dividend)


class DividendWire(Wire, rename="kebab"):
    """Dividend on the wire."""

    occurred_date: date | None = None
    amount: Decimal | None = None

    def build(self) -> Dividend:
        """The frozen model with these values."""
        v: Any
        o = _Dividend()
        o.extra = EMPTY
        o.occurred_date = self.occurred_date
        o.amount = None if (v := self.amount) is None else finite(v)
        if not CLASS_SWAP:
            return finished(o, Dividend)
        o.__class__ = Dividend
        built: Dividend = o
        return built

    @staticmethod
    def of(model: Dividend) -> Any:
        """The wire struct of the model, or a dict when there is raw JSON to be written over it."""
        v: Any
        wire = DividendWire(
            model.occurred_date,
            None if (v := model.amount) is None else decimal_as_sent(v),
        )
        return with_extra(wire, model.extra) if model.extra else wire


_Equity = twin(Equity)


class EquityWire(Wire, rename="kebab"):
    """Equity on the wire."""

    active: bool | None = None
    borrow_rate: DecimalText | None = None
    bypass_manual_review: bool | None = None
    country_of_incorporation: str | None = None
    country_of_taxation: str | None = None
    description: str | None = None
    halted_at: Moment | None = None
    instrument_sub_type: str | None = None
    instrument_type: InstrumentType | None = None
    is_closing_only: bool | None = None
    is_etf: bool | None = None
    is_fractional_quantity_eligible: bool | None = None
    is_illiquid: bool | None = None
    is_index: bool | None = None
    is_options_closing_only: bool | None = None
    lendability: Lendability | None = None
    listed_market: str | None = None
    market_time_instrument_collection: InstrumentCollection | None = None
    overnight_trading_permitted: bool | None = None
    pre_ipo: bool | None = None
    short_description: str | None = None
    stops_trading_at: Moment | None = None
    streamer_symbol: str | None = None
    symbol: str | None = None
    underlying_product_type: str | None = None
    option_tick_sizes: list[TickSizeWire] | None = None
    tick_sizes: list[TickSizeWire] | None = None
    id: int | None = None
    cusip: str | None = None

    def build(self) -> Equity:
        """The frozen model with these values."""
        v: Any
        o = _Equity()
        o.extra = EMPTY
        o.active = self.active
        o.borrow_rate = None if (v := self.borrow_rate) is None else read_decimal(v)
        o.bypass_manual_review = self.bypass_manual_review
        o.country_of_incorporation = self.country_of_incorporation
        o.country_of_taxation = self.country_of_taxation
        o.description = self.description
        o.halted_at = self.halted_at
        o.instrument_sub_type = self.instrument_sub_type
        o.instrument_type = self.instrument_type
        o.is_closing_only = self.is_closing_only
        o.is_etf = self.is_etf
        o.is_fractional_quantity_eligible = self.is_fractional_quantity_eligible
        o.is_illiquid = self.is_illiquid
        o.is_index = self.is_index
        o.is_options_closing_only = self.is_options_closing_only
        o.lendability = self.lendability
        o.listed_market = self.listed_market
        o.market_time_instrument_collection = self.market_time_instrument_collection
        o.overnight_trading_permitted = self.overnight_trading_permitted
        o.pre_ipo = self.pre_ipo
        o.short_description = self.short_description
        o.stops_trading_at = self.stops_trading_at
        o.streamer_symbol = self.streamer_symbol
        o.symbol = self.symbol
        o.underlying_product_type = self.underlying_product_type
        o.option_tick_sizes = None if (v := self.option_tick_sizes) is None else tuple([item.build() for item in v])
        o.tick_sizes = None if (v := self.tick_sizes) is None else tuple([item.build() for item in v])
        o.id = self.id
        o.cusip = self.cusip
        if not CLASS_SWAP:
            return finished(o, Equity)
        o.__class__ = Equity
        built: Equity = o
        return built

    @staticmethod
    def of(model: Equity) -> Any:
        """The wire struct of the model, or a dict when there is raw JSON to be written over it."""
        v: Any
        wire = EquityWire(
            model.active,
            None if (v := model.borrow_rate) is None else decimal_text(v),
            model.bypass_manual_review,
            model.country_of_incorporation,
            model.country_of_taxation,
            model.description,
            model.halted_at,
            model.instrument_sub_type,
            model.instrument_type,
            model.is_closing_only,
            model.is_etf,
            model.is_fractional_quantity_eligible,
            model.is_illiquid,
            model.is_index,
            model.is_options_closing_only,
            model.lendability,
            model.listed_market,
            model.market_time_instrument_collection,
            model.overnight_trading_permitted,
            model.pre_ipo,
            model.short_description,
            model.stops_trading_at,
            model.streamer_symbol,
            model.symbol,
            model.underlying_product_type,
            None if (v := model.option_tick_sizes) is None else [TickSizeWire.of(item) for item in v],
            None if (v := model.tick_sizes) is None else [TickSizeWire.of(item) for item in v],
            model.id,
            model.cusip,
        )
        return with_extra(wire, model.extra) if model.extra else wire


_TickSize = twin(TickSize)
_SHARED_TICKSIZE: dict[tuple[Any, ...], TickSize] = {}


class TickSizeWire(Wire):
    """TickSize on the wire."""

    value: DecimalText | None = None
    threshold: DecimalText | None = None

    def build(self) -> TickSize:
        """The frozen model with these values; the same object for the same values, of which there are few."""
        key = (
            self.value,
            self.threshold,
        )
        shared: TickSize | None = _SHARED_TICKSIZE.get(key)
        if shared is None:
            if len(_SHARED_TICKSIZE) >= MOST_SHARED:
                _SHARED_TICKSIZE.clear()
            shared = _SHARED_TICKSIZE[key] = self.build_new()
        return shared

    def build_new(self) -> TickSize:
        """The frozen model with these values, an object of its own."""
        v: Any
        o = _TickSize()
        o.extra = EMPTY
        o.value = None if (v := self.value) is None else read_decimal(v)
        o.threshold = None if (v := self.threshold) is None else read_decimal(v)
        if not CLASS_SWAP:
            return finished(o, TickSize)
        o.__class__ = TickSize
        built: TickSize = o
        return built

    @staticmethod
    def of(model: TickSize) -> Any:
        """The wire struct of the model, or a dict when there is raw JSON to be written over it."""
        v: Any
        wire = TickSizeWire(
            None if (v := model.value) is None else decimal_text(v),
            None if (v := model.threshold) is None else decimal_text(v),
        )
        return with_extra(wire, model.extra) if model.extra else wire


_EquityOption = twin(EquityOption)


class EquityOptionWire(Wire, rename="kebab"):
    """EquityOption on the wire."""

    active: bool | None = None
    days_to_expiration: int | None = None
    exercise_style: str | None = None
    expiration_date: date | None = None
    expiration_type: str | None = None
    expires_at: Moment | None = None
    halted_at: Moment | None = None
    instrument_type: InstrumentType | None = None
    is_closing_only: bool | None = None
    listed_market: str | None = None
    market_time_instrument_collection: InstrumentCollection | None = None
    old_security_number: str | None = None
    option_chain_type: str | None = None
    option_type: OptionType | None = None
    root_symbol: str | None = None
    settlement_type: str | None = None
    shares_per_contract: int | None = None
    stops_trading_at: Moment | None = None
    streamer_symbol: str | None = None
    strike_price: DecimalText | None = None
    symbol: str | None = None
    underlying_symbol: str | None = None

    def build(self) -> EquityOption:
        """The frozen model with these values."""
        v: Any
        o = _EquityOption()
        o.extra = EMPTY
        o.active = self.active
        o.days_to_expiration = self.days_to_expiration
        o.exercise_style = self.exercise_style
        o.expiration_date = self.expiration_date
        o.expiration_type = self.expiration_type
        o.expires_at = self.expires_at
        o.halted_at = self.halted_at
        o.instrument_type = self.instrument_type
        o.is_closing_only = self.is_closing_only
        o.listed_market = self.listed_market
        o.market_time_instrument_collection = self.market_time_instrument_collection
        o.old_security_number = self.old_security_number
        o.option_chain_type = self.option_chain_type
        o.option_type = self.option_type
        o.root_symbol = self.root_symbol
        o.settlement_type = self.settlement_type
        o.shares_per_contract = self.shares_per_contract
        o.stops_trading_at = self.stops_trading_at
        o.streamer_symbol = self.streamer_symbol
        o.strike_price = None if (v := self.strike_price) is None else read_decimal(v)
        o.symbol = self.symbol
        o.underlying_symbol = self.underlying_symbol
        if not CLASS_SWAP:
            return finished(o, EquityOption)
        o.__class__ = EquityOption
        built: EquityOption = o
        return built

    @staticmethod
    def of(model: EquityOption) -> Any:
        """The wire struct of the model, or a dict when there is raw JSON to be written over it."""
        v: Any
        wire = EquityOptionWire(
            model.active,
            model.days_to_expiration,
            model.exercise_style,
            model.expiration_date,
            model.expiration_type,
            model.expires_at,
            model.halted_at,
            model.instrument_type,
            model.is_closing_only,
            model.listed_market,
            model.market_time_instrument_collection,
            model.old_security_number,
            model.option_chain_type,
            model.option_type,
            model.root_symbol,
            model.settlement_type,
            model.shares_per_contract,
            model.stops_trading_at,
            model.streamer_symbol,
            None if (v := model.strike_price) is None else decimal_text(v),
            model.symbol,
            model.underlying_symbol,
        )
        return with_extra(wire, model.extra) if model.extra else wire


_FutureOption = twin(FutureOption)


class FutureOptionWire(Wire, rename="kebab"):
    """FutureOption on the wire."""

    active: bool | None = None
    days_to_expiration: int | None = None
    display_factor: DecimalText | None = None
    exchange: str | None = None
    exercise_style: str | None = None
    expiration_date: date | None = None
    expires_at: Moment | None = None
    future_price_ratio: DecimalText | None = None
    is_closing_only: bool | None = None
    is_confirmed: bool | None = None
    is_exercisable_weekly: bool | None = None
    is_primary_deliverable: bool | None = None
    is_vanilla: bool | None = None
    last_trade_time: str | None = None
    maturity_date: DateText | None = None
    multiplier: DecimalText | None = None
    notional_value: DecimalText | None = None
    option_root_symbol: str | None = None
    option_type: OptionType | None = None
    product_code: str | None = None
    root_symbol: str | None = None
    security_id: str | None = None
    settlement_type: str | None = None
    stops_trading_at: Moment | None = None
    streamer_symbol: str | None = None
    strike_factor: DecimalText | None = None
    strike_price: DecimalText | None = None
    symbol: str | None = None
    underlying_count: DecimalText | None = None
    underlying_symbol: str | None = None
    exchange_symbol: str | None = None
    security_exchange: str | None = None
    sx_id: str | None = None
    future_option_product: FutureOptionProductWire | None = None

    def build(self) -> FutureOption:
        """The frozen model with these values."""
        v: Any
        o = _FutureOption()
        o.extra = EMPTY
        o.active = self.active
        o.days_to_expiration = self.days_to_expiration
        o.display_factor = None if (v := self.display_factor) is None else read_decimal(v)
        o.exchange = self.exchange
        o.exercise_style = self.exercise_style
        o.expiration_date = self.expiration_date
        o.expires_at = self.expires_at
        o.future_price_ratio = None if (v := self.future_price_ratio) is None else read_decimal(v)
        o.is_closing_only = self.is_closing_only
        o.is_confirmed = self.is_confirmed
        o.is_exercisable_weekly = self.is_exercisable_weekly
        o.is_primary_deliverable = self.is_primary_deliverable
        o.is_vanilla = self.is_vanilla
        o.last_trade_time = self.last_trade_time
        o.maturity_date = None if (v := self.maturity_date) is None else date_or_keep(v, o, "maturity-date")
        o.multiplier = None if (v := self.multiplier) is None else read_decimal(v)
        o.notional_value = None if (v := self.notional_value) is None else read_decimal(v)
        o.option_root_symbol = self.option_root_symbol
        o.option_type = self.option_type
        o.product_code = self.product_code
        o.root_symbol = self.root_symbol
        o.security_id = self.security_id
        o.settlement_type = self.settlement_type
        o.stops_trading_at = self.stops_trading_at
        o.streamer_symbol = self.streamer_symbol
        o.strike_factor = None if (v := self.strike_factor) is None else read_decimal(v)
        o.strike_price = None if (v := self.strike_price) is None else read_decimal(v)
        o.symbol = self.symbol
        o.underlying_count = None if (v := self.underlying_count) is None else read_decimal(v)
        o.underlying_symbol = self.underlying_symbol
        o.exchange_symbol = self.exchange_symbol
        o.security_exchange = self.security_exchange
        o.sx_id = self.sx_id
        o.future_option_product = None if (v := self.future_option_product) is None else v.build()
        if not CLASS_SWAP:
            return finished(o, FutureOption)
        o.__class__ = FutureOption
        built: FutureOption = o
        return built

    @staticmethod
    def of(model: FutureOption) -> Any:
        """The wire struct of the model, or a dict when there is raw JSON to be written over it."""
        v: Any
        wire = FutureOptionWire(
            model.active,
            model.days_to_expiration,
            None if (v := model.display_factor) is None else decimal_text(v),
            model.exchange,
            model.exercise_style,
            model.expiration_date,
            model.expires_at,
            None if (v := model.future_price_ratio) is None else decimal_text(v),
            model.is_closing_only,
            model.is_confirmed,
            model.is_exercisable_weekly,
            model.is_primary_deliverable,
            model.is_vanilla,
            model.last_trade_time,
            None if (v := model.maturity_date) is None else v.isoformat(),
            None if (v := model.multiplier) is None else decimal_text(v),
            None if (v := model.notional_value) is None else decimal_text(v),
            model.option_root_symbol,
            model.option_type,
            model.product_code,
            model.root_symbol,
            model.security_id,
            model.settlement_type,
            model.stops_trading_at,
            model.streamer_symbol,
            None if (v := model.strike_factor) is None else decimal_text(v),
            None if (v := model.strike_price) is None else decimal_text(v),
            model.symbol,
            None if (v := model.underlying_count) is None else decimal_text(v),
            model.underlying_symbol,
            model.exchange_symbol,
            model.security_exchange,
            model.sx_id,
            None if (v := model.future_option_product) is None else FutureOptionProductWire.of(v),
        )
        return with_extra(wire, model.extra) if model.extra else wire


_FutureOptionProduct = twin(FutureOptionProduct)
_SHARED_FUTUREOPTIONPRODUCT: dict[tuple[Any, ...], FutureOptionProduct] = {}


class FutureOptionProductWire(Wire, rename="kebab"):
    """FutureOptionProduct on the wire."""

    cash_settled: bool | None = None
    code: str | None = None
    display_factor: DecimalText | None = None
    exchange: str | None = None
    expiration_type: str | None = None
    is_am_settled: bool | None = None
    itm_rule: str | None = None
    market_sector: str | None = None
    product_subtype: str | None = None
    product_type: str | None = None
    root_symbol: str | None = None
    settlement_delay_days: int | None = None
    supported: bool | None = None

    def build(self) -> FutureOptionProduct:
        """The frozen model with these values; the same object for the same values, of which there are few."""
        key = (
            self.cash_settled,
            self.code,
            self.display_factor,
            self.exchange,
            self.expiration_type,
            self.is_am_settled,
            self.itm_rule,
            self.market_sector,
            self.product_subtype,
            self.product_type,
            self.root_symbol,
            self.settlement_delay_days,
            self.supported,
        )
        shared: FutureOptionProduct | None = _SHARED_FUTUREOPTIONPRODUCT.get(key)
        if shared is None:
            if len(_SHARED_FUTUREOPTIONPRODUCT) >= MOST_SHARED:
                _SHARED_FUTUREOPTIONPRODUCT.clear()
            shared = _SHARED_FUTUREOPTIONPRODUCT[key] = self.build_new()
        return shared

    def build_new(self) -> FutureOptionProduct:
        """The frozen model with these values, an object of its own."""
        v: Any
        o = _FutureOptionProduct()
        o.extra = EMPTY
        o.cash_settled = self.cash_settled
        o.code = self.code
        o.display_factor = None if (v := self.display_factor) is None else read_decimal(v)
        o.exchange = self.exchange
        o.expiration_type = self.expiration_type
        o.is_am_settled = self.is_am_settled
        o.itm_rule = self.itm_rule
        o.market_sector = self.market_sector
        o.product_subtype = self.product_subtype
        o.product_type = self.product_type
        o.root_symbol = self.root_symbol
        o.settlement_delay_days = self.settlement_delay_days
        o.supported = self.supported
        if not CLASS_SWAP:
            return finished(o, FutureOptionProduct)
        o.__class__ = FutureOptionProduct
        built: FutureOptionProduct = o
        return built

    @staticmethod
    def of(model: FutureOptionProduct) -> Any:
        """The wire struct of the model, or a dict when there is raw JSON to be written over it."""
        v: Any
        wire = FutureOptionProductWire(
            model.cash_settled,
            model.code,
            None if (v := model.display_factor) is None else decimal_text(v),
            model.exchange,
            model.expiration_type,
            model.is_am_settled,
            model.itm_rule,
            model.market_sector,
            model.product_subtype,
            model.product_type,
            model.root_symbol,
            model.settlement_delay_days,
            model.supported,
        )
        return with_extra(wire, model.extra) if model.extra else wire


_Warrant = twin(Warrant)


class WarrantWire(Wire, rename="kebab"):
    """Warrant on the wire."""

    active: bool | None = None
    cusip: str | None = None
    description: str | None = None
    instrument_type: InstrumentType | None = None
    is_closing_only: bool | None = None
    listed_market: str | None = None
    symbol: str | None = None

    def build(self) -> Warrant:
        """The frozen model with these values."""
        o = _Warrant()
        o.extra = EMPTY
        o.active = self.active
        o.cusip = self.cusip
        o.description = self.description
        o.instrument_type = self.instrument_type
        o.is_closing_only = self.is_closing_only
        o.listed_market = self.listed_market
        o.symbol = self.symbol
        if not CLASS_SWAP:
            return finished(o, Warrant)
        o.__class__ = Warrant
        built: Warrant = o
        return built

    @staticmethod
    def of(model: Warrant) -> Any:
        """The wire struct of the model, or a dict when there is raw JSON to be written over it."""
        wire = WarrantWire(
            model.active,
            model.cusip,
            model.description,
            model.instrument_type,
            model.is_closing_only,
            model.listed_market,
            model.symbol,
        )
        return with_extra(wire, model.extra) if model.extra else wire


_Order = twin(Order)


class OrderWire(Wire, rename="kebab"):
    """Order on the wire."""

    id: str | int | None = None
    account_number: str | None = None
    cancel_user_id: str | int | None = None
    cancel_username: str | None = None
    cancellable: bool | None = None
    cancelled_at: Moment | None = None
    cancelled_size: DecimalText | int | None = None
    complex_order_id: str | int | None = None
    complex_order_tag: str | None = None
    contingent_status: ContingentStatus | None = None
    editable: bool | None = None
    edited: bool | None = None
    external_identifier: str | None = None
    global_request_id: str | None = None
    gtc_date: date | None = None
    in_flight_at: Moment | None = None
    leg_count: DecimalText | int | None = None
    live_at: Moment | None = None
    order_type: OrderType | None = None
    preflight_id: str | int | None = None
    price: DecimalText | None = None
    price_effect: PriceEffect | None = None
    received_at: Moment | None = None
    reject_reason: str | None = None
    replaces_order_id: str | int | None = None
    replacing_order_id: str | int | None = None
    size: DecimalText | int | None = None
    source: str | None = None
    status: OrderStatus | None = None
    stop_trigger: DecimalText | None = None
    terminal_at: Moment | None = None
    time_in_force: TimeInForce | None = None
    underlying_instrument_type: InstrumentType | None = None
    underlying_symbol: str | None = None
    updated_at: Moment | int | None = None
    user_id: str | int | None = None
    username: str | None = None
    value: DecimalText | None = None
    value_effect: PriceEffect | None = None
    legs: list[OrderLegWire] | None = None
    order_rule: OrderRuleWire | None = None
    ext_client_order_id: str | None = None
    ext_exchange_order_number: str | None = None
    ext_global_order_number: int | None = None
    destination_venue: str | None = None
    order_rule__alias1: OrderRuleWire | None = msgspec.field(default=None, name="rules")

    def build(self) -> Order:
        """The frozen model with these values."""
        v: Any
        o = _Order()
        o.extra = EMPTY
        o.id = v if (v := self.id) is None or v.__class__ is str else str(v)
        o.account_number = self.account_number
        o.cancel_user_id = v if (v := self.cancel_user_id) is None or v.__class__ is str else str(v)
        o.cancel_username = self.cancel_username
        o.cancellable = self.cancellable
        o.cancelled_at = self.cancelled_at
        o.cancelled_size = None if (v := self.cancelled_size) is None else read_decimal(v)
        o.complex_order_id = v if (v := self.complex_order_id) is None or v.__class__ is str else str(v)
        o.complex_order_tag = self.complex_order_tag
        o.contingent_status = self.contingent_status
        o.editable = self.editable
        o.edited = self.edited
        o.external_identifier = self.external_identifier
        o.global_request_id = self.global_request_id
        o.gtc_date = self.gtc_date
        o.in_flight_at = self.in_flight_at
        o.leg_count = None if (v := self.leg_count) is None else read_decimal(v)
        o.live_at = self.live_at
        o.order_type = self.order_type
        o.preflight_id = v if (v := self.preflight_id) is None or v.__class__ is str else str(v)
        o.price = None if (v := self.price) is None else read_decimal(v)
        o.price_effect = self.price_effect
        o.received_at = self.received_at
        o.reject_reason = self.reject_reason
        o.replaces_order_id = v if (v := self.replaces_order_id) is None or v.__class__ is str else str(v)
        o.replacing_order_id = v if (v := self.replacing_order_id) is None or v.__class__ is str else str(v)
        o.size = None if (v := self.size) is None else read_decimal(v)
        o.source = self.source
        o.status = self.status
        o.stop_trigger = None if (v := self.stop_trigger) is None else read_decimal(v)
        o.terminal_at = self.terminal_at
        o.time_in_force = self.time_in_force
        o.underlying_instrument_type = self.underlying_instrument_type
        o.underlying_symbol = self.underlying_symbol
        o.updated_at = v if (v := self.updated_at) is None or isinstance(v, datetime) else read_epoch(v)
        o.user_id = v if (v := self.user_id) is None or v.__class__ is str else str(v)
        o.username = self.username
        o.value = None if (v := self.value) is None else read_decimal(v)
        o.value_effect = self.value_effect
        o.legs = None if (v := self.legs) is None else tuple([item.build() for item in v])
        v = self.order_rule
        if self.order_rule__alias1 is not None:
            if v is None:
                v = self.order_rule__alias1
            else:
                keep(o, "rules", msgspec.to_builtins(self.order_rule__alias1, builtin_types=(Decimal,)))
        o.order_rule = None if v is None else v.build()
        o.ext_client_order_id = self.ext_client_order_id
        o.ext_exchange_order_number = self.ext_exchange_order_number
        o.ext_global_order_number = self.ext_global_order_number
        o.destination_venue = self.destination_venue
        if not CLASS_SWAP:
            return finished(o, Order)
        o.__class__ = Order
        built: Order = o
        return built

    @staticmethod
    def of(model: Order) -> Any:
        """The wire struct of the model, or a dict when there is raw JSON to be written over it."""
        v: Any
        wire = OrderWire(
            model.id,
            model.account_number,
            model.cancel_user_id,
            model.cancel_username,
            model.cancellable,
            model.cancelled_at,
            None if (v := model.cancelled_size) is None else decimal_text(v),
            model.complex_order_id,
            model.complex_order_tag,
            model.contingent_status,
            model.editable,
            model.edited,
            model.external_identifier,
            model.global_request_id,
            model.gtc_date,
            model.in_flight_at,
            None if (v := model.leg_count) is None else decimal_text(v),
            model.live_at,
            model.order_type,
            model.preflight_id,
            None if (v := model.price) is None else decimal_text(v),
            model.price_effect,
            model.received_at,
            model.reject_reason,
            model.replaces_order_id,
            model.replacing_order_id,
            None if (v := model.size) is None else decimal_text(v),
            model.source,
            model.status,
            None if (v := model.stop_trigger) is None else decimal_text(v),
            model.terminal_at,
            model.time_in_force,
            model.underlying_instrument_type,
            model.underlying_symbol,
            model.updated_at,
            model.user_id,
            model.username,
            None if (v := model.value) is None else decimal_text(v),
            model.value_effect,
            None if (v := model.legs) is None else [OrderLegWire.of(item) for item in v],
            None if (v := model.order_rule) is None else OrderRuleWire.of(v),
            model.ext_client_order_id,
            model.ext_exchange_order_number,
            model.ext_global_order_number,
            model.destination_venue,
        )
        return with_extra(wire, model.extra) if model.extra else wire


_OrderLeg = twin(OrderLeg)


class OrderLegWire(Wire, rename="kebab"):
    """OrderLeg on the wire."""

    action: LegAction | None = None
    instrument_type: InstrumentType | None = None
    quantity: DecimalText | int | None = None
    remaining_quantity: DecimalText | int | None = None
    symbol: str | None = None
    fills: list[FillWire] | None = None

    def build(self) -> OrderLeg:
        """The frozen model with these values."""
        v: Any
        o = _OrderLeg()
        o.extra = EMPTY
        o.action = self.action
        o.instrument_type = self.instrument_type
        o.quantity = None if (v := self.quantity) is None else read_decimal(v)
        o.remaining_quantity = None if (v := self.remaining_quantity) is None else read_decimal(v)
        o.symbol = self.symbol
        o.fills = None if (v := self.fills) is None else tuple([item.build() for item in v])
        if not CLASS_SWAP:
            return finished(o, OrderLeg)
        o.__class__ = OrderLeg
        built: OrderLeg = o
        return built

    @staticmethod
    def of(model: OrderLeg) -> Any:
        """The wire struct of the model, or a dict when there is raw JSON to be written over it."""
        v: Any
        wire = OrderLegWire(
            model.action,
            model.instrument_type,
            None if (v := model.quantity) is None else decimal_text(v),
            None if (v := model.remaining_quantity) is None else decimal_text(v),
            model.symbol,
            None if (v := model.fills) is None else [FillWire.of(item) for item in v],
        )
        return with_extra(wire, model.extra) if model.extra else wire


_Fill = twin(Fill)


class FillWire(Wire, rename="kebab"):
    """Fill on the wire."""

    destination_venue: str | None = None
    ext_exec_id: str | None = None
    ext_group_fill_id: str | None = None
    fill_id: str | None = None
    fill_price: DecimalText | None = None
    filled_at: Moment | None = None
    quantity: DecimalText | int | None = None

    def build(self) -> Fill:
        """The frozen model with these values."""
        v: Any
        o = _Fill()
        o.extra = EMPTY
        o.destination_venue = self.destination_venue
        o.ext_exec_id = self.ext_exec_id
        o.ext_group_fill_id = self.ext_group_fill_id
        o.fill_id = self.fill_id
        o.fill_price = None if (v := self.fill_price) is None else read_decimal(v)
        o.filled_at = self.filled_at
        o.quantity = None if (v := self.quantity) is None else read_decimal(v)
        if not CLASS_SWAP:
            return finished(o, Fill)
        o.__class__ = Fill
        built: Fill = o
        return built

    @staticmethod
    def of(model: Fill) -> Any:
        """The wire struct of the model, or a dict when there is raw JSON to be written over it."""
        v: Any
        wire = FillWire(
            model.destination_venue,
            model.ext_exec_id,
            model.ext_group_fill_id,
            model.fill_id,
            None if (v := model.fill_price) is None else decimal_text(v),
            model.filled_at,
            None if (v := model.quantity) is None else decimal_text(v),
        )
        return with_extra(wire, model.extra) if model.extra else wire


_OrderRule = twin(OrderRule)


class OrderRuleWire(Wire, rename="kebab"):
    """OrderRule on the wire."""

    cancel_at: Moment | None = None
    cancelled_at: Moment | None = None
    route_after: Moment | None = None
    routed_at: Moment | None = None
    order_conditions: list[OrderConditionWire] | None = None
    order_conditions__alias1: list[OrderConditionWire] | None = msgspec.field(default=None, name="conditions")

    def build(self) -> OrderRule:
        """The frozen model with these values."""
        v: Any
        o = _OrderRule()
        o.extra = EMPTY
        o.cancel_at = self.cancel_at
        o.cancelled_at = self.cancelled_at
        o.route_after = self.route_after
        o.routed_at = self.routed_at
        v = self.order_conditions
        if self.order_conditions__alias1 is not None:
            if v is None:
                v = self.order_conditions__alias1
            else:
                keep(o, "conditions", msgspec.to_builtins(self.order_conditions__alias1, builtin_types=(Decimal,)))
        o.order_conditions = None if v is None else tuple([item.build() for item in v])
        if not CLASS_SWAP:
            return finished(o, OrderRule)
        o.__class__ = OrderRule
        built: OrderRule = o
        return built

    @staticmethod
    def of(model: OrderRule) -> Any:
        """The wire struct of the model, or a dict when there is raw JSON to be written over it."""
        v: Any
        wire = OrderRuleWire(
            model.cancel_at,
            model.cancelled_at,
            model.route_after,
            model.routed_at,
            None if (v := model.order_conditions) is None else [OrderConditionWire.of(item) for item in v],
        )
        return with_extra(wire, model.extra) if model.extra else wire


_OrderCondition = twin(OrderCondition)


class OrderConditionWire(Wire, rename="kebab"):
    """OrderCondition on the wire."""

    id: str | int | None = None
    action: str | None = None
    comparator: Comparator | None = None
    indicator: str | None = None
    instrument_type: InstrumentType | None = None
    is_threshold_based_on_notional: bool | None = None
    symbol: str | None = None
    threshold: DecimalText | None = None
    triggered_at: Moment | None = None
    triggered_value: DecimalText | None = None
    price_components: list[PriceComponentWire] | None = None

    def build(self) -> OrderCondition:
        """The frozen model with these values."""
        v: Any
        o = _OrderCondition()
        o.extra = EMPTY
        o.id = v if (v := self.id) is None or v.__class__ is str else str(v)
        o.action = self.action
        o.comparator = self.comparator
        o.indicator = self.indicator
        o.instrument_type = self.instrument_type
        o.is_threshold_based_on_notional = self.is_threshold_based_on_notional
        o.symbol = self.symbol
        o.threshold = None if (v := self.threshold) is None else read_decimal(v)
        o.triggered_at = self.triggered_at
        o.triggered_value = None if (v := self.triggered_value) is None else read_decimal(v)
        o.price_components = None if (v := self.price_components) is None else tuple([item.build() for item in v])
        if not CLASS_SWAP:
            return finished(o, OrderCondition)
        o.__class__ = OrderCondition
        built: OrderCondition = o
        return built

    @staticmethod
    def of(model: OrderCondition) -> Any:
        """The wire struct of the model, or a dict when there is raw JSON to be written over it."""
        v: Any
        wire = OrderConditionWire(
            model.id,
            model.action,
            model.comparator,
            model.indicator,
            model.instrument_type,
            model.is_threshold_based_on_notional,
            model.symbol,
            None if (v := model.threshold) is None else decimal_text(v),
            model.triggered_at,
            None if (v := model.triggered_value) is None else decimal_text(v),
            None if (v := model.price_components) is None else [PriceComponentWire.of(item) for item in v],
        )
        return with_extra(wire, model.extra) if model.extra else wire


_PriceComponent = twin(PriceComponent)


class PriceComponentWire(Wire, rename="kebab"):
    """PriceComponent on the wire."""

    instrument_type: InstrumentType | None = None
    quantity: DecimalText | int | None = None
    quantity_direction: str | None = None
    symbol: str | None = None

    def build(self) -> PriceComponent:
        """The frozen model with these values."""
        v: Any
        o = _PriceComponent()
        o.extra = EMPTY
        o.instrument_type = self.instrument_type
        o.quantity = None if (v := self.quantity) is None else read_decimal(v)
        o.quantity_direction = self.quantity_direction
        o.symbol = self.symbol
        if not CLASS_SWAP:
            return finished(o, PriceComponent)
        o.__class__ = PriceComponent
        built: PriceComponent = o
        return built

    @staticmethod
    def of(model: PriceComponent) -> Any:
        """The wire struct of the model, or a dict when there is raw JSON to be written over it."""
        v: Any
        wire = PriceComponentWire(
            model.instrument_type,
            None if (v := model.quantity) is None else decimal_text(v),
            model.quantity_direction,
            model.symbol,
        )
        return with_extra(wire, model.extra) if model.extra else wire


_PlacedOrderResponse = twin(PlacedOrderResponse)


class PlacedOrderResponseWire(Wire, rename="kebab"):
    """PlacedOrderResponse on the wire."""

    buying_power_effect: BuyingPowerEffectWire | None = None
    closing_fee_calculation: str | None = None
    complex_order: ComplexOrderWire | None = None
    errors: list[PreflightMessageWire] | None = None
    fee_calculation: FeeCalculationWire | None = None
    notes: list[PreflightMessageWire] | None = None
    order: OrderWire | None = None
    order_costs: str | None = None
    warnings: list[PreflightMessageWire] | None = None

    def build(self) -> PlacedOrderResponse:
        """The frozen model with these values."""
        v: Any
        o = _PlacedOrderResponse()
        o.extra = EMPTY
        o.buying_power_effect = None if (v := self.buying_power_effect) is None else v.build()
        o.closing_fee_calculation = self.closing_fee_calculation
        o.complex_order = None if (v := self.complex_order) is None else v.build()
        o.errors = None if (v := self.errors) is None else tuple([item.build() for item in v])
        o.fee_calculation = None if (v := self.fee_calculation) is None else v.build()
        o.notes = None if (v := self.notes) is None else tuple([item.build() for item in v])
        o.order = None if (v := self.order) is None else v.build()
        o.order_costs = self.order_costs
        o.warnings = None if (v := self.warnings) is None else tuple([item.build() for item in v])
        if not CLASS_SWAP:
            return finished(o, PlacedOrderResponse)
        o.__class__ = PlacedOrderResponse
        built: PlacedOrderResponse = o
        return built

    @staticmethod
    def of(model: PlacedOrderResponse) -> Any:
        """The wire struct of the model, or a dict when there is raw JSON to be written over it."""
        v: Any
        wire = PlacedOrderResponseWire(
            None if (v := model.buying_power_effect) is None else BuyingPowerEffectWire.of(v),
            model.closing_fee_calculation,
            None if (v := model.complex_order) is None else ComplexOrderWire.of(v),
            None if (v := model.errors) is None else [PreflightMessageWire.of(item) for item in v],
            None if (v := model.fee_calculation) is None else FeeCalculationWire.of(v),
            None if (v := model.notes) is None else [PreflightMessageWire.of(item) for item in v],
            None if (v := model.order) is None else OrderWire.of(v),
            model.order_costs,
            None if (v := model.warnings) is None else [PreflightMessageWire.of(item) for item in v],
        )
        return with_extra(wire, model.extra) if model.extra else wire


_BuyingPowerEffect = twin(BuyingPowerEffect)


class BuyingPowerEffectWire(Wire, rename="kebab"):
    """BuyingPowerEffect on the wire."""

    change_in_margin_requirement: DecimalText | None = None
    change_in_margin_requirement_effect: PriceEffect | None = None
    change_in_buying_power: DecimalText | None = None
    change_in_buying_power_effect: PriceEffect | None = None
    current_buying_power: DecimalText | None = None
    current_buying_power_effect: PriceEffect | None = None
    new_buying_power: DecimalText | None = None
    new_buying_power_effect: PriceEffect | None = None
    isolated_order_margin_requirement: DecimalText | None = None
    isolated_order_margin_requirement_effect: PriceEffect | None = None
    is_spread: bool | None = None
    impact: DecimalText | None = None
    effect: PriceEffect | None = None

    def build(self) -> BuyingPowerEffect:
        """The frozen model with these values."""
        v: Any
        o = _BuyingPowerEffect()
        o.extra = EMPTY
        o.change_in_margin_requirement = None if (v := self.change_in_margin_requirement) is None else read_decimal(v)
        o.change_in_margin_requirement_effect = self.change_in_margin_requirement_effect
        o.change_in_buying_power = None if (v := self.change_in_buying_power) is None else read_decimal(v)
        o.change_in_buying_power_effect = self.change_in_buying_power_effect
        o.current_buying_power = None if (v := self.current_buying_power) is None else read_decimal(v)
        o.current_buying_power_effect = self.current_buying_power_effect
        o.new_buying_power = None if (v := self.new_buying_power) is None else read_decimal(v)
        o.new_buying_power_effect = self.new_buying_power_effect
        o.isolated_order_margin_requirement = (
            None if (v := self.isolated_order_margin_requirement) is None else read_decimal(v)
        )
        o.isolated_order_margin_requirement_effect = self.isolated_order_margin_requirement_effect
        o.is_spread = self.is_spread
        o.impact = None if (v := self.impact) is None else read_decimal(v)
        o.effect = self.effect
        if not CLASS_SWAP:
            return finished(o, BuyingPowerEffect)
        o.__class__ = BuyingPowerEffect
        built: BuyingPowerEffect = o
        return built

    @staticmethod
    def of(model: BuyingPowerEffect) -> Any:
        """The wire struct of the model, or a dict when there is raw JSON to be written over it."""
        v: Any
        wire = BuyingPowerEffectWire(
            None if (v := model.change_in_margin_requirement) is None else decimal_text(v),
            model.change_in_margin_requirement_effect,
            None if (v := model.change_in_buying_power) is None else decimal_text(v),
            model.change_in_buying_power_effect,
            None if (v := model.current_buying_power) is None else decimal_text(v),
            model.current_buying_power_effect,
            None if (v := model.new_buying_power) is None else decimal_text(v),
            model.new_buying_power_effect,
            None if (v := model.isolated_order_margin_requirement) is None else decimal_text(v),
            model.isolated_order_margin_requirement_effect,
            model.is_spread,
            None if (v := model.impact) is None else decimal_text(v),
            model.effect,
        )
        return with_extra(wire, model.extra) if model.extra else wire


_FeeCalculation = twin(FeeCalculation)


class FeeCalculationWire(Wire, rename="kebab"):
    """FeeCalculation on the wire."""

    regulatory_fees: DecimalText | None = None
    regulatory_fees_effect: PriceEffect | None = None
    clearing_fees: DecimalText | None = None
    clearing_fees_effect: PriceEffect | None = None
    commission: DecimalText | None = None
    commission_effect: PriceEffect | None = None
    proprietary_index_option_fees: DecimalText | None = None
    proprietary_index_option_fees_effect: PriceEffect | None = None
    total_fees: DecimalText | None = None
    total_fees_effect: PriceEffect | None = None
    regulatory_fees_breakdown: list[FeeBreakdownWire] | None = None
    clearing_fees_breakdown: list[FeeBreakdownWire] | None = None
    commission_breakdown: list[FeeBreakdownWire] | None = None
    proprietary_fees_breakdown: list[FeeBreakdownWire] | None = None
    per_quantity: bool | None = None

    def build(self) -> FeeCalculation:
        """The frozen model with these values."""
        v: Any
        o = _FeeCalculation()
        o.extra = EMPTY
        o.regulatory_fees = None if (v := self.regulatory_fees) is None else read_decimal(v)
        o.regulatory_fees_effect = self.regulatory_fees_effect
        o.clearing_fees = None if (v := self.clearing_fees) is None else read_decimal(v)
        o.clearing_fees_effect = self.clearing_fees_effect
        o.commission = None if (v := self.commission) is None else read_decimal(v)
        o.commission_effect = self.commission_effect
        o.proprietary_index_option_fees = None if (v := self.proprietary_index_option_fees) is None else read_decimal(v)
        o.proprietary_index_option_fees_effect = self.proprietary_index_option_fees_effect
        o.total_fees = None if (v := self.total_fees) is None else read_decimal(v)
        o.total_fees_effect = self.total_fees_effect
        o.regulatory_fees_breakdown = (
            None if (v := self.regulatory_fees_breakdown) is None else tuple([item.build() for item in v])
        )
        o.clearing_fees_breakdown = (
            None if (v := self.clearing_fees_breakdown) is None else tuple([item.build() for item in v])
        )
        o.commission_breakdown = (
            None if (v := self.commission_breakdown) is None else tuple([item.build() for item in v])
        )
        o.proprietary_fees_breakdown = (
            None if (v := self.proprietary_fees_breakdown) is None else tuple([item.build() for item in v])
        )
        o.per_quantity = self.per_quantity
        if not CLASS_SWAP:
            return finished(o, FeeCalculation)
        o.__class__ = FeeCalculation
        built: FeeCalculation = o
        return built

    @staticmethod
    def of(model: FeeCalculation) -> Any:
        """The wire struct of the model, or a dict when there is raw JSON to be written over it."""
        v: Any
        wire = FeeCalculationWire(
            None if (v := model.regulatory_fees) is None else decimal_text(v),
            model.regulatory_fees_effect,
            None if (v := model.clearing_fees) is None else decimal_text(v),
            model.clearing_fees_effect,
            None if (v := model.commission) is None else decimal_text(v),
            model.commission_effect,
            None if (v := model.proprietary_index_option_fees) is None else decimal_text(v),
            model.proprietary_index_option_fees_effect,
            None if (v := model.total_fees) is None else decimal_text(v),
            model.total_fees_effect,
            None if (v := model.regulatory_fees_breakdown) is None else [FeeBreakdownWire.of(item) for item in v],
            None if (v := model.clearing_fees_breakdown) is None else [FeeBreakdownWire.of(item) for item in v],
            None if (v := model.commission_breakdown) is None else [FeeBreakdownWire.of(item) for item in v],
            None if (v := model.proprietary_fees_breakdown) is None else [FeeBreakdownWire.of(item) for item in v],
            model.per_quantity,
        )
        return with_extra(wire, model.extra) if model.extra else wire


_FeeBreakdown = twin(FeeBreakdown)


class FeeBreakdownWire(Wire):
    """FeeBreakdown on the wire."""

    name: str | None = None
    value: DecimalText | None = None
    effect: PriceEffect | None = None

    def build(self) -> FeeBreakdown:
        """The frozen model with these values."""
        v: Any
        o = _FeeBreakdown()
        o.extra = EMPTY
        o.name = self.name
        o.value = None if (v := self.value) is None else read_decimal(v)
        o.effect = self.effect
        if not CLASS_SWAP:
            return finished(o, FeeBreakdown)
        o.__class__ = FeeBreakdown
        built: FeeBreakdown = o
        return built

    @staticmethod
    def of(model: FeeBreakdown) -> Any:
        """The wire struct of the model, or a dict when there is raw JSON to be written over it."""
        v: Any
        wire = FeeBreakdownWire(
            model.name,
            None if (v := model.value) is None else decimal_text(v),
            model.effect,
        )
        return with_extra(wire, model.extra) if model.extra else wire


_PreflightMessage = twin(PreflightMessage)


class PreflightMessageWire(Wire, rename="kebab"):
    """PreflightMessage on the wire."""

    code: str | None = None
    message: str | None = None
    preflight_id: str | int | None = None
    url: str | None = None

    def build(self) -> PreflightMessage:
        """The frozen model with these values."""
        v: Any
        o = _PreflightMessage()
        o.extra = EMPTY
        o.code = self.code
        o.message = self.message
        o.preflight_id = v if (v := self.preflight_id) is None or v.__class__ is str else str(v)
        o.url = self.url
        if not CLASS_SWAP:
            return finished(o, PreflightMessage)
        o.__class__ = PreflightMessage
        built: PreflightMessage = o
        return built

    @staticmethod
    def of(model: PreflightMessage) -> Any:
        """The wire struct of the model, or a dict when there is raw JSON to be written over it."""
        wire = PreflightMessageWire(
            model.code,
            model.message,
            model.preflight_id,
            model.url,
        )
        return with_extra(wire, model.extra) if model.extra else wire


_NewOrder = twin(NewOrder)


class NewOrderWire(Wire, rename="kebab"):
    """NewOrder on the wire."""

    order_type: OrderType | None = None
    time_in_force: TimeInForce | None = None
    legs: list[NewOrderLegWire] | None = None
    gtc_date: date | None = None
    stop_trigger: DecimalText | None = None
    price: DecimalText | None = None
    price_effect: PriceEffect | None = None
    value: DecimalText | None = None
    value_effect: PriceEffect | None = None
    automated_source: bool | None = None
    external_identifier: str | None = None
    partition_key: str | None = None
    preflight_id: str | None = None
    source: str | None = None
    rules: NewOrderRulesWire | None = None
    advanced_instructions: AdvancedInstructionsWire | None = None

    def build(self) -> NewOrder:
        """The frozen model with these values."""
        v: Any
        o = _NewOrder()
        o.extra = EMPTY
        o.order_type = self.order_type
        o.time_in_force = self.time_in_force
        o.legs = None if (v := self.legs) is None else tuple([item.build() for item in v])
        o.gtc_date = self.gtc_date
        o.stop_trigger = None if (v := self.stop_trigger) is None else read_decimal(v)
        o.price = None if (v := self.price) is None else read_decimal(v)
        o.price_effect = self.price_effect
        o.value = None if (v := self.value) is None else read_decimal(v)
        o.value_effect = self.value_effect
        o.automated_source = self.automated_source
        o.external_identifier = self.external_identifier
        o.partition_key = self.partition_key
        o.preflight_id = self.preflight_id
        o.source = self.source
        o.rules = None if (v := self.rules) is None else v.build()
        o.advanced_instructions = None if (v := self.advanced_instructions) is None else v.build()
        if not CLASS_SWAP:
            return finished(o, NewOrder)
        o.__class__ = NewOrder
        built: NewOrder = o
        return built

    @staticmethod
    def of(model: NewOrder) -> Any:
        """The wire struct of the model, or a dict when there is raw JSON to be written over it."""
        v: Any
        wire = NewOrderWire(
            model.order_type,
            model.time_in_force,
            None if (v := model.legs) is None else [NewOrderLegWire.of(item) for item in v],
            model.gtc_date,
            None if (v := model.stop_trigger) is None else decimal_text(v),
            None if (v := model.price) is None else decimal_text(v),
            model.price_effect,
            None if (v := model.value) is None else decimal_text(v),
            model.value_effect,
            model.automated_source,
            model.external_identifier,
            model.partition_key,
            model.preflight_id,
            model.source,
            None if (v := model.rules) is None else NewOrderRulesWire.of(v),
            None if (v := model.advanced_instructions) is None else AdvancedInstructionsWire.of(v),
        )
        return with_extra(wire, model.extra) if model.extra else wire


_NewOrderLeg = twin(NewOrderLeg)


class NewOrderLegWire(Wire, rename="kebab"):
    """NewOrderLeg on the wire."""

    action: LegAction | None = None
    instrument_type: InstrumentType | None = None
    quantity: DecimalText | None = None
    symbol: str | None = None

    def build(self) -> NewOrderLeg:
        """The frozen model with these values."""
        v: Any
        o = _NewOrderLeg()
        o.extra = EMPTY
        o.action = self.action
        o.instrument_type = self.instrument_type
        o.quantity = None if (v := self.quantity) is None else read_decimal(v)
        o.symbol = self.symbol
        if not CLASS_SWAP:
            return finished(o, NewOrderLeg)
        o.__class__ = NewOrderLeg
        built: NewOrderLeg = o
        return built

    @staticmethod
    def of(model: NewOrderLeg) -> Any:
        """The wire struct of the model, or a dict when there is raw JSON to be written over it."""
        v: Any
        wire = NewOrderLegWire(
            model.action,
            model.instrument_type,
            None if (v := model.quantity) is None else decimal_text(v),
            model.symbol,
        )
        return with_extra(wire, model.extra) if model.extra else wire


_NewOrderRules = twin(NewOrderRules)


class NewOrderRulesWire(Wire, rename="kebab"):
    """NewOrderRules on the wire."""

    cancel_at: Moment | None = None
    route_after: Moment | None = None
    conditions: list[NewOrderConditionWire] | None = None

    def build(self) -> NewOrderRules:
        """The frozen model with these values."""
        v: Any
        o = _NewOrderRules()
        o.extra = EMPTY
        o.cancel_at = self.cancel_at
        o.route_after = self.route_after
        o.conditions = None if (v := self.conditions) is None else tuple([item.build() for item in v])
        if not CLASS_SWAP:
            return finished(o, NewOrderRules)
        o.__class__ = NewOrderRules
        built: NewOrderRules = o
        return built

    @staticmethod
    def of(model: NewOrderRules) -> Any:
        """The wire struct of the model, or a dict when there is raw JSON to be written over it."""
        v: Any
        wire = NewOrderRulesWire(
            model.cancel_at,
            model.route_after,
            None if (v := model.conditions) is None else [NewOrderConditionWire.of(item) for item in v],
        )
        return with_extra(wire, model.extra) if model.extra else wire


_NewOrderCondition = twin(NewOrderCondition)


class NewOrderConditionWire(Wire, rename="kebab"):
    """NewOrderCondition on the wire."""

    action: str | None = None
    instrument_type: InstrumentType | None = None
    symbol: str | None = None
    comparator: Comparator | None = None
    indicator: str | None = None
    threshold: DecimalText | None = None
    price_components: list[NewPriceComponentWire] | None = None

    def build(self) -> NewOrderCondition:
        """The frozen model with these values."""
        v: Any
        o = _NewOrderCondition()
        o.extra = EMPTY
        o.action = self.action
        o.instrument_type = self.instrument_type
        o.symbol = self.symbol
        o.comparator = self.comparator
        o.indicator = self.indicator
        o.threshold = None if (v := self.threshold) is None else read_decimal(v)
        o.price_components = None if (v := self.price_components) is None else tuple([item.build() for item in v])
        if not CLASS_SWAP:
            return finished(o, NewOrderCondition)
        o.__class__ = NewOrderCondition
        built: NewOrderCondition = o
        return built

    @staticmethod
    def of(model: NewOrderCondition) -> Any:
        """The wire struct of the model, or a dict when there is raw JSON to be written over it."""
        v: Any
        wire = NewOrderConditionWire(
            model.action,
            model.instrument_type,
            model.symbol,
            model.comparator,
            model.indicator,
            None if (v := model.threshold) is None else decimal_text(v),
            None if (v := model.price_components) is None else [NewPriceComponentWire.of(item) for item in v],
        )
        return with_extra(wire, model.extra) if model.extra else wire


_NewPriceComponent = twin(NewPriceComponent)


class NewPriceComponentWire(Wire, rename="kebab"):
    """NewPriceComponent on the wire."""

    instrument_type: InstrumentType | None = None
    quantity: DecimalText | None = None
    quantity_direction: str | None = None
    symbol: str | None = None

    def build(self) -> NewPriceComponent:
        """The frozen model with these values."""
        v: Any
        o = _NewPriceComponent()
        o.extra = EMPTY
        o.instrument_type = self.instrument_type
        o.quantity = None if (v := self.quantity) is None else read_decimal(v)
        o.quantity_direction = self.quantity_direction
        o.symbol = self.symbol
        if not CLASS_SWAP:
            return finished(o, NewPriceComponent)
        o.__class__ = NewPriceComponent
        built: NewPriceComponent = o
        return built

    @staticmethod
    def of(model: NewPriceComponent) -> Any:
        """The wire struct of the model, or a dict when there is raw JSON to be written over it."""
        v: Any
        wire = NewPriceComponentWire(
            model.instrument_type,
            None if (v := model.quantity) is None else decimal_text(v),
            model.quantity_direction,
            model.symbol,
        )
        return with_extra(wire, model.extra) if model.extra else wire


_AdvancedInstructions = twin(AdvancedInstructions)


class AdvancedInstructionsWire(Wire, rename="kebab"):
    """AdvancedInstructions on the wire."""

    strict_position_effect_validation: bool | None = None

    def build(self) -> AdvancedInstructions:
        """The frozen model with these values."""
        o = _AdvancedInstructions()
        o.extra = EMPTY
        o.strict_position_effect_validation = self.strict_position_effect_validation
        if not CLASS_SWAP:
            return finished(o, AdvancedInstructions)
        o.__class__ = AdvancedInstructions
        built: AdvancedInstructions = o
        return built

    @staticmethod
    def of(model: AdvancedInstructions) -> Any:
        """The wire struct of the model, or a dict when there is raw JSON to be written over it."""
        wire = AdvancedInstructionsWire(
            model.strict_position_effect_validation,
        )
        return with_extra(wire, model.extra) if model.extra else wire


_OrderEdit = twin(OrderEdit)


class OrderEditWire(Wire, rename="kebab"):
    """OrderEdit on the wire."""

    order_type: OrderType | None = None
    time_in_force: TimeInForce | None = None
    legs: list[NewOrderLegWire] | None = None
    gtc_date: date | None = None
    stop_trigger: DecimalText | None = None
    price: DecimalText | None = None
    price_effect: PriceEffect | None = None
    value: DecimalText | None = None
    value_effect: PriceEffect | None = None
    automated_source: bool | None = None
    external_identifier: str | None = None
    partition_key: str | None = None
    preflight_id: str | None = None
    source: str | None = None

    def build(self) -> OrderEdit:
        """The frozen model with these values."""
        v: Any
        o = _OrderEdit()
        o.extra = EMPTY
        o.order_type = self.order_type
        o.time_in_force = self.time_in_force
        o.legs = None if (v := self.legs) is None else tuple([item.build() for item in v])
        o.gtc_date = self.gtc_date
        o.stop_trigger = None if (v := self.stop_trigger) is None else read_decimal(v)
        o.price = None if (v := self.price) is None else read_decimal(v)
        o.price_effect = self.price_effect
        o.value = None if (v := self.value) is None else read_decimal(v)
        o.value_effect = self.value_effect
        o.automated_source = self.automated_source
        o.external_identifier = self.external_identifier
        o.partition_key = self.partition_key
        o.preflight_id = self.preflight_id
        o.source = self.source
        if not CLASS_SWAP:
            return finished(o, OrderEdit)
        o.__class__ = OrderEdit
        built: OrderEdit = o
        return built

    @staticmethod
    def of(model: OrderEdit) -> Any:
        """The wire struct of the model, or a dict when there is raw JSON to be written over it."""
        v: Any
        wire = OrderEditWire(
            model.order_type,
            model.time_in_force,
            None if (v := model.legs) is None else [NewOrderLegWire.of(item) for item in v],
            model.gtc_date,
            None if (v := model.stop_trigger) is None else decimal_text(v),
            None if (v := model.price) is None else decimal_text(v),
            model.price_effect,
            None if (v := model.value) is None else decimal_text(v),
            model.value_effect,
            model.automated_source,
            model.external_identifier,
            model.partition_key,
            model.preflight_id,
            model.source,
        )
        return with_extra(wire, model.extra) if model.extra else wire


_ComplexOrder = twin(ComplexOrder)


class ComplexOrderWire(Wire, rename="kebab"):
    """ComplexOrder on the wire."""

    id: str | int | None = None
    account_number: str | None = None
    type: ComplexOrderType | None = None
    ratio_price_comparator: Comparator | None = None
    ratio_price_is_threshold_based_on_notional: bool | None = None
    ratio_price_threshold: DecimalText | None = None
    terminal_at: Moment | None = None
    related_orders: list[RelatedOrderWire] | None = None
    orders: list[OrderWire] | None = None
    trigger_order: OrderWire | None = None

    def build(self) -> ComplexOrder:
        """The frozen model with these values."""
        v: Any
        o = _ComplexOrder()
        o.extra = EMPTY
        o.id = v if (v := self.id) is None or v.__class__ is str else str(v)
        o.account_number = self.account_number
        o.type = self.type
        o.ratio_price_comparator = self.ratio_price_comparator
        o.ratio_price_is_threshold_based_on_notional = self.ratio_price_is_threshold_based_on_notional
        o.ratio_price_threshold = None if (v := self.ratio_price_threshold) is None else read_decimal(v)
        o.terminal_at = self.terminal_at
        o.related_orders = None if (v := self.related_orders) is None else tuple([item.build() for item in v])
        o.orders = None if (v := self.orders) is None else tuple([item.build() for item in v])
        o.trigger_order = None if (v := self.trigger_order) is None else v.build()
        if not CLASS_SWAP:
            return finished(o, ComplexOrder)
        o.__class__ = ComplexOrder
        built: ComplexOrder = o
        return built

    @staticmethod
    def of(model: ComplexOrder) -> Any:
        """The wire struct of the model, or a dict when there is raw JSON to be written over it."""
        v: Any
        wire = ComplexOrderWire(
            model.id,
            model.account_number,
            model.type,
            model.ratio_price_comparator,
            model.ratio_price_is_threshold_based_on_notional,
            None if (v := model.ratio_price_threshold) is None else decimal_text(v),
            model.terminal_at,
            None if (v := model.related_orders) is None else [RelatedOrderWire.of(item) for item in v],
            None if (v := model.orders) is None else [OrderWire.of(item) for item in v],
            None if (v := model.trigger_order) is None else OrderWire.of(v),
        )
        return with_extra(wire, model.extra) if model.extra else wire


_RelatedOrder = twin(RelatedOrder)


class RelatedOrderWire(Wire, rename="kebab"):
    """RelatedOrder on the wire."""

    id: str | int | None = None
    complex_order_id: str | int | None = None
    complex_order_tag: str | None = None
    replaces_order_id: str | int | None = None
    replacing_order_id: str | int | None = None
    status: OrderStatus | None = None

    def build(self) -> RelatedOrder:
        """The frozen model with these values."""
        v: Any
        o = _RelatedOrder()
        o.extra = EMPTY
        o.id = v if (v := self.id) is None or v.__class__ is str else str(v)
        o.complex_order_id = v if (v := self.complex_order_id) is None or v.__class__ is str else str(v)
        o.complex_order_tag = self.complex_order_tag
        o.replaces_order_id = v if (v := self.replaces_order_id) is None or v.__class__ is str else str(v)
        o.replacing_order_id = v if (v := self.replacing_order_id) is None or v.__class__ is str else str(v)
        o.status = self.status
        if not CLASS_SWAP:
            return finished(o, RelatedOrder)
        o.__class__ = RelatedOrder
        built: RelatedOrder = o
        return built

    @staticmethod
    def of(model: RelatedOrder) -> Any:
        """The wire struct of the model, or a dict when there is raw JSON to be written over it."""
        wire = RelatedOrderWire(
            model.id,
            model.complex_order_id,
            model.complex_order_tag,
            model.replaces_order_id,
            model.replacing_order_id,
            model.status,
        )
        return with_extra(wire, model.extra) if model.extra else wire


_PairsEdit = twin(PairsEdit)


class PairsEditWire(Wire, rename="kebab"):
    """PairsEdit on the wire."""

    ratio_price_comparator: Comparator | None = None
    ratio_price_threshold: DecimalText | None = None

    def build(self) -> PairsEdit:
        """The frozen model with these values."""
        v: Any
        o = _PairsEdit()
        o.extra = EMPTY
        o.ratio_price_comparator = self.ratio_price_comparator
        o.ratio_price_threshold = None if (v := self.ratio_price_threshold) is None else read_decimal(v)
        if not CLASS_SWAP:
            return finished(o, PairsEdit)
        o.__class__ = PairsEdit
        built: PairsEdit = o
        return built

    @staticmethod
    def of(model: PairsEdit) -> Any:
        """The wire struct of the model, or a dict when there is raw JSON to be written over it."""
        v: Any
        wire = PairsEditWire(
            model.ratio_price_comparator,
            None if (v := model.ratio_price_threshold) is None else decimal_text(v),
        )
        return with_extra(wire, model.extra) if model.extra else wire


_Transaction = twin(Transaction)


class TransactionWire(Wire, rename="kebab"):
    """Transaction on the wire."""

    id: str | int | None = None
    account_number: str | None = None
    transaction_type: str | None = None
    transaction_sub_type: str | None = None
    transaction_date: date | None = None
    executed_at: Moment | None = None
    symbol: str | None = None
    underlying_symbol: str | None = None
    instrument_type: InstrumentType | None = None
    action: LegAction | None = None
    quantity: DecimalText | int | None = None
    price: DecimalText | None = None
    value: DecimalText | None = None
    value_effect: PriceEffect | None = None
    net_value: DecimalText | None = None
    net_value_effect: PriceEffect | None = None
    commission: DecimalText | None = None
    commission_effect: PriceEffect | None = None
    clearing_fees: DecimalText | None = None
    clearing_fees_effect: PriceEffect | None = None
    regulatory_fees: DecimalText | None = None
    regulatory_fees_effect: PriceEffect | None = None
    proprietary_index_option_fees: DecimalText | None = None
    proprietary_index_option_fees_effect: PriceEffect | None = None
    description: str | None = None
    is_estimated_fee: bool | None = None
    order_id: str | int | None = None
    leg_count: int | None = None
    currency: str | None = None
    exec_id: str | None = None
    ext_exec_id: str | None = None
    ext_group_id: str | None = None
    lots: list[TransactionLotWire] | None = None

    def build(self) -> Transaction:
        """The frozen model with these values."""
        v: Any
        o = _Transaction()
        o.extra = EMPTY
        o.id = v if (v := self.id) is None or v.__class__ is str else str(v)
        o.account_number = self.account_number
        o.transaction_type = self.transaction_type
        o.transaction_sub_type = self.transaction_sub_type
        o.transaction_date = self.transaction_date
        o.executed_at = self.executed_at
        o.symbol = self.symbol
        o.underlying_symbol = self.underlying_symbol
        o.instrument_type = self.instrument_type
        o.action = self.action
        o.quantity = None if (v := self.quantity) is None else read_decimal(v)
        o.price = None if (v := self.price) is None else read_decimal(v)
        o.value = None if (v := self.value) is None else read_decimal(v)
        o.value_effect = self.value_effect
        o.net_value = None if (v := self.net_value) is None else read_decimal(v)
        o.net_value_effect = self.net_value_effect
        o.commission = None if (v := self.commission) is None else read_decimal(v)
        o.commission_effect = self.commission_effect
        o.clearing_fees = None if (v := self.clearing_fees) is None else read_decimal(v)
        o.clearing_fees_effect = self.clearing_fees_effect
        o.regulatory_fees = None if (v := self.regulatory_fees) is None else read_decimal(v)
        o.regulatory_fees_effect = self.regulatory_fees_effect
        o.proprietary_index_option_fees = None if (v := self.proprietary_index_option_fees) is None else read_decimal(v)
        o.proprietary_index_option_fees_effect = self.proprietary_index_option_fees_effect
        o.description = self.description
        o.is_estimated_fee = self.is_estimated_fee
        o.order_id = v if (v := self.order_id) is None or v.__class__ is str else str(v)
        o.leg_count = self.leg_count
        o.currency = self.currency
        o.exec_id = self.exec_id
        o.ext_exec_id = self.ext_exec_id
        o.ext_group_id = self.ext_group_id
        o.lots = None if (v := self.lots) is None else tuple([item.build() for item in v])
        if not CLASS_SWAP:
            return finished(o, Transaction)
        o.__class__ = Transaction
        built: Transaction = o
        return built

    @staticmethod
    def of(model: Transaction) -> Any:
        """The wire struct of the model, or a dict when there is raw JSON to be written over it."""
        v: Any
        wire = TransactionWire(
            model.id,
            model.account_number,
            model.transaction_type,
            model.transaction_sub_type,
            model.transaction_date,
            model.executed_at,
            model.symbol,
            model.underlying_symbol,
            model.instrument_type,
            model.action,
            None if (v := model.quantity) is None else decimal_text(v),
            None if (v := model.price) is None else decimal_text(v),
            None if (v := model.value) is None else decimal_text(v),
            model.value_effect,
            None if (v := model.net_value) is None else decimal_text(v),
            model.net_value_effect,
            None if (v := model.commission) is None else decimal_text(v),
            model.commission_effect,
            None if (v := model.clearing_fees) is None else decimal_text(v),
            model.clearing_fees_effect,
            None if (v := model.regulatory_fees) is None else decimal_text(v),
            model.regulatory_fees_effect,
            None if (v := model.proprietary_index_option_fees) is None else decimal_text(v),
            model.proprietary_index_option_fees_effect,
            model.description,
            model.is_estimated_fee,
            model.order_id,
            model.leg_count,
            model.currency,
            model.exec_id,
            model.ext_exec_id,
            model.ext_group_id,
            None if (v := model.lots) is None else [TransactionLotWire.of(item) for item in v],
        )
        return with_extra(wire, model.extra) if model.extra else wire


_TransactionLot = twin(TransactionLot)


class TransactionLotWire(Wire, rename="kebab"):
    """TransactionLot on the wire."""

    id: str | int | None = None
    transaction_id: str | int | None = None
    quantity: DecimalText | int | None = None
    price: DecimalText | None = None
    quantity_direction: str | None = None
    executed_at: Moment | None = None
    transaction_date: date | None = None

    def build(self) -> TransactionLot:
        """The frozen model with these values."""
        v: Any
        o = _TransactionLot()
        o.extra = EMPTY
        o.id = v if (v := self.id) is None or v.__class__ is str else str(v)
        o.transaction_id = v if (v := self.transaction_id) is None or v.__class__ is str else str(v)
        o.quantity = None if (v := self.quantity) is None else read_decimal(v)
        o.price = None if (v := self.price) is None else read_decimal(v)
        o.quantity_direction = self.quantity_direction
        o.executed_at = self.executed_at
        o.transaction_date = self.transaction_date
        if not CLASS_SWAP:
            return finished(o, TransactionLot)
        o.__class__ = TransactionLot
        built: TransactionLot = o
        return built

    @staticmethod
    def of(model: TransactionLot) -> Any:
        """The wire struct of the model, or a dict when there is raw JSON to be written over it."""
        v: Any
        wire = TransactionLotWire(
            model.id,
            model.transaction_id,
            None if (v := model.quantity) is None else decimal_text(v),
            None if (v := model.price) is None else decimal_text(v),
            model.quantity_direction,
            model.executed_at,
            model.transaction_date,
        )
        return with_extra(wire, model.extra) if model.extra else wire


_MarginOrder = twin(MarginOrder)


class MarginOrderWire(Wire, rename="kebab"):
    """MarginOrder on the wire."""

    account_number: str | None = None
    underlying_symbol: str | None = None
    underlying_instrument_type: InstrumentType | None = None
    order_type: OrderType | None = None
    time_in_force: TimeInForce | None = None
    gtc_date: date | None = None
    price: DecimalText | None = None
    price_effect: PriceEffect | None = None
    stop_trigger: DecimalText | None = None
    replaces_order_id: str | None = None
    legs: list[MarginOrderLegWire] | None = None

    def build(self) -> MarginOrder:
        """The frozen model with these values."""
        v: Any
        o = _MarginOrder()
        o.extra = EMPTY
        o.account_number = self.account_number
        o.underlying_symbol = self.underlying_symbol
        o.underlying_instrument_type = self.underlying_instrument_type
        o.order_type = self.order_type
        o.time_in_force = self.time_in_force
        o.gtc_date = self.gtc_date
        o.price = None if (v := self.price) is None else read_decimal(v)
        o.price_effect = self.price_effect
        o.stop_trigger = None if (v := self.stop_trigger) is None else read_decimal(v)
        o.replaces_order_id = self.replaces_order_id
        o.legs = None if (v := self.legs) is None else tuple([item.build() for item in v])
        if not CLASS_SWAP:
            return finished(o, MarginOrder)
        o.__class__ = MarginOrder
        built: MarginOrder = o
        return built

    @staticmethod
    def of(model: MarginOrder) -> Any:
        """The wire struct of the model, or a dict when there is raw JSON to be written over it."""
        v: Any
        wire = MarginOrderWire(
            model.account_number,
            model.underlying_symbol,
            model.underlying_instrument_type,
            model.order_type,
            model.time_in_force,
            model.gtc_date,
            None if (v := model.price) is None else decimal_text(v),
            model.price_effect,
            None if (v := model.stop_trigger) is None else decimal_text(v),
            model.replaces_order_id,
            None if (v := model.legs) is None else [MarginOrderLegWire.of(item) for item in v],
        )
        return with_extra(wire, model.extra) if model.extra else wire


_MarginOrderLeg = twin(MarginOrderLeg)


class MarginOrderLegWire(Wire, rename="kebab"):
    """MarginOrderLeg on the wire."""

    symbol: str | None = None
    instrument_type: InstrumentType | None = None
    action: LegAction | None = None
    quantity: DecimalText | None = None
    remaining_quantity: DecimalText | None = None

    def build(self) -> MarginOrderLeg:
        """The frozen model with these values."""
        v: Any
        o = _MarginOrderLeg()
        o.extra = EMPTY
        o.symbol = self.symbol
        o.instrument_type = self.instrument_type
        o.action = self.action
        o.quantity = None if (v := self.quantity) is None else read_decimal(v)
        o.remaining_quantity = None if (v := self.remaining_quantity) is None else read_decimal(v)
        if not CLASS_SWAP:
            return finished(o, MarginOrderLeg)
        o.__class__ = MarginOrderLeg
        built: MarginOrderLeg = o
        return built

    @staticmethod
    def of(model: MarginOrderLeg) -> Any:
        """The wire struct of the model, or a dict when there is raw JSON to be written over it."""
        v: Any
        wire = MarginOrderLegWire(
            model.symbol,
            model.instrument_type,
            model.action,
            None if (v := model.quantity) is None else decimal_text(v),
            None if (v := model.remaining_quantity) is None else decimal_text(v),
        )
        return with_extra(wire, model.extra) if model.extra else wire


_MarginDryRun = twin(MarginDryRun)


class MarginDryRunWire(Wire, rename="kebab"):
    """MarginDryRun on the wire."""

    orders: list[OrderWire] | None = None
    last_results: MarginDryRunResultWire | None = None
    base_results: MarginDryRunResultWire | None = None
    new_order_results: MarginDryRunResultWire | None = None
    change_in_margin_requirement: DecimalText | None = None
    change_in_margin_requirement_effect: PriceEffect | None = None
    change_in_buying_power: DecimalText | None = None
    change_in_buying_power_effect: PriceEffect | None = None
    current_buying_power: DecimalText | None = None
    current_buying_power_effect: PriceEffect | None = None
    new_buying_power: DecimalText | None = None
    new_buying_power_effect: PriceEffect | None = None
    isolated_order_margin_requirement: DecimalText | None = None
    isolated_order_margin_requirement_effect: PriceEffect | None = None
    is_spread: bool | None = None

    def build(self) -> MarginDryRun:
        """The frozen model with these values."""
        v: Any
        o = _MarginDryRun()
        o.extra = EMPTY
        o.orders = None if (v := self.orders) is None else tuple([item.build() for item in v])
        o.last_results = None if (v := self.last_results) is None else v.build()
        o.base_results = None if (v := self.base_results) is None else v.build()
        o.new_order_results = None if (v := self.new_order_results) is None else v.build()
        o.change_in_margin_requirement = None if (v := self.change_in_margin_requirement) is None else read_decimal(v)
        o.change_in_margin_requirement_effect = self.change_in_margin_requirement_effect
        o.change_in_buying_power = None if (v := self.change_in_buying_power) is None else read_decimal(v)
        o.change_in_buying_power_effect = self.change_in_buying_power_effect
        o.current_buying_power = None if (v := self.current_buying_power) is None else read_decimal(v)
        o.current_buying_power_effect = self.current_buying_power_effect
        o.new_buying_power = None if (v := self.new_buying_power) is None else read_decimal(v)
        o.new_buying_power_effect = self.new_buying_power_effect
        o.isolated_order_margin_requirement = (
            None if (v := self.isolated_order_margin_requirement) is None else read_decimal(v)
        )
        o.isolated_order_margin_requirement_effect = self.isolated_order_margin_requirement_effect
        o.is_spread = self.is_spread
        if not CLASS_SWAP:
            return finished(o, MarginDryRun)
        o.__class__ = MarginDryRun
        built: MarginDryRun = o
        return built

    @staticmethod
    def of(model: MarginDryRun) -> Any:
        """The wire struct of the model, or a dict when there is raw JSON to be written over it."""
        v: Any
        wire = MarginDryRunWire(
            None if (v := model.orders) is None else [OrderWire.of(item) for item in v],
            None if (v := model.last_results) is None else MarginDryRunResultWire.of(v),
            None if (v := model.base_results) is None else MarginDryRunResultWire.of(v),
            None if (v := model.new_order_results) is None else MarginDryRunResultWire.of(v),
            None if (v := model.change_in_margin_requirement) is None else decimal_text(v),
            model.change_in_margin_requirement_effect,
            None if (v := model.change_in_buying_power) is None else decimal_text(v),
            model.change_in_buying_power_effect,
            None if (v := model.current_buying_power) is None else decimal_text(v),
            model.current_buying_power_effect,
            None if (v := model.new_buying_power) is None else decimal_text(v),
            model.new_buying_power_effect,
            None if (v := model.isolated_order_margin_requirement) is None else decimal_text(v),
            model.isolated_order_margin_requirement_effect,
            model.is_spread,
        )
        return with_extra(wire, model.extra) if model.extra else wire


_MarginDryRunResult = twin(MarginDryRunResult)


class MarginDryRunResultWire(Wire, rename="kebab"):
    """MarginDryRunResult on the wire."""

    code: str | None = None
    description: str | None = None
    underlying_symbol: str | None = None
    underlying_type: InstrumentType | None = None
    underlying_price: DecimalText | None = None
    margin_requirement: DecimalText | None = None
    margin_requirement_effect: PriceEffect | None = None
    maintenance_requirement: DecimalText | None = None
    maintenance_requirement_effect: PriceEffect | None = None
    buying_power_impact: DecimalText | None = None
    buying_power_impact_effect: PriceEffect | None = None
    group_results: list[dict[str, Any]] | None = None
    order_ids: list[str | int] | None = None
    calculated_at: Moment | None = None
    marks: dict[str, Any] | None = None

    def build(self) -> MarginDryRunResult:
        """The frozen model with these values."""
        v: Any
        o = _MarginDryRunResult()
        o.extra = EMPTY
        o.code = self.code
        o.description = self.description
        o.underlying_symbol = self.underlying_symbol
        o.underlying_type = self.underlying_type
        o.underlying_price = None if (v := self.underlying_price) is None else decimal_or_keep(v, o, "underlying-price")
        o.margin_requirement = None if (v := self.margin_requirement) is None else read_decimal(v)
        o.margin_requirement_effect = self.margin_requirement_effect
        o.maintenance_requirement = None if (v := self.maintenance_requirement) is None else read_decimal(v)
        o.maintenance_requirement_effect = self.maintenance_requirement_effect
        o.buying_power_impact = None if (v := self.buying_power_impact) is None else read_decimal(v)
        o.buying_power_impact_effect = self.buying_power_impact_effect
        o.group_results = None if (v := self.group_results) is None else tuple([raw_object(item) for item in v])
        o.order_ids = None if (v := self.order_ids) is None else tuple([str(item) for item in v])
        o.calculated_at = self.calculated_at
        o.marks = None if (v := self.marks) is None else raw_object(v)
        if not CLASS_SWAP:
            return finished(o, MarginDryRunResult)
        o.__class__ = MarginDryRunResult
        built: MarginDryRunResult = o
        return built

    @staticmethod
    def of(model: MarginDryRunResult) -> Any:
        """The wire struct of the model, or a dict when there is raw JSON to be written over it."""
        v: Any
        wire = MarginDryRunResultWire(
            model.code,
            model.description,
            model.underlying_symbol,
            model.underlying_type,
            None if (v := model.underlying_price) is None else decimal_text(v),
            None if (v := model.margin_requirement) is None else decimal_text(v),
            model.margin_requirement_effect,
            None if (v := model.maintenance_requirement) is None else decimal_text(v),
            model.maintenance_requirement_effect,
            None if (v := model.buying_power_impact) is None else decimal_text(v),
            model.buying_power_impact_effect,
            None if (v := model.group_results) is None else [dict(item) for item in v],
            None if (v := model.order_ids) is None else list(v),
            model.calculated_at,
            None if (v := model.marks) is None else dict(v),
        )
        return with_extra(wire, model.extra) if model.extra else wire


_MarginRequirements = twin(MarginRequirements)


class MarginRequirementsWire(Wire, rename="kebab"):
    """MarginRequirements on the wire."""

    account_number: str | None = None
    description: str | None = None
    margin_calculation_type: str | None = None
    option_level: str | None = None
    margin_requirement: DecimalText | None = None
    margin_requirement_effect: PriceEffect | None = None
    initial_requirement: DecimalText | None = None
    initial_requirement_effect: PriceEffect | None = None
    maintenance_requirement: DecimalText | None = None
    maintenance_requirement_effect: PriceEffect | None = None
    margin_equity: DecimalText | None = None
    margin_equity_effect: PriceEffect | None = None
    option_buying_power: DecimalText | None = None
    option_buying_power_effect: PriceEffect | None = None
    reg_t_margin_requirement: DecimalText | None = None
    reg_t_margin_requirement_effect: PriceEffect | None = None
    reg_t_option_buying_power: DecimalText | None = None
    reg_t_option_buying_power_effect: PriceEffect | None = None
    maintenance_excess: DecimalText | None = None
    maintenance_excess_effect: PriceEffect | None = None
    groups: list[MarginGroupWire] | None = None
    last_state_timestamp: Moment | int | None = None

    def build(self) -> MarginRequirements:
        """The frozen model with these values."""
        v: Any
        o = _MarginRequirements()
        o.extra = EMPTY
        o.account_number = self.account_number
        o.description = self.description
        o.margin_calculation_type = self.margin_calculation_type
        o.option_level = self.option_level
        o.margin_requirement = None if (v := self.margin_requirement) is None else read_decimal(v)
        o.margin_requirement_effect = self.margin_requirement_effect
        o.initial_requirement = None if (v := self.initial_requirement) is None else read_decimal(v)
        o.initial_requirement_effect = self.initial_requirement_effect
        o.maintenance_requirement = None if (v := self.maintenance_requirement) is None else read_decimal(v)
        o.maintenance_requirement_effect = self.maintenance_requirement_effect
        o.margin_equity = None if (v := self.margin_equity) is None else read_decimal(v)
        o.margin_equity_effect = self.margin_equity_effect
        o.option_buying_power = None if (v := self.option_buying_power) is None else read_decimal(v)
        o.option_buying_power_effect = self.option_buying_power_effect
        o.reg_t_margin_requirement = None if (v := self.reg_t_margin_requirement) is None else read_decimal(v)
        o.reg_t_margin_requirement_effect = self.reg_t_margin_requirement_effect
        o.reg_t_option_buying_power = None if (v := self.reg_t_option_buying_power) is None else read_decimal(v)
        o.reg_t_option_buying_power_effect = self.reg_t_option_buying_power_effect
        o.maintenance_excess = None if (v := self.maintenance_excess) is None else read_decimal(v)
        o.maintenance_excess_effect = self.maintenance_excess_effect
        o.groups = None if (v := self.groups) is None else tuple([item.build() for item in v])
        o.last_state_timestamp = (
            v if (v := self.last_state_timestamp) is None or isinstance(v, datetime) else read_epoch(v)
        )
        if not CLASS_SWAP:
            return finished(o, MarginRequirements)
        o.__class__ = MarginRequirements
        built: MarginRequirements = o
        return built

    @staticmethod
    def of(model: MarginRequirements) -> Any:
        """The wire struct of the model, or a dict when there is raw JSON to be written over it."""
        v: Any
        wire = MarginRequirementsWire(
            model.account_number,
            model.description,
            model.margin_calculation_type,
            model.option_level,
            None if (v := model.margin_requirement) is None else decimal_text(v),
            model.margin_requirement_effect,
            None if (v := model.initial_requirement) is None else decimal_text(v),
            model.initial_requirement_effect,
            None if (v := model.maintenance_requirement) is None else decimal_text(v),
            model.maintenance_requirement_effect,
            None if (v := model.margin_equity) is None else decimal_text(v),
            model.margin_equity_effect,
            None if (v := model.option_buying_power) is None else decimal_text(v),
            model.option_buying_power_effect,
            None if (v := model.reg_t_margin_requirement) is None else decimal_text(v),
            model.reg_t_margin_requirement_effect,
            None if (v := model.reg_t_option_buying_power) is None else decimal_text(v),
            model.reg_t_option_buying_power_effect,
            None if (v := model.maintenance_excess) is None else decimal_text(v),
            model.maintenance_excess_effect,
            None if (v := model.groups) is None else [MarginGroupWire.of(item) for item in v],
            model.last_state_timestamp,
        )
        return with_extra(wire, model.extra) if model.extra else wire


_MarginGroup = twin(MarginGroup)


class MarginGroupWire(Wire, rename="kebab"):
    """MarginGroup on the wire."""

    description: str | None = None
    code: str | None = None
    underlying_symbol: str | None = None
    underlying_type: InstrumentType | None = None
    margin_calculation_type: str | None = None
    margin_requirement: DecimalText | None = None
    margin_requirement_effect: PriceEffect | None = None
    initial_requirement: DecimalText | None = None
    initial_requirement_effect: PriceEffect | None = None
    maintenance_requirement: DecimalText | None = None
    maintenance_requirement_effect: PriceEffect | None = None
    buying_power: DecimalText | None = None
    buying_power_effect: PriceEffect | None = None
    groups: list[MarginPositionGroupWire] | None = None
    position_entries: list[MarginPositionEntryWire] | None = None
    price_increase_percent: DecimalText | None = None
    price_decrease_percent: DecimalText | None = None

    def build(self) -> MarginGroup:
        """The frozen model with these values."""
        v: Any
        o = _MarginGroup()
        o.extra = EMPTY
        o.description = self.description
        o.code = self.code
        o.underlying_symbol = self.underlying_symbol
        o.underlying_type = self.underlying_type
        o.margin_calculation_type = self.margin_calculation_type
        o.margin_requirement = None if (v := self.margin_requirement) is None else read_decimal(v)
        o.margin_requirement_effect = self.margin_requirement_effect
        o.initial_requirement = None if (v := self.initial_requirement) is None else read_decimal(v)
        o.initial_requirement_effect = self.initial_requirement_effect
        o.maintenance_requirement = None if (v := self.maintenance_requirement) is None else read_decimal(v)
        o.maintenance_requirement_effect = self.maintenance_requirement_effect
        o.buying_power = None if (v := self.buying_power) is None else read_decimal(v)
        o.buying_power_effect = self.buying_power_effect
        o.groups = None if (v := self.groups) is None else tuple([item.build() for item in v])
        o.position_entries = None if (v := self.position_entries) is None else tuple([item.build() for item in v])
        o.price_increase_percent = None if (v := self.price_increase_percent) is None else read_decimal(v)
        o.price_decrease_percent = None if (v := self.price_decrease_percent) is None else read_decimal(v)
        if not CLASS_SWAP:
            return finished(o, MarginGroup)
        o.__class__ = MarginGroup
        built: MarginGroup = o
        return built

    @staticmethod
    def of(model: MarginGroup) -> Any:
        """The wire struct of the model, or a dict when there is raw JSON to be written over it."""
        v: Any
        wire = MarginGroupWire(
            model.description,
            model.code,
            model.underlying_symbol,
            model.underlying_type,
            model.margin_calculation_type,
            None if (v := model.margin_requirement) is None else decimal_text(v),
            model.margin_requirement_effect,
            None if (v := model.initial_requirement) is None else decimal_text(v),
            model.initial_requirement_effect,
            None if (v := model.maintenance_requirement) is None else decimal_text(v),
            model.maintenance_requirement_effect,
            None if (v := model.buying_power) is None else decimal_text(v),
            model.buying_power_effect,
            None if (v := model.groups) is None else [MarginPositionGroupWire.of(item) for item in v],
            None if (v := model.position_entries) is None else [MarginPositionEntryWire.of(item) for item in v],
            None if (v := model.price_increase_percent) is None else decimal_text(v),
            None if (v := model.price_decrease_percent) is None else decimal_text(v),
        )
        return with_extra(wire, model.extra) if model.extra else wire


_MarginPositionGroup = twin(MarginPositionGroup)


class MarginPositionGroupWire(Wire, rename="kebab"):
    """MarginPositionGroup on the wire."""

    description: str | None = None
    margin_requirement: DecimalText | None = None
    margin_requirement_effect: PriceEffect | None = None
    maintenance_requirement: DecimalText | None = None
    maintenance_requirement_effect: PriceEffect | None = None
    includes_working_order: bool | None = None
    buying_power: DecimalText | None = None
    buying_power_effect: PriceEffect | None = None
    position_entries: list[MarginPositionEntryWire] | None = None

    def build(self) -> MarginPositionGroup:
        """The frozen model with these values."""
        v: Any
        o = _MarginPositionGroup()
        o.extra = EMPTY
        o.description = self.description
        o.margin_requirement = None if (v := self.margin_requirement) is None else read_decimal(v)
        o.margin_requirement_effect = self.margin_requirement_effect
        o.maintenance_requirement = None if (v := self.maintenance_requirement) is None else read_decimal(v)
        o.maintenance_requirement_effect = self.maintenance_requirement_effect
        o.includes_working_order = self.includes_working_order
        o.buying_power = None if (v := self.buying_power) is None else read_decimal(v)
        o.buying_power_effect = self.buying_power_effect
        o.position_entries = None if (v := self.position_entries) is None else tuple([item.build() for item in v])
        if not CLASS_SWAP:
            return finished(o, MarginPositionGroup)
        o.__class__ = MarginPositionGroup
        built: MarginPositionGroup = o
        return built

    @staticmethod
    def of(model: MarginPositionGroup) -> Any:
        """The wire struct of the model, or a dict when there is raw JSON to be written over it."""
        v: Any
        wire = MarginPositionGroupWire(
            model.description,
            None if (v := model.margin_requirement) is None else decimal_text(v),
            model.margin_requirement_effect,
            None if (v := model.maintenance_requirement) is None else decimal_text(v),
            model.maintenance_requirement_effect,
            model.includes_working_order,
            None if (v := model.buying_power) is None else decimal_text(v),
            model.buying_power_effect,
            None if (v := model.position_entries) is None else [MarginPositionEntryWire.of(item) for item in v],
        )
        return with_extra(wire, model.extra) if model.extra else wire


_MarginPositionEntry = twin(MarginPositionEntry)


class MarginPositionEntryWire(Wire, rename="kebab"):
    """MarginPositionEntry on the wire."""

    instrument_symbol: str | None = None
    instrument_type: InstrumentType | None = None
    quantity: DecimalText | int | None = None
    average_open_price: DecimalText | None = None
    close_price: DecimalText | None = None
    fixing_price: DecimalText | None = None
    strike_price: DecimalText | None = None
    option_type: OptionType | None = None
    expiration_date: date | None = None

    def build(self) -> MarginPositionEntry:
        """The frozen model with these values."""
        v: Any
        o = _MarginPositionEntry()
        o.extra = EMPTY
        o.instrument_symbol = self.instrument_symbol
        o.instrument_type = self.instrument_type
        o.quantity = None if (v := self.quantity) is None else read_decimal(v)
        o.average_open_price = (
            None if (v := self.average_open_price) is None else decimal_or_keep(v, o, "average-open-price")
        )
        o.close_price = None if (v := self.close_price) is None else decimal_or_keep(v, o, "close-price")
        o.fixing_price = None if (v := self.fixing_price) is None else decimal_or_keep(v, o, "fixing-price")
        o.strike_price = None if (v := self.strike_price) is None else decimal_or_keep(v, o, "strike-price")
        o.option_type = self.option_type
        o.expiration_date = self.expiration_date
        if not CLASS_SWAP:
            return finished(o, MarginPositionEntry)
        o.__class__ = MarginPositionEntry
        built: MarginPositionEntry = o
        return built

    @staticmethod
    def of(model: MarginPositionEntry) -> Any:
        """The wire struct of the model, or a dict when there is raw JSON to be written over it."""
        v: Any
        wire = MarginPositionEntryWire(
            model.instrument_symbol,
            model.instrument_type,
            None if (v := model.quantity) is None else decimal_text(v),
            None if (v := model.average_open_price) is None else decimal_text(v),
            None if (v := model.close_price) is None else decimal_text(v),
            None if (v := model.fixing_price) is None else decimal_text(v),
            None if (v := model.strike_price) is None else decimal_text(v),
            model.option_type,
            model.expiration_date,
        )
        return with_extra(wire, model.extra) if model.extra else wire


_Watchlist = twin(Watchlist)


class WatchlistWire(Wire, rename="kebab"):
    """Watchlist on the wire."""

    name: str | None = None
    watchlist_entries: list[WatchlistEntryWire] | None = None
    cms_id: str | None = None
    group_name: str | None = None
    order_index: int | None = None

    def build(self) -> Watchlist:
        """The frozen model with these values."""
        v: Any
        o = _Watchlist()
        o.extra = EMPTY
        o.name = self.name
        o.watchlist_entries = None if (v := self.watchlist_entries) is None else tuple([item.build() for item in v])
        o.cms_id = self.cms_id
        o.group_name = self.group_name
        o.order_index = self.order_index
        if not CLASS_SWAP:
            return finished(o, Watchlist)
        o.__class__ = Watchlist
        built: Watchlist = o
        return built

    @staticmethod
    def of(model: Watchlist) -> Any:
        """The wire struct of the model, or a dict when there is raw JSON to be written over it."""
        v: Any
        wire = WatchlistWire(
            model.name,
            None if (v := model.watchlist_entries) is None else [WatchlistEntryWire.of(item) for item in v],
            model.cms_id,
            model.group_name,
            model.order_index,
        )
        return with_extra(wire, model.extra) if model.extra else wire


_WatchlistEntry = twin(WatchlistEntry)


class WatchlistEntryWire(Wire, rename="kebab"):
    """WatchlistEntry on the wire."""

    symbol: str | None = None
    instrument_type: InstrumentType | None = None
    instrument_type__alias1: InstrumentType | None = msgspec.field(default=None, name="instrument_type")

    def build(self) -> WatchlistEntry:
        """The frozen model with these values."""
        v: Any
        o = _WatchlistEntry()
        o.extra = EMPTY
        o.symbol = self.symbol
        v = self.instrument_type
        if self.instrument_type__alias1 is not None:
            if v is None:
                v = self.instrument_type__alias1
            else:
                keep(o, "instrument_type", msgspec.to_builtins(self.instrument_type__alias1, builtin_types=(Decimal,)))
        o.instrument_type = v
        if not CLASS_SWAP:
            return finished(o, WatchlistEntry)
        o.__class__ = WatchlistEntry
        built: WatchlistEntry = o
        return built

    @staticmethod
    def of(model: WatchlistEntry) -> Any:
        """The wire struct of the model, or a dict when there is raw JSON to be written over it."""
        wire = WatchlistEntryWire(
            model.symbol,
            model.instrument_type,
        )
        return with_extra(wire, model.extra) if model.extra else wire


_NewWatchlist = twin(NewWatchlist)


class NewWatchlistWire(Wire, rename="kebab"):
    """NewWatchlist on the wire."""

    name: str | None = None
    group_name: str | None = None
    order_index: int | None = None
    watchlist_entries: list[NewWatchlistEntryWire] | None = None

    def build(self) -> NewWatchlist:
        """The frozen model with these values."""
        v: Any
        o = _NewWatchlist()
        o.extra = EMPTY
        o.name = self.name
        o.group_name = self.group_name
        o.order_index = self.order_index
        o.watchlist_entries = None if (v := self.watchlist_entries) is None else tuple([item.build() for item in v])
        if not CLASS_SWAP:
            return finished(o, NewWatchlist)
        o.__class__ = NewWatchlist
        built: NewWatchlist = o
        return built

    @staticmethod
    def of(model: NewWatchlist) -> Any:
        """The wire struct of the model, or a dict when there is raw JSON to be written over it."""
        v: Any
        wire = NewWatchlistWire(
            model.name,
            model.group_name,
            model.order_index,
            None if (v := model.watchlist_entries) is None else [NewWatchlistEntryWire.of(item) for item in v],
        )
        return with_extra(wire, model.extra) if model.extra else wire


_NewWatchlistEntry = twin(NewWatchlistEntry)


class NewWatchlistEntryWire(Wire, rename="kebab"):
    """NewWatchlistEntry on the wire."""

    symbol: str | None = None
    instrument_type: InstrumentType | None = None

    def build(self) -> NewWatchlistEntry:
        """The frozen model with these values."""
        o = _NewWatchlistEntry()
        o.extra = EMPTY
        o.symbol = self.symbol
        o.instrument_type = self.instrument_type
        if not CLASS_SWAP:
            return finished(o, NewWatchlistEntry)
        o.__class__ = NewWatchlistEntry
        built: NewWatchlistEntry = o
        return built

    @staticmethod
    def of(model: NewWatchlistEntry) -> Any:
        """The wire struct of the model, or a dict when there is raw JSON to be written over it."""
        wire = NewWatchlistEntryWire(
            model.symbol,
            model.instrument_type,
        )
        return with_extra(wire, model.extra) if model.extra else wire


_QuoteAlert = twin(QuoteAlert)


class QuoteAlertWire(Wire, rename="kebab"):
    """QuoteAlert on the wire."""

    alert_external_id: str | None = None
    completed_at: Moment | None = None
    created_at: Moment | None = None
    dismissed_at: Moment | None = None
    dx_symbol: str | None = None
    expired_at: Moment | None = None
    expires_at: str | None = None
    field: AlertField | None = None
    instrument_type: InstrumentType | None = None
    operator: AlertOperator | None = None
    provider: str | None = None
    symbol: str | None = None
    threshold: Decimal | None = None
    threshold_numeric: Decimal | None = None
    triggered_at: Moment | None = None
    user_external_id: str | None = None

    def build(self) -> QuoteAlert:
        """The frozen model with these values."""
        v: Any
        o = _QuoteAlert()
        o.extra = EMPTY
        o.alert_external_id = self.alert_external_id
        o.completed_at = self.completed_at
        o.created_at = self.created_at
        o.dismissed_at = self.dismissed_at
        o.dx_symbol = self.dx_symbol
        o.expired_at = self.expired_at
        o.expires_at = self.expires_at
        o.field = self.field
        o.instrument_type = self.instrument_type
        o.operator = self.operator
        o.provider = self.provider
        o.symbol = self.symbol
        o.threshold = None if (v := self.threshold) is None else finite(v)
        o.threshold_numeric = None if (v := self.threshold_numeric) is None else finite(v)
        o.triggered_at = self.triggered_at
        o.user_external_id = self.user_external_id
        if not CLASS_SWAP:
            return finished(o, QuoteAlert)
        o.__class__ = QuoteAlert
        built: QuoteAlert = o
        return built

    @staticmethod
    def of(model: QuoteAlert) -> Any:
        """The wire struct of the model, or a dict when there is raw JSON to be written over it."""
        v: Any
        wire = QuoteAlertWire(
            model.alert_external_id,
            model.completed_at,
            model.created_at,
            model.dismissed_at,
            model.dx_symbol,
            model.expired_at,
            model.expires_at,
            model.field,
            model.instrument_type,
            model.operator,
            model.provider,
            model.symbol,
            None if (v := model.threshold) is None else decimal_as_sent(v),
            None if (v := model.threshold_numeric) is None else decimal_as_sent(v),
            model.triggered_at,
            model.user_external_id,
        )
        return with_extra(wire, model.extra) if model.extra else wire


_NewQuoteAlert = twin(NewQuoteAlert)


class NewQuoteAlertWire(Wire):
    """NewQuoteAlert on the wire."""

    field: AlertField | None = None
    operator: AlertOperator | None = None
    symbol: str | None = None
    threshold: DecimalText | None = None

    def build(self) -> NewQuoteAlert:
        """The frozen model with these values."""
        v: Any
        o = _NewQuoteAlert()
        o.extra = EMPTY
        o.field = self.field
        o.operator = self.operator
        o.symbol = self.symbol
        o.threshold = None if (v := self.threshold) is None else read_decimal(v)
        if not CLASS_SWAP:
            return finished(o, NewQuoteAlert)
        o.__class__ = NewQuoteAlert
        built: NewQuoteAlert = o
        return built

    @staticmethod
    def of(model: NewQuoteAlert) -> Any:
        """The wire struct of the model, or a dict when there is raw JSON to be written over it."""
        v: Any
        wire = NewQuoteAlertWire(
            model.field,
            model.operator,
            model.symbol,
            None if (v := model.threshold) is None else decimal_text(v),
        )
        return with_extra(wire, model.extra) if model.extra else wire


_TokenRequest = twin(TokenRequest)


class TokenRequestWire(Wire):
    """TokenRequest on the wire."""

    grant_type: GrantType | None = None
    refresh_token: str | None = None
    client_secret: str | None = None
    client_id: str | None = None
    scope: str | None = None
    code: str | None = None
    redirect_uri: str | None = None

    def build(self) -> TokenRequest:
        """The frozen model with these values."""
        o = _TokenRequest()
        o.extra = EMPTY
        o.grant_type = self.grant_type
        o.refresh_token = self.refresh_token
        o.client_secret = self.client_secret
        o.client_id = self.client_id
        o.scope = self.scope
        o.code = self.code
        o.redirect_uri = self.redirect_uri
        if not CLASS_SWAP:
            return finished(o, TokenRequest)
        o.__class__ = TokenRequest
        built: TokenRequest = o
        return built

    @staticmethod
    def of(model: TokenRequest) -> Any:
        """The wire struct of the model, or a dict when there is raw JSON to be written over it."""
        wire = TokenRequestWire(
            model.grant_type,
            model.refresh_token,
            model.client_secret,
            model.client_id,
            model.scope,
            model.code,
            model.redirect_uri,
        )
        return with_extra(wire, model.extra) if model.extra else wire


_TokenResponse = twin(TokenResponse)


class TokenResponseWire(Wire):
    """TokenResponse on the wire."""

    access_token: str | None = None
    token_type: str | None = None
    expires_in: int | None = None
    refresh_token: str | None = None
    id_token: str | None = None

    def build(self) -> TokenResponse:
        """The frozen model with these values."""
        o = _TokenResponse()
        o.extra = EMPTY
        o.access_token = self.access_token
        o.token_type = self.token_type
        o.expires_in = self.expires_in
        o.refresh_token = self.refresh_token
        o.id_token = self.id_token
        if not CLASS_SWAP:
            return finished(o, TokenResponse)
        o.__class__ = TokenResponse
        built: TokenResponse = o
        return built

    @staticmethod
    def of(model: TokenResponse) -> Any:
        """The wire struct of the model, or a dict when there is raw JSON to be written over it."""
        wire = TokenResponseWire(
            model.access_token,
            model.token_type,
            model.expires_in,
            model.refresh_token,
            model.id_token,
        )
        return with_extra(wire, model.extra) if model.extra else wire


_TokenErrorBody = twin(TokenErrorBody)


class TokenErrorBodyWire(Wire):
    """TokenErrorBody on the wire."""

    error_code: str | None = None
    error_description: str | None = None
    error_code__alias1: str | None = msgspec.field(default=None, name="error")

    def build(self) -> TokenErrorBody:
        """The frozen model with these values."""
        v: Any
        o = _TokenErrorBody()
        o.extra = EMPTY
        v = self.error_code
        if self.error_code__alias1 is not None:
            if v is None:
                v = self.error_code__alias1
            else:
                keep(o, "error", msgspec.to_builtins(self.error_code__alias1, builtin_types=(Decimal,)))
        o.error_code = v
        o.error_description = self.error_description
        if not CLASS_SWAP:
            return finished(o, TokenErrorBody)
        o.__class__ = TokenErrorBody
        built: TokenErrorBody = o
        return built

    @staticmethod
    def of(model: TokenErrorBody) -> Any:
        """The wire struct of the model, or a dict when there is raw JSON to be written over it."""
        wire = TokenErrorBodyWire(
            model.error_code,
            model.error_description,
        )
        return with_extra(wire, model.extra) if model.extra else wire


#: The wire struct of every model.
WIRES: Mapping[type[Any], type[Wire]] = {
    Pagination: PaginationWire,
    ErrorBody: ErrorBodyWire,
    ErrorDetail: ErrorDetailWire,
    MarketSession: MarketSessionWire,
    CurrentMarketSession: CurrentMarketSessionWire,
    HolidayCalendar: HolidayCalendarWire,
    EarningsReport: EarningsReportWire,
    Dividend: DividendWire,
    Equity: EquityWire,
    TickSize: TickSizeWire,
    EquityOption: EquityOptionWire,
    FutureOption: FutureOptionWire,
    FutureOptionProduct: FutureOptionProductWire,
    Warrant: WarrantWire,
    Order: OrderWire,
    OrderLeg: OrderLegWire,
    Fill: FillWire,
    OrderRule: OrderRuleWire,
    OrderCondition: OrderConditionWire,
    PriceComponent: PriceComponentWire,
    PlacedOrderResponse: PlacedOrderResponseWire,
    BuyingPowerEffect: BuyingPowerEffectWire,
    FeeCalculation: FeeCalculationWire,
    FeeBreakdown: FeeBreakdownWire,
    PreflightMessage: PreflightMessageWire,
    NewOrder: NewOrderWire,
    NewOrderLeg: NewOrderLegWire,
    NewOrderRules: NewOrderRulesWire,
    NewOrderCondition: NewOrderConditionWire,
    NewPriceComponent: NewPriceComponentWire,
    AdvancedInstructions: AdvancedInstructionsWire,
    OrderEdit: OrderEditWire,
    ComplexOrder: ComplexOrderWire,
    RelatedOrder: RelatedOrderWire,
    PairsEdit: PairsEditWire,
    Transaction: TransactionWire,
    TransactionLot: TransactionLotWire,
    MarginOrder: MarginOrderWire,
    MarginOrderLeg: MarginOrderLegWire,
    MarginDryRun: MarginDryRunWire,
    MarginDryRunResult: MarginDryRunResultWire,
    MarginRequirements: MarginRequirementsWire,
    MarginGroup: MarginGroupWire,
    MarginPositionGroup: MarginPositionGroupWire,
    MarginPositionEntry: MarginPositionEntryWire,
    Watchlist: WatchlistWire,
    WatchlistEntry: WatchlistEntryWire,
    NewWatchlist: NewWatchlistWire,
    NewWatchlistEntry: NewWatchlistEntryWire,
    QuoteAlert: QuoteAlertWire,
    NewQuoteAlert: NewQuoteAlertWire,
    TokenRequest: TokenRequestWire,
    TokenResponse: TokenResponseWire,
    TokenErrorBody: TokenErrorBodyWire,
}
