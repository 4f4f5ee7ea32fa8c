# Written by `python -m codegen` from schema/; edit the schema and run it again, not this file.
# ruff: noqa: S105

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import attrs

from brokerage_async._values import (
    EMPTY,
    Model,
    OpenStrEnum,
    as_optional_object,
    as_optional_tuple,
    as_tuple,
    raw_object,
)


class PriceEffect(OpenStrEnum):
    """Which way money moves. Amounts carry no sign; this says whether they are paid or received.

    Seen on the wire only: `None`.

    Section of the service document: Order.
    """

    DEBIT = "Debit"
    CREDIT = "Credit"
    NONE = "None"


class InstrumentType(OpenStrEnum):
    """Kind of instrument.

    Section of the service document: Orders.
    """

    CRYPTOCURRENCY = "Cryptocurrency"
    EQUITY = "Equity"
    EQUITY_OPTION = "Equity Option"
    EVENT_CONTRACT = "Event Contract"
    FIXED_INCOME_SECURITY = "Fixed Income Security"
    FUTURE = "Future"
    FUTURE_OPTION = "Future Option"
    LIQUIDITY_POOL = "Liquidity Pool"
    WARRANT = "Warrant"


class OptionType(OpenStrEnum):
    """Right that an option gives. `C` is a call, `P` a put.

    Section of the service document: Equity option instrument.
    """

    CALL = "C"
    PUT = "P"


class Comparator(OpenStrEnum):
    """How a value is held against its threshold. `gte` means at or above, `lte` at or below.

    Section of the service document: Complex order.
    """

    GTE = "gte"
    LTE = "lte"


class SortOrder(OpenStrEnum):
    """Order of a list by time. `Desc` puts the newest first, `Asc` the oldest.

    Section of the service document: Pagination and sorting.
    """

    DESC = "Desc"
    ASC = "Asc"


class InstrumentCollection(OpenStrEnum):
    """Group of instruments that trade by the same clock. `Equity` covers the stock exchanges, `CME` and `CFE` the
    futures exchanges of those names.

    Section of the service document: Market time.
    """

    EQUITY = "Equity"
    CME = "CME"
    CFE = "CFE"


class MarketState(OpenStrEnum):
    """Where a market stands in its day.

    Seen on the wire only: `Open`, `Closed`, `Pre-Market`, `After-Hours`, `Extended`.

    Section of the service document: Session timings.
    """

    OPEN = "Open"
    CLOSED = "Closed"
    PRE_MARKET = "Pre-Market"
    AFTER_HOURS = "After-Hours"
    EXTENDED = "Extended"


class Lendability(OpenStrEnum):
    """How easily shares can be borrowed to be sold short.

    Section of the service document: Equity instrument.
    """

    EASY_TO_BORROW = "Easy To Borrow"
    LOCATE_REQUIRED = "Locate Required"
    PREBORROW = "Preborrow"


class OrderType(OpenStrEnum):
    """How an order finds its price. `Liquidity Allocation` is only ever reported; a new order cannot ask for it.

    Section of the service document: Order.
    """

    LIMIT = "Limit"
    MARKET = "Market"
    STOP = "Stop"
    STOP_LIMIT = "Stop Limit"
    NOTIONAL_MARKET = "Notional Market"
    MARKETABLE_LIMIT = "Marketable Limit"
    LIQUIDITY_ALLOCATION = "Liquidity Allocation"


class TimeInForce(OpenStrEnum):
    """How long an order stays working: `Day` to the end of the trading day, `GTC` until it is cancelled, `GTD` to
    a given date, `IOC` fills at once what it can and drops the rest. `Ext` adds the extended hours, `Ext
    Overnight` the night as well.

    Section of the service document: Orders.
    """

    DAY = "Day"
    EXT = "Ext"
    EXT_OVERNIGHT = "Ext Overnight"
    GTC = "GTC"
    GTC_EXT = "GTC Ext"
    GTC_EXT_OVERNIGHT = "GTC Ext Overnight"
    GTD = "GTD"
    IOC = "IOC"


class OrderStatus(OpenStrEnum):
    """Where an order stands. `Filled`, `Cancelled`, `Expired` and `Rejected` are final, as are `Removed` and
    `Partially Removed`.

    Seen on the wire only: `In Flight`, `Contingent`, `Replace Requested`, `Removed`, `Partially Removed`.

    Section of the service document: States and transitions.
    """

    RECEIVED = "Received"
    ROUTED = "Routed"
    IN_FLIGHT = "In Flight"
    LIVE = "Live"
    CONTINGENT = "Contingent"
    CANCEL_REQUESTED = "Cancel Requested"
    REPLACE_REQUESTED = "Replace Requested"
    FILLED = "Filled"
    CANCELLED = "Cancelled"
    EXPIRED = "Expired"
    REJECTED = "Rejected"
    REMOVED = "Removed"
    PARTIALLY_REMOVED = "Partially Removed"


class ContingentStatus(OpenStrEnum):
    """What a component of a complex order is waiting for.

    Seen on the wire only: `Pending Condition`.

    Section of the service document: Order.
    """

    PENDING_ORDER = "Pending Order"
    PENDING_CONDITION = "Pending Condition"


class LegAction(OpenStrEnum):
    """What a leg does. `Buy` and `Sell` without a position effect are for futures; everything else opens or
    closes.

    Section of the service document: Orders.
    """

    ALLOCATE = "Allocate"
    BUY = "Buy"
    BUY_TO_CLOSE = "Buy to Close"
    BUY_TO_OPEN = "Buy to Open"
    SELL = "Sell"
    SELL_TO_CLOSE = "Sell to Close"
    SELL_TO_OPEN = "Sell to Open"


class ComplexOrderType(OpenStrEnum):
    """How the orders depend on one another. `OTO`: the trigger order's fill releases another. `OCO`: the fill of
    one cancels the other. `OTOCO`: the trigger order's fill releases two that cancel each other. `PAIRS`: two
    orders set off by the ratio of their prices. `BLAST` is no longer in use.

    Section of the service document: Complex order.
    """

    OTOCO = "OTOCO"
    OCO = "OCO"
    OTO = "OTO"
    PAIRS = "PAIRS"
    BLAST = "BLAST"


class AlertField(OpenStrEnum):
    """Part of a quote that an alert watches. `IV` is the implied volatility.

    Section of the service document: Quote alert.
    """

    LAST = "Last"
    BID = "Bid"
    ASK = "Ask"
    IV = "IV"


class AlertOperator(OpenStrEnum):
    """Which side of the threshold an alert waits for.

    Section of the service document: Quote alert.
    """

    GREATER_THAN = ">"
    LESS_THAN = "<"


class GrantType(OpenStrEnum):
    """What is traded for an access token.

    Section of the service document: Authentication.
    """

    REFRESH_TOKEN = "refresh_token"
    AUTHORIZATION_CODE = "authorization_code"


@attrs.define(frozen=True, kw_only=True, repr=False, weakref_slot=False)
class Pagination(Model):
    """Where a page stands in the whole list. The page is the last one once page-offset + 1 reaches total-pages.

    Section of the service document: Common conventions.
    """

    per_page: int | None = None
    """Items that a full page holds."""

    page_offset: int | None = None
    """Number of this page; the first page is 0."""

    item_offset: int | None = None
    """Position of this page's first item in the whole list; the first item is 0."""

    total_items: int | None = None
    """Items in the whole list."""

    total_pages: int | None = None
    """Pages in the whole list."""

    current_item_count: int | None = None
    """Items on this page; fewer than per-page only on the last one."""

    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=raw_object, hash=False)
    """Raw JSON by wire key that no field holds: keys unknown to the schema, and values that do not fit theirs."""


@attrs.define(frozen=True, kw_only=True, repr=False, weakref_slot=False)
class ErrorDetail(Model):
    """One of the problems behind an error.

    Section of the service document: Errors.
    """

    code: str | None = None
    """Machine-readable code of this problem."""

    message: str | None = None
    """Explanation for a person."""

    domain: str | None = None
    """The field or part of the request that the problem is about."""

    reason: str | None = None
    """What validation found wrong with the field named by domain. (Observed.)"""

    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=raw_object, hash=False)
    """Raw JSON by wire key that no field holds: keys unknown to the schema, and values that do not fit theirs."""


@attrs.define(frozen=True, kw_only=True, repr=False, weakref_slot=False)
class MarketSession(Model):
    """The hours of one trading day of one instrument collection.

    Section of the service document: Session timings.
    """

    start_at: datetime | None = None
    """When the session begins, before the regular hours. (Observed.)"""

    open_at: datetime | None = None
    """When the regular hours begin. (Observed.)"""

    close_at: datetime | None = None
    """When the regular hours end. (Observed.)"""

    close_at_ext: datetime | None = None
    """When the extended hours end. (Observed.)"""

    instrument_collection: InstrumentCollection | None = None
    """Collection whose clock this is. (Observed.)"""

    session_date: date | None = None
    """Trading day that the session belongs to. (Observed.)"""

    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=raw_object, hash=False)
    """Raw JSON by wire key that no field holds: keys unknown to the schema, and values that do not fit theirs."""


@attrs.define(frozen=True, kw_only=True, repr=False, weakref_slot=False)
class CurrentMarketSession(Model):
    """The session of the moment for one instrument collection, between the previous and the next one.

    Section of the service document: Session timings.
    """

    start_at: datetime | None = None
    """When the session begins, before the regular hours. (Observed.)"""

    open_at: datetime | None = None
    """When the regular hours begin. (Observed.)"""

    close_at: datetime | None = None
    """When the regular hours end. (Observed.)"""

    close_at_ext: datetime | None = None
    """When the extended hours end. (Observed.)"""

    instrument_collection: InstrumentCollection | None = None
    """Collection whose clock this is. (Observed.)"""

    session_date: date | None = None
    """Trading day that the session belongs to. (Observed.)"""

    state: MarketState | None = None
    """Where the market stands in its day right now. (Observed.)"""

    next_session: MarketSession | None = None
    """The session after this one. (Observed.)"""

    previous_session: MarketSession | None = None
    """The session before this one. (Observed.)"""

    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=raw_object, hash=False)
    """Raw JSON by wire key that no field holds: keys unknown to the schema, and values that do not fit theirs."""


@attrs.define(frozen=True, kw_only=True, repr=False, weakref_slot=False)
class HolidayCalendar(Model):
    """The days on which the stock exchanges do not keep their regular hours.

    Section of the service document: Holiday calendar.
    """

    market_holidays: tuple[date, ...] | None = attrs.field(default=None, converter=as_optional_tuple)
    """Days without any trading."""

    market_half_days: tuple[date, ...] | None = attrs.field(default=None, converter=as_optional_tuple)
    """Days on which trading ends early."""

    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=raw_object, hash=False)
    """Raw JSON by wire key that no field holds: keys unknown to the schema, and values that do not fit theirs."""


@attrs.define(frozen=True, kw_only=True, repr=False, weakref_slot=False)
class EarningsReport(Model):
    """Earnings that a company reported once.

    Section of the service document: Corporate-event items.
    """

    occurred_date: date | None = None
    """Day of the report."""

    eps: Decimal | None = None
    """Earnings per share, in dollars; negative for a loss."""

    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=raw_object, hash=False)
    """Raw JSON by wire key that no field holds: keys unknown to the schema, and values that do not fit theirs."""


@attrs.define(frozen=True, kw_only=True, repr=False, weakref_slot=False)
class Dividend(Model):
    """One dividend of a company.

    Section of the service document: Corporate-event items.
    """

    occurred_date: date | None = None
    """Day of the dividend."""

    amount: Decimal | None = None
    """Dollars per share."""

    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=raw_object, hash=False)
    """Raw JSON by wire key that no field holds: keys unknown to the schema, and values that do not fit theirs."""


@attrs.define(frozen=True, kw_only=True, repr=False, weakref_slot=False)
class TickSize(Model):
    """The smallest price step within a price range.

    Section of the service document: Equity instrument.
    """

    value: Decimal | None = None
    """Step between two prices, in dollars."""

    threshold: Decimal | None = None
    """Price up to which the step holds, in dollars; absent on the last range."""

    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=raw_object, hash=False)
    """Raw JSON by wire key that no field holds: keys unknown to the schema, and values that do not fit theirs."""


@attrs.define(frozen=True, kw_only=True, repr=False, weakref_slot=False)
class EquityOption(Model):
    """One listed option on an equity or an index.

    Section of the service document: Equity option instrument.
    """

    active: bool | None = None
    """Whether the service trades it at present."""

    days_to_expiration: int | None = None
    """Calendar days left; zero on the last day, negative after it."""

    exercise_style: str | None = None
    """When it may be exercised, such as `American` or `European`."""

    expiration_date: date | None = None
    """Day on which it expires."""

    expiration_type: str | None = None
    """Cycle that it belongs to, such as `Regular` or `Weekly`."""

    expires_at: datetime | None = None
    """Moment at which it expires."""

    halted_at: datetime | None = None
    """When trading was halted."""

    instrument_type: InstrumentType | None = None
    """`Equity Option`."""

    is_closing_only: bool | None = None
    """Whether positions may only be closed, not opened."""

    listed_market: str | None = None
    """Code of the market on which it is listed."""

    market_time_instrument_collection: InstrumentCollection | None = None
    """Collection whose trading hours apply."""

    old_security_number: str | None = None
    """Number that it carried before."""

    option_chain_type: str | None = None
    """Kind of chain that it belongs to, such as `Standard`."""

    option_type: OptionType | None = None
    """Call or put."""

    root_symbol: str | None = None
    """Root of the option symbol, usually the symbol of the underlying."""

    settlement_type: str | None = None
    """Time of day whose price settles it, such as `AM` or `PM`."""

    shares_per_contract: int | None = None
    """Shares that one contract stands for."""

    stops_trading_at: datetime | None = None
    """When trading in it ends."""

    streamer_symbol: str | None = None
    """Symbol under which the market-data streamer knows it."""

    strike_price: Decimal | None = None
    """Strike price, in dollars per share."""

    symbol: str | None = None
    """OCC symbol: root padded to six characters, date as yymmdd, `C` or `P`, strike times 1000 in eight digits."""

    underlying_symbol: str | None = None
    """Symbol of the underlying."""

    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=raw_object, hash=False)
    """Raw JSON by wire key that no field holds: keys unknown to the schema, and values that do not fit theirs."""


@attrs.define(frozen=True, kw_only=True, repr=False, weakref_slot=False)
class FutureOptionProduct(Model):
    """What all options of one futures option product have in common.

    Section of the service document: Future option instrument.
    """

    cash_settled: bool | None = None
    """Whether it settles in cash."""

    code: str | None = None
    """Code of the product."""

    display_factor: Decimal | None = None
    """Factor between the price on the wire and the price shown."""

    exchange: str | None = None
    """Exchange on which it trades, such as `CME`."""

    expiration_type: str | None = None
    """Cycle that it belongs to, such as `Weekly` or `End-Of-Month`."""

    is_am_settled: bool | None = None
    """Whether a morning price settles it."""

    itm_rule: str | None = None
    """How it is decided whether an option is in the money at expiration."""

    market_sector: str | None = None
    """Sector that the future belongs to, such as `Equity Index`."""

    product_subtype: str | None = None
    """Finer kind within the product type."""

    product_type: str | None = None
    """Kind of product."""

    root_symbol: str | None = None
    """Root of its option symbols."""

    settlement_delay_days: int | None = None
    """Days between expiration and settlement."""

    supported: bool | None = None
    """Whether the service trades the product."""

    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=raw_object, hash=False)
    """Raw JSON by wire key that no field holds: keys unknown to the schema, and values that do not fit theirs."""


@attrs.define(frozen=True, kw_only=True, repr=False, weakref_slot=False)
class Warrant(Model):
    """A right issued by a company to buy its shares.

    Section of the service document: Warrant.
    """

    active: bool | None = None
    """Whether the service trades it at present."""

    cusip: str | None = None
    """CUSIP of the security, nine characters."""

    description: str | None = None
    """Full name."""

    instrument_type: InstrumentType | None = None
    """`Warrant`."""

    is_closing_only: bool | None = None
    """Whether positions may only be closed, not opened."""

    listed_market: str | None = None
    """Market identifier code (MIC) of the market on which it is listed."""

    symbol: str | None = None
    """Symbol of the warrant."""

    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=raw_object, hash=False)
    """Raw JSON by wire key that no field holds: keys unknown to the schema, and values that do not fit theirs."""


@attrs.define(frozen=True, kw_only=True, repr=False, weakref_slot=False)
class Fill(Model):
    """One execution of a leg.

    Section of the service document: Order.
    """

    destination_venue: str | None = None
    """Venue at which it was executed."""

    ext_exec_id: str | None = None
    """Identifier of the execution at the venue."""

    ext_group_fill_id: str | None = None
    """Identifier shared by the fills of one execution over several legs."""

    fill_id: str | None = None
    """Identifier of the fill."""

    fill_price: Decimal | None = None
    """Price per unit, in dollars or points."""

    filled_at: datetime | None = None
    """When it was executed."""

    quantity: Decimal | None = None
    """Quantity executed, in shares or contracts."""

    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=raw_object, hash=False)
    """Raw JSON by wire key that no field holds: keys unknown to the schema, and values that do not fit theirs."""


@attrs.define(frozen=True, kw_only=True, repr=False, weakref_slot=False)
class PriceComponent(Model):
    """One instrument of a combined price.

    Section of the service document: Order.
    """

    instrument_type: InstrumentType | None = None
    """Kind of the instrument."""

    quantity: Decimal | None = None
    """Weight in the combined price, in shares or contracts."""

    quantity_direction: str | None = None
    """Whether it counts as held long or short."""

    symbol: str | None = None
    """Symbol of the instrument."""

    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=raw_object, hash=False)
    """Raw JSON by wire key that no field holds: keys unknown to the schema, and values that do not fit theirs."""


@attrs.define(frozen=True, kw_only=True, repr=False, weakref_slot=False)
class BuyingPowerEffect(Model):
    """What an order does to margin and buying power. Amounts are dollars without sign; the effects say which way.

    Section of the service document: Placed-order response.
    """

    change_in_margin_requirement: Decimal | None = None
    """Change of the margin requirement, in dollars."""

    change_in_margin_requirement_effect: PriceEffect | None = None
    """Direction of that change."""

    change_in_buying_power: Decimal | None = None
    """Change of the buying power, in dollars."""

    change_in_buying_power_effect: PriceEffect | None = None
    """Direction of that change."""

    current_buying_power: Decimal | None = None
    """Buying power before the order, in dollars."""

    current_buying_power_effect: PriceEffect | None = None
    """Sign of that amount."""

    new_buying_power: Decimal | None = None
    """Buying power after the order, in dollars."""

    new_buying_power_effect: PriceEffect | None = None
    """Sign of that amount."""

    isolated_order_margin_requirement: Decimal | None = None
    """Margin that the order would need on its own, in dollars."""

    isolated_order_margin_requirement_effect: PriceEffect | None = None
    """Sign of that amount."""

    is_spread: bool | None = None
    """Whether the order counts as a spread."""

    impact: Decimal | None = None
    """Overall effect on buying power, in dollars."""

    effect: PriceEffect | None = None
    """Direction of the impact."""

    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=raw_object, hash=False)
    """Raw JSON by wire key that no field holds: keys unknown to the schema, and values that do not fit theirs."""


@attrs.define(frozen=True, kw_only=True, repr=False, weakref_slot=False)
class FeeBreakdown(Model):
    """One single fee.

    Section of the service document: Placed-order response. Observed on the wire; not in the document.
    """

    name: str | None = None
    """Name of the fee. (Observed.)"""

    value: Decimal | None = None
    """Amount, in dollars without sign. (Observed.)"""

    effect: PriceEffect | None = None
    """Whether it is paid or received. (Observed.)"""

    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=raw_object, hash=False)
    """Raw JSON by wire key that no field holds: keys unknown to the schema, and values that do not fit theirs."""


@attrs.define(frozen=True, kw_only=True, repr=False, weakref_slot=False)
class PreflightMessage(Model):
    """An error, warning or note of a preflight.

    Section of the service document: Placed-order response.
    """

    code: str | None = None
    """Machine-readable code."""

    message: str | None = None
    """Explanation for a person."""

    preflight_id: str | None = None
    """Which of the orders it is about."""

    url: str | None = None
    """Page that explains more; only notes have one."""

    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=raw_object, hash=False)
    """Raw JSON by wire key that no field holds: keys unknown to the schema, and values that do not fit theirs."""


@attrs.define(frozen=True, kw_only=True, repr=False, weakref_slot=False)
class NewOrderLeg(Model):
    """One instrument of an order to be checked or placed.

    Section of the service document: Orders.
    """

    action: LegAction
    """Buying or selling, opening or closing; plain `Buy` and `Sell` for futures only."""

    instrument_type: InstrumentType
    """Kind of the instrument."""

    symbol: str
    """Symbol of the instrument: ticker, OCC option symbol, or symbol of the future or futures option."""

    quantity: Decimal | None = None
    """Quantity, in shares or contracts; needed by every order except Notional Market."""

    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=raw_object, hash=False)
    """Raw JSON by wire key that no field holds: keys unknown to the schema, and values that do not fit theirs."""


@attrs.define(frozen=True, kw_only=True, repr=False, weakref_slot=False)
class NewPriceComponent(Model):
    """One instrument of a combined price to be watched.

    Section of the service document: Orders.
    """

    instrument_type: InstrumentType | None = None
    """Kind of the instrument."""

    quantity: Decimal | None = None
    """Weight in the combined price, in shares or contracts."""

    quantity_direction: str | None = None
    """Whether it counts as held long or short."""

    symbol: str | None = None
    """Symbol of the instrument."""

    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=raw_object, hash=False)
    """Raw JSON by wire key that no field holds: keys unknown to the schema, and values that do not fit theirs."""


@attrs.define(frozen=True, kw_only=True, repr=False, weakref_slot=False)
class AdvancedInstructions(Model):
    """Stricter handling of an order.

    Section of the service document: Orders.
    """

    strict_position_effect_validation: bool | None = None
    """With true, refuse the order when a leg opens or closes what it cannot, instead of adjusting it."""

    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=raw_object, hash=False)
    """Raw JSON by wire key that no field holds: keys unknown to the schema, and values that do not fit theirs."""


@attrs.define(frozen=True, kw_only=True, repr=False, weakref_slot=False)
class OrderEdit(Model):
    """A working order as it should be after a change. It takes the place of the old terms as a whole, so give
    order type and time in force even where they stay the same.

    Section of the service document: Orders.
    """

    order_type: OrderType
    """How it finds its price."""

    time_in_force: TimeInForce
    """How long it stays working."""

    legs: tuple[NewOrderLeg, ...] | None = attrs.field(default=None, converter=as_optional_tuple)
    """What is to be traded; left out, the legs stay as they are."""

    gtc_date: date | None = None
    """Last day on which it works; needed with, and only allowed with, time in force `GTD`."""

    stop_trigger: Decimal | None = None
    """Price that sets off a Stop or Stop Limit order, in dollars or points per unit."""

    price: Decimal | None = None
    """Limit price of a Limit or Stop Limit order, in dollars or points per unit, without sign."""

    price_effect: PriceEffect | None = None
    """`Debit` to pay the price, `Credit` to receive it."""

    value: Decimal | None = None
    """Money to be spent or raised by a Notional Market order, in dollars, without sign."""

    value_effect: PriceEffect | None = None
    """`Debit` to spend the value, `Credit` to raise it."""

    automated_source: bool | None = None
    """Whether a program decided on it rather than a person."""

    external_identifier: str | None = None
    """Identifier of your own, by which the order can be found again after an unknown outcome."""

    partition_key: str | None = None
    """Partition of the account that it belongs to."""

    preflight_id: str | None = None
    """Transient identifier of your own that ties preflight messages to the order."""

    source: str | None = None
    """Name of the program that sends it."""

    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=raw_object, hash=False)
    """Raw JSON by wire key that no field holds: keys unknown to the schema, and values that do not fit theirs."""


@attrs.define(frozen=True, kw_only=True, repr=False, weakref_slot=False)
class RelatedOrder(Model):
    """An order that belonged to a complex order and was replaced or is finished.

    Section of the service document: Complex order.
    """

    id: str | None = None
    """Identifier of the order."""

    complex_order_id: str | None = None
    """Complex order that it belonged to."""

    complex_order_tag: str | None = None
    """Part that it played, such as `OTOCO::trigger-order`."""

    replaces_order_id: str | None = None
    """Order whose place it took."""

    replacing_order_id: str | None = None
    """Order that took its place."""

    status: OrderStatus | None = None
    """Where it stands."""

    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=raw_object, hash=False)
    """Raw JSON by wire key that no field holds: keys unknown to the schema, and values that do not fit theirs."""


@attrs.define(frozen=True, kw_only=True, repr=False, weakref_slot=False)
class PairsEdit(Model):
    """New terms of a PAIRS order; what is left out stays as it is.

    Section of the service document: Orders.
    """

    ratio_price_comparator: Comparator | None = None
    """On which side of the threshold the price ratio sets it off."""

    ratio_price_threshold: Decimal | None = None
    """Price ratio that sets it off."""

    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=raw_object, hash=False)
    """Raw JSON by wire key that no field holds: keys unknown to the schema, and values that do not fit theirs."""


@attrs.define(frozen=True, kw_only=True, repr=False, weakref_slot=False)
class TransactionLot(Model):
    """A tax lot that a transaction opened or closed.

    Section of the service document: Transactions. Observed on the wire; not in the document.
    """

    id: str | None = None
    """Identifier of the lot. (Observed.)"""

    transaction_id: str | None = None
    """Transaction that it belongs to. (Observed.)"""

    quantity: Decimal | None = None
    """Quantity, in shares or contracts. (Observed.)"""

    price: Decimal | None = None
    """Price per unit, in dollars or points. (Observed.)"""

    quantity_direction: str | None = None
    """Whether it was held long or short. (Observed.)"""

    executed_at: datetime | None = None
    """When it was opened. (Observed.)"""

    transaction_date: date | None = None
    """Trading day on which it was opened. (Observed.)"""

    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=raw_object, hash=False)
    """Raw JSON by wire key that no field holds: keys unknown to the schema, and values that do not fit theirs."""


@attrs.define(frozen=True, kw_only=True, repr=False, weakref_slot=False)
class MarginOrderLeg(Model):
    """One instrument of a prospective order.

    Section of the service document: Margin.
    """

    symbol: str
    """Symbol of the instrument."""

    instrument_type: InstrumentType
    """Kind of the instrument."""

    action: LegAction
    """Buying or selling, opening or closing."""

    quantity: Decimal | None = None
    """Quantity, in shares or contracts."""

    remaining_quantity: Decimal | None = None
    """Part of the quantity that is not yet filled, in shares or contracts."""

    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=raw_object, hash=False)
    """Raw JSON by wire key that no field holds: keys unknown to the schema, and values that do not fit theirs."""


@attrs.define(frozen=True, kw_only=True, repr=False, weakref_slot=False)
class MarginDryRunResult(Model):
    """Margin of all positions and orders on one underlying. Amounts are dollars without sign.

    Section of the service document: Margin reports. Observed on the wire; not in the document.
    """

    code: str | None = None
    """Code of the underlying. (Observed.)"""

    description: str | None = None
    """Name of the underlying. (Observed.)"""

    underlying_symbol: str | None = None
    """Symbol of the underlying. (Observed.)"""

    underlying_type: InstrumentType | None = None
    """Kind of the underlying. (Observed.)"""

    underlying_price: Decimal | None = None
    """Price of the underlying that the margin was computed with, in dollars or points. (Observed.)"""

    margin_requirement: Decimal | None = None
    """Margin required, in dollars. (Observed.)"""

    margin_requirement_effect: PriceEffect | None = None
    """Sign of that amount. (Observed.)"""

    maintenance_requirement: Decimal | None = None
    """Margin required to keep the positions, in dollars. (Observed.)"""

    maintenance_requirement_effect: PriceEffect | None = None
    """Sign of that amount. (Observed.)"""

    buying_power_impact: Decimal | None = None
    """Buying power that is taken up, in dollars. (Observed.)"""

    buying_power_impact_effect: PriceEffect | None = None
    """Sign of that amount. (Observed.)"""

    group_results: tuple[Mapping[str, Any], ...] | None = attrs.field(
        default=None, converter=as_optional_tuple, hash=False
    )
    """How the positions were grouped, and the margin of each group, as the service sends it. (Observed.)"""

    order_ids: tuple[str, ...] | None = attrs.field(default=None, converter=as_optional_tuple)
    """Orders that were taken into account. (Observed.)"""

    calculated_at: datetime | None = None
    """When the margin was computed. (Observed.)"""

    marks: Mapping[str, Any] | None = attrs.field(default=None, converter=as_optional_object, hash=False)
    """Prices that were used, by symbol, as the service sends them. (Observed.)"""

    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=raw_object, hash=False)
    """Raw JSON by wire key that no field holds: keys unknown to the schema, and values that do not fit theirs."""


@attrs.define(frozen=True, kw_only=True, repr=False, weakref_slot=False)
class MarginPositionEntry(Model):
    """One position in the margin report.

    Section of the service document: Margin reports. Observed on the wire; not in the document.
    """

    instrument_symbol: str | None = None
    """Symbol of the instrument. (Observed.)"""

    instrument_type: InstrumentType | None = None
    """Kind of the instrument. (Observed.)"""

    quantity: Decimal | None = None
    """Quantity held, in shares or contracts. (Observed.)"""

    average_open_price: Decimal | None = None
    """Average price at which it was opened, in dollars or points. (Observed.)"""

    close_price: Decimal | None = None
    """Closing price of the day before, in dollars or points. (Observed.)"""

    fixing_price: Decimal | None = None
    """Price fixed for settlement, in dollars or points; None when there is none. (Observed.)"""

    strike_price: Decimal | None = None
    """Strike price, for options. (Observed.)"""

    option_type: OptionType | None = None
    """Call or put, for options. (Observed.)"""

    expiration_date: date | None = None
    """Day of expiration, for options. (Observed.)"""

    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=raw_object, hash=False)
    """Raw JSON by wire key that no field holds: keys unknown to the schema, and values that do not fit theirs."""


@attrs.define(frozen=True, kw_only=True, repr=False, weakref_slot=False)
class WatchlistEntry(Model):
    """One instrument of a watchlist.

    Section of the service document: Watchlist.
    """

    symbol: str | None = None
    """Symbol of the instrument."""

    instrument_type: InstrumentType | None = None
    """Kind of the instrument."""

    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=raw_object, hash=False)
    """Raw JSON by wire key that no field holds: keys unknown to the schema, and values that do not fit theirs."""


@attrs.define(frozen=True, kw_only=True, repr=False, weakref_slot=False)
class NewWatchlistEntry(Model):
    """One instrument of a watchlist to be created.

    Section of the service document: Watchlists.
    """

    symbol: str
    """Symbol of the instrument."""

    instrument_type: InstrumentType | None = None
    """Kind of the instrument."""

    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=raw_object, hash=False)
    """Raw JSON by wire key that no field holds: keys unknown to the schema, and values that do not fit theirs."""


@attrs.define(frozen=True, kw_only=True, repr=False, weakref_slot=False)
class QuoteAlert(Model):
    """A quote alert. Its timestamps say how far it has come.

    Section of the service document: Quote alert.
    """

    alert_external_id: str | None = None
    """Identifier of the alert, by which it is cancelled."""

    completed_at: datetime | None = None
    """When it was over, for whatever reason."""

    created_at: datetime | None = None
    """When it was created."""

    dismissed_at: datetime | None = None
    """When the user dismissed it."""

    dx_symbol: str | None = None
    """Symbol under which the market-data streamer knows the instrument."""

    expired_at: datetime | None = None
    """When it ran out without having triggered."""

    expires_at: str | None = None
    """When it will run out, as the service writes it."""

    field: AlertField | None = None
    """Part of the quote that is watched."""

    instrument_type: InstrumentType | None = None
    """Kind of the instrument."""

    operator: AlertOperator | None = None
    """Side of the threshold that it waits for."""

    provider: str | None = None
    """Source of the quotes."""

    symbol: str | None = None
    """Symbol of the instrument."""

    threshold: Decimal | None = None
    """Value to be crossed, as it was given."""

    threshold_numeric: Decimal | None = None
    """Value to be crossed, as a number."""

    triggered_at: datetime | None = None
    """When the threshold was first crossed."""

    user_external_id: str | None = None
    """Identifier of the owner."""

    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=raw_object, hash=False)
    """Raw JSON by wire key that no field holds: keys unknown to the schema, and values that do not fit theirs."""


@attrs.define(frozen=True, kw_only=True, repr=False, weakref_slot=False)
class NewQuoteAlert(Model):
    """A quote alert to be created.

    Section of the service document: Quote alerts. Observed on the wire; not in the document.
    """

    field: AlertField
    """Part of the quote to watch. (Observed.)"""

    operator: AlertOperator
    """Side of the threshold to wait for. (Observed.)"""

    symbol: str
    """Symbol of the instrument. (Observed.)"""

    threshold: Decimal
    """Value to be crossed. (Observed.)"""

    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=raw_object, hash=False)
    """Raw JSON by wire key that no field holds: keys unknown to the schema, and values that do not fit theirs."""


@attrs.define(frozen=True, kw_only=True, repr=False, weakref_slot=False)
class TokenRequest(Model):
    """A grant to be traded for an access token.

    Section of the service document: Authentication.
    """

    grant_type: GrantType
    """What is traded."""

    client_secret: str = attrs.field(repr=False)
    """Secret of the registered application."""

    refresh_token: str | None = attrs.field(default=None, repr=False)
    """The refresh token, for that grant."""

    client_id: str | None = None
    """Identifier of the registered application; a refresh token implies it, and must belong to it when it is
    given."""

    scope: str | None = None
    """Scopes to ask for, separated by spaces, out of those granted; all of them when it is left out."""

    code: str | None = attrs.field(default=None, repr=False)
    """The authorization code, for that grant, good for one use."""

    redirect_uri: str | None = None
    """Address that the code was sent to, exactly as it was registered."""

    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=raw_object, hash=False)
    """Raw JSON by wire key that no field holds: keys unknown to the schema, and values that do not fit theirs."""


@attrs.define(frozen=True, kw_only=True, repr=False, weakref_slot=False)
class TokenResponse(Model):
    """The tokens obtained for a grant.

    Section of the service document: Token.
    """

    access_token: str | None = attrs.field(default=None, repr=False)
    """Token for the Authorization header."""

    token_type: str | None = None
    """How to use the access token; `Bearer`."""

    expires_in: int | None = None
    """Seconds for which the access token is good, counted from the answer."""

    refresh_token: str | None = attrs.field(default=None, repr=False)
    """Token to obtain further access tokens with; only for an authorization code."""

    id_token: str | None = attrs.field(default=None, repr=False)
    """Signed statement of who the user is; only with scope openid."""

    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=raw_object, hash=False)
    """Raw JSON by wire key that no field holds: keys unknown to the schema, and values that do not fit theirs."""


@attrs.define(frozen=True, kw_only=True, repr=False, weakref_slot=False)
class TokenErrorBody(Model):
    """Why no token was given. Unlike other errors it has no envelope.

    Section of the service document: Token. Observed on the wire; not in the document.
    """

    error_code: str | None = None
    """Machine-readable code, such as `invalid_grant`. (Observed.)"""

    error_description: str | None = None
    """Explanation for a person. (Observed.)"""

    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=raw_object, hash=False)
    """Raw JSON by wire key that no field holds: keys unknown to the schema, and values that do not fit theirs."""


@attrs.define(frozen=True, kw_only=True, repr=False, weakref_slot=False)
class ErrorBody(Model):
    """What went wrong. Branch on the code; the message is for people and may change.

    Section of the service document: Errors.
    """

    code: str | None = None
    """Machine-readable code, always sent: unauthorized, not_permitted, preflight_check_failure,
    cannot_update_order and others."""

    message: str | None = None
    """Explanation for a person, always sent."""

    errors: tuple[ErrorDetail, ...] | None = attrs.field(default=None, converter=as_optional_tuple)
    """The single problems, when there are several or when validation failed."""

    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=raw_object, hash=False)
    """Raw JSON by wire key that no field holds: keys unknown to the schema, and values that do not fit theirs."""


@attrs.define(frozen=True, kw_only=True, repr=False, weakref_slot=False)
class Equity(Model):
    """A stock, an exchange-traded fund or an index.

    Section of the service document: Equity instrument.
    """

    active: bool | None = None
    """Whether the service trades it at present."""

    borrow_rate: Decimal | None = None
    """Rate charged for borrowing shares to sell them short."""

    bypass_manual_review: bool | None = None
    """Whether orders skip the review by a person."""

    country_of_incorporation: str | None = None
    """Country in which the issuer is incorporated."""

    country_of_taxation: str | None = None
    """Country in which the issuer is taxed."""

    description: str | None = None
    """Full name."""

    halted_at: datetime | None = None
    """When trading was halted."""

    instrument_sub_type: str | None = None
    """Finer kind within the instrument type."""

    instrument_type: InstrumentType | None = None
    """`Equity`."""

    is_closing_only: bool | None = None
    """Whether positions may only be closed, not opened."""

    is_etf: bool | None = None
    """Whether it is an exchange-traded fund."""

    is_fractional_quantity_eligible: bool | None = None
    """Whether fractions of a share can be traded."""

    is_illiquid: bool | None = None
    """Whether the service counts it as thinly traded."""

    is_index: bool | None = None
    """Whether it is an index, which cannot be traded itself."""

    is_options_closing_only: bool | None = None
    """Whether positions in its options may only be closed."""

    lendability: Lendability | None = None
    """How easily shares can be borrowed."""

    listed_market: str | None = None
    """Code of the market on which it is listed, such as `XNAS`."""

    market_time_instrument_collection: InstrumentCollection | None = None
    """Collection whose trading hours apply."""

    overnight_trading_permitted: bool | None = None
    """Whether it trades overnight."""

    pre_ipo: bool | None = None
    """Whether it is not yet publicly traded."""

    short_description: str | None = None
    """Short name."""

    stops_trading_at: datetime | None = None
    """When trading in it ends for good."""

    streamer_symbol: str | None = None
    """Symbol under which the market-data streamer knows it."""

    symbol: str | None = None
    """Symbol, such as `AAPL` or `BRK/B`."""

    underlying_product_type: str | None = None
    """Kind of product that it is as an underlying."""

    option_tick_sizes: tuple[TickSize, ...] | None = attrs.field(default=None, converter=as_optional_tuple)
    """Price steps of its options, by price range."""

    tick_sizes: tuple[TickSize, ...] | None = attrs.field(default=None, converter=as_optional_tuple)
    """Price steps of the instrument itself, by price range."""

    id: int | None = None
    """Number of the instrument within the service."""

    cusip: str | None = None
    """CUSIP of the security, nine characters."""

    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=raw_object, hash=False)
    """Raw JSON by wire key that no field holds: keys unknown to the schema, and values that do not fit theirs."""


@attrs.define(frozen=True, kw_only=True, repr=False, weakref_slot=False)
class FutureOption(Model):
    """One listed option on a future.

    Section of the service document: Future option instrument.
    """

    active: bool | None = None
    """Whether the service trades it at present."""

    days_to_expiration: int | None = None
    """Calendar days left; zero on the last day, negative after it."""

    display_factor: Decimal | None = None
    """Factor between the price on the wire and the price shown."""

    exchange: str | None = None
    """Exchange on which it trades, such as `CME`."""

    exercise_style: str | None = None
    """When it may be exercised, such as `American` or `European`."""

    expiration_date: date | None = None
    """Day on which it expires."""

    expires_at: datetime | None = None
    """Moment at which it expires."""

    future_price_ratio: Decimal | None = None
    """Ratio between the price of the option and the price of its future."""

    is_closing_only: bool | None = None
    """Whether positions may only be closed, not opened."""

    is_confirmed: bool | None = None
    """Whether the exchange has confirmed it."""

    is_exercisable_weekly: bool | None = None
    """Whether it can be exercised once a week."""

    is_primary_deliverable: bool | None = None
    """Whether its future is the main deliverable of the product."""

    is_vanilla: bool | None = None
    """Whether it is a plain option without special terms."""

    last_trade_time: str | None = None
    """Last trade as the exchange gives it; `0` when there is none."""

    maturity_date: date | None = None
    """Day on which it matures."""

    multiplier: Decimal | None = None
    """Dollars per point of price of one contract."""

    notional_value: Decimal | None = None
    """Value of one point of price of one contract, in dollars."""

    option_root_symbol: str | None = None
    """Root of the option symbol, such as `EW3`."""

    option_type: OptionType | None = None
    """Call or put."""

    product_code: str | None = None
    """Code of the future's product, such as `ES`."""

    root_symbol: str | None = None
    """Root of the future's symbol, such as `/ES`."""

    security_id: str | None = None
    """Number of the security at its exchange."""

    settlement_type: str | None = None
    """What it settles into, such as `Future`."""

    stops_trading_at: datetime | None = None
    """When trading in it ends."""

    streamer_symbol: str | None = None
    """Symbol under which the market-data streamer knows it."""

    strike_factor: Decimal | None = None
    """Factor between the strike in the symbol and the strike price."""

    strike_price: Decimal | None = None
    """Strike price, in points of the future's price."""

    symbol: str | None = None
    """Symbol, such as `./ESZ6 EW3U6 260918P9100`."""

    underlying_count: Decimal | None = None
    """Futures that one contract stands for."""

    underlying_symbol: str | None = None
    """Symbol of the future that it is an option on, such as `/ESZ6`."""

    exchange_symbol: str | None = None
    """Symbol at the exchange."""

    security_exchange: str | None = None
    """Code of the exchange that security-id belongs to."""

    sx_id: str | None = None
    """Number in the exchange's other numbering; `0` when there is none."""

    future_option_product: FutureOptionProduct | None = None
    """Product that it belongs to."""

    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=raw_object, hash=False)
    """Raw JSON by wire key that no field holds: keys unknown to the schema, and values that do not fit theirs."""


@attrs.define(frozen=True, kw_only=True, repr=False, weakref_slot=False)
class OrderLeg(Model):
    """One instrument of an order, and how much of it is done.

    Section of the service document: Order.
    """

    action: LegAction | None = None
    """Buying or selling, opening or closing."""

    instrument_type: InstrumentType | None = None
    """Kind of the instrument."""

    quantity: Decimal | None = None
    """Quantity ordered, in shares or contracts; can be a fraction."""

    remaining_quantity: Decimal | None = None
    """Quantity not yet filled, in shares or contracts."""

    symbol: str | None = None
    """Symbol of the instrument."""

    fills: tuple[Fill, ...] | None = attrs.field(default=None, converter=as_optional_tuple)
    """Executions so far."""

    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=raw_object, hash=False)
    """Raw JSON by wire key that no field holds: keys unknown to the schema, and values that do not fit theirs."""


@attrs.define(frozen=True, kw_only=True, repr=False, weakref_slot=False)
class OrderCondition(Model):
    """A condition on the market that routes or cancels an order.

    Section of the service document: Order.
    """

    id: str | None = None
    """Identifier of the condition."""

    action: str | None = None
    """What happens to the order once the condition holds."""

    comparator: Comparator | None = None
    """On which side of the threshold it holds."""

    indicator: str | None = None
    """Quantity that is watched, such as the last price."""

    instrument_type: InstrumentType | None = None
    """Kind of the instrument that is watched."""

    is_threshold_based_on_notional: bool | None = None
    """Whether the threshold is an amount of money rather than a price."""

    symbol: str | None = None
    """Symbol of the instrument that is watched."""

    threshold: Decimal | None = None
    """Value at which the condition begins to hold."""

    triggered_at: datetime | None = None
    """When it came to hold."""

    triggered_value: Decimal | None = None
    """Value that was seen then."""

    price_components: tuple[PriceComponent, ...] | None = attrs.field(default=None, converter=as_optional_tuple)
    """Instruments whose combined price is watched."""

    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=raw_object, hash=False)
    """Raw JSON by wire key that no field holds: keys unknown to the schema, and values that do not fit theirs."""


@attrs.define(frozen=True, kw_only=True, repr=False, weakref_slot=False)
class FeeCalculation(Model):
    """Fees and commission of an order, in dollars without sign; the effects say which way.

    Section of the service document: Placed-order response.
    """

    regulatory_fees: Decimal | None = None
    """Fees of the regulators, in dollars."""

    regulatory_fees_effect: PriceEffect | None = None
    """Whether they are paid or received."""

    clearing_fees: Decimal | None = None
    """Fees of the clearing house, in dollars."""

    clearing_fees_effect: PriceEffect | None = None
    """Whether they are paid or received."""

    commission: Decimal | None = None
    """Commission of the brokerage, in dollars."""

    commission_effect: PriceEffect | None = None
    """Whether it is paid or received."""

    proprietary_index_option_fees: Decimal | None = None
    """Fees of the exchange on options on its own indices, in dollars."""

    proprietary_index_option_fees_effect: PriceEffect | None = None
    """Whether they are paid or received."""

    total_fees: Decimal | None = None
    """All of them together, in dollars."""

    total_fees_effect: PriceEffect | None = None
    """Whether they are paid or received."""

    regulatory_fees_breakdown: tuple[FeeBreakdown, ...] | None = attrs.field(default=None, converter=as_optional_tuple)
    """The regulators' fees one by one. (Observed.)"""

    clearing_fees_breakdown: tuple[FeeBreakdown, ...] | None = attrs.field(default=None, converter=as_optional_tuple)
    """The clearing fees one by one. (Observed.)"""

    commission_breakdown: tuple[FeeBreakdown, ...] | None = attrs.field(default=None, converter=as_optional_tuple)
    """The parts of the commission. (Observed.)"""

    proprietary_fees_breakdown: tuple[FeeBreakdown, ...] | None = attrs.field(default=None, converter=as_optional_tuple)
    """The exchange's fees one by one. (Observed.)"""

    per_quantity: bool | None = None
    """Whether the amounts are per share or contract instead of for the whole order. (Observed.)"""

    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=raw_object, hash=False)
    """Raw JSON by wire key that no field holds: keys unknown to the schema, and values that do not fit theirs."""


@attrs.define(frozen=True, kw_only=True, repr=False, weakref_slot=False)
class NewOrderCondition(Model):
    """A condition on the market that is to route or cancel an order.

    Section of the service document: Orders.
    """

    action: str | None = None
    """What is to happen to the order once the condition holds."""

    instrument_type: InstrumentType | None = None
    """Kind of the instrument to watch."""

    symbol: str | None = None
    """Symbol of the instrument to watch."""

    comparator: Comparator | None = None
    """On which side of the threshold it holds."""

    indicator: str | None = None
    """Quantity to watch, such as the last price."""

    threshold: Decimal | None = None
    """Value at which the condition begins to hold."""

    price_components: tuple[NewPriceComponent, ...] | None = attrs.field(default=None, converter=as_optional_tuple)
    """Instruments whose combined price is to be watched."""

    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=raw_object, hash=False)
    """Raw JSON by wire key that no field holds: keys unknown to the schema, and values that do not fit theirs."""


@attrs.define(frozen=True, kw_only=True, repr=False, weakref_slot=False)
class Transaction(Model):
    """One movement in an account. Cash movements have neither symbol nor action, quantity or price. Amounts are
    dollars without sign; the effects say which way.

    Section of the service document: Transactions.
    """

    id: str | None = None
    """Identifier of the transaction."""

    account_number: str | None = None
    """Account in which it happened. (Observed.)"""

    transaction_type: str | None = None
    """What kind of movement it is, such as `Trade` or `Money Movement`."""

    transaction_sub_type: str | None = None
    """Finer kind within the transaction type. (Observed.)"""

    transaction_date: date | None = None
    """Trading day that it is booked on. (Observed.)"""

    executed_at: datetime | None = None
    """When it happened. (Observed.)"""

    symbol: str | None = None
    """Symbol of the instrument. (Observed.)"""

    underlying_symbol: str | None = None
    """Symbol of the underlying. (Observed.)"""

    instrument_type: InstrumentType | None = None
    """Kind of the instrument. (Observed.)"""

    action: LegAction | None = None
    """Buying or selling, opening or closing. (Observed.)"""

    quantity: Decimal | None = None
    """Quantity, in shares or contracts. (Observed.)"""

    price: Decimal | None = None
    """Price per unit, in dollars or points. (Observed.)"""

    value: Decimal | None = None
    """Amount before fees, in dollars. (Observed.)"""

    value_effect: PriceEffect | None = None
    """Whether it was paid or received. (Observed.)"""

    net_value: Decimal | None = None
    """Amount after fees, in dollars. (Observed.)"""

    net_value_effect: PriceEffect | None = None
    """Whether it was paid or received. (Observed.)"""

    commission: Decimal | None = None
    """Commission of the brokerage, in dollars. (Observed.)"""

    commission_effect: PriceEffect | None = None
    """Whether it was paid or received. (Observed.)"""

    clearing_fees: Decimal | None = None
    """Fees of the clearing house, in dollars. (Observed.)"""

    clearing_fees_effect: PriceEffect | None = None
    """Whether they were paid or received. (Observed.)"""

    regulatory_fees: Decimal | None = None
    """Fees of the regulators, in dollars. (Observed.)"""

    regulatory_fees_effect: PriceEffect | None = None
    """Whether they were paid or received. (Observed.)"""

    proprietary_index_option_fees: Decimal | None = None
    """Fees of the exchange on options on its own indices, in dollars. (Observed.)"""

    proprietary_index_option_fees_effect: PriceEffect | None = None
    """Whether they were paid or received. (Observed.)"""

    description: str | None = None
    """What happened, in words. (Observed.)"""

    is_estimated_fee: bool | None = None
    """Whether the fees are still an estimate. (Observed.)"""

    order_id: str | None = None
    """Order that it came from. (Observed.)"""

    leg_count: int | None = None
    """Number of legs of that order. (Observed.)"""

    currency: str | None = None
    """Currency of all amounts, such as `USD`. (Observed.)"""

    exec_id: str | None = None
    """Identifier of the execution. (Observed.)"""

    ext_exec_id: str | None = None
    """Identifier of the execution at the venue. (Observed.)"""

    ext_group_id: str | None = None
    """Identifier shared by the executions of one order over several legs. (Observed.)"""

    lots: tuple[TransactionLot, ...] | None = attrs.field(default=None, converter=as_optional_tuple)
    """Tax lots that it opened or closed. (Observed.)"""

    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=raw_object, hash=False)
    """Raw JSON by wire key that no field holds: keys unknown to the schema, and values that do not fit theirs."""


@attrs.define(frozen=True, kw_only=True, repr=False, weakref_slot=False)
class MarginOrder(Model):
    """A prospective order whose margin is to be estimated.

    Section of the service document: Margin.
    """

    account_number: str
    """Account that would hold the order, the same as in the path."""

    underlying_symbol: str
    """Symbol of the underlying of all legs."""

    underlying_instrument_type: InstrumentType
    """Kind of the underlying: `Equity`, `Equity Option`, `Future`, `Future Option` or `Cryptocurrency`."""

    order_type: OrderType
    """How the order finds its price."""

    time_in_force: TimeInForce
    """How long the order stays working."""

    gtc_date: date | None = None
    """Last day on which it works, for time in force `GTD`."""

    price: Decimal | None = None
    """Limit price, in dollars or points per unit, without sign."""

    price_effect: PriceEffect | None = None
    """`Debit` to pay the price, `Credit` to receive it."""

    stop_trigger: Decimal | None = None
    """Price that sets off a stop order, in dollars or points per unit."""

    replaces_order_id: str | None = None
    """Working order whose place it would take; digits."""

    legs: tuple[MarginOrderLeg, ...] | None = attrs.field(default=None, converter=as_optional_tuple)
    """What is to be traded, one leg per instrument."""

    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=raw_object, hash=False)
    """Raw JSON by wire key that no field holds: keys unknown to the schema, and values that do not fit theirs."""


@attrs.define(frozen=True, kw_only=True, repr=False, weakref_slot=False)
class MarginPositionGroup(Model):
    """Positions that are margined together. Amounts are dollars without sign; the effects say which way.

    Section of the service document: Margin reports. Observed on the wire; not in the document.
    """

    description: str | None = None
    """Strategy that they are margined as, such as `LONG_UNDERLYING`. (Observed.)"""

    margin_requirement: Decimal | None = None
    """Margin required, in dollars. (Observed.)"""

    margin_requirement_effect: PriceEffect | None = None
    """Sign of that amount. (Observed.)"""

    maintenance_requirement: Decimal | None = None
    """Margin required to keep the positions, in dollars. (Observed.)"""

    maintenance_requirement_effect: PriceEffect | None = None
    """Sign of that amount. (Observed.)"""

    includes_working_order: bool | None = None
    """Whether a working order is counted in. (Observed.)"""

    buying_power: Decimal | None = None
    """Buying power that is taken up, in dollars. (Observed.)"""

    buying_power_effect: PriceEffect | None = None
    """Sign of that amount. (Observed.)"""

    position_entries: tuple[MarginPositionEntry, ...] | None = attrs.field(default=None, converter=as_optional_tuple)
    """The positions. (Observed.)"""

    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=raw_object, hash=False)
    """Raw JSON by wire key that no field holds: keys unknown to the schema, and values that do not fit theirs."""


@attrs.define(frozen=True, kw_only=True, repr=False, weakref_slot=False)
class Watchlist(Model):
    """A named list of symbols.

    Section of the service document: Watchlist.
    """

    name: str | None = None
    """Name of the list."""

    watchlist_entries: tuple[WatchlistEntry, ...] | None = attrs.field(default=None, converter=as_optional_tuple)
    """What is on the list."""

    cms_id: str | None = None
    """Identifier in the content management of the service."""

    group_name: str | None = None
    """Group that the list is shown in, if any."""

    order_index: int | None = None
    """Place among the lists; smaller comes first."""

    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=raw_object, hash=False)
    """Raw JSON by wire key that no field holds: keys unknown to the schema, and values that do not fit theirs."""


@attrs.define(frozen=True, kw_only=True, repr=False, weakref_slot=False)
class NewWatchlist(Model):
    """A watchlist to be created.

    Section of the service document: Watchlists.
    """

    name: str
    """Name of the list."""

    watchlist_entries: tuple[NewWatchlistEntry, ...] = attrs.field(converter=as_tuple)
    """What to put on the list."""

    group_name: str | None = None
    """Group to show the list in."""

    order_index: int | None = None
    """Place among the lists, smaller first; 9999 when it is left out."""

    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=raw_object, hash=False)
    """Raw JSON by wire key that no field holds: keys unknown to the schema, and values that do not fit theirs."""


@attrs.define(frozen=True, kw_only=True, repr=False, weakref_slot=False)
class OrderRule(Model):
    """Times and conditions that route or cancel an order.

    Section of the service document: Order.
    """

    cancel_at: datetime | None = None
    """When it is to be cancelled."""

    cancelled_at: datetime | None = None
    """When this rule cancelled it."""

    route_after: datetime | None = None
    """Before this moment it is not sent to the exchange."""

    routed_at: datetime | None = None
    """When this rule sent it to the exchange."""

    order_conditions: tuple[OrderCondition, ...] | None = attrs.field(default=None, converter=as_optional_tuple)
    """Conditions on the market that set it off."""

    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=raw_object, hash=False)
    """Raw JSON by wire key that no field holds: keys unknown to the schema, and values that do not fit theirs."""


@attrs.define(frozen=True, kw_only=True, repr=False, weakref_slot=False)
class NewOrderRules(Model):
    """Times and conditions that are to route or cancel an order.

    Section of the service document: Orders.
    """

    cancel_at: datetime | None = None
    """When to cancel it."""

    route_after: datetime | None = None
    """Before this moment it is not sent to the exchange."""

    conditions: tuple[NewOrderCondition, ...] | None = attrs.field(default=None, converter=as_optional_tuple)
    """Conditions on the market that set it off."""

    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=raw_object, hash=False)
    """Raw JSON by wire key that no field holds: keys unknown to the schema, and values that do not fit theirs."""


@attrs.define(frozen=True, kw_only=True, repr=False, weakref_slot=False)
class MarginGroup(Model):
    """Margin of all positions on one underlying. Amounts are dollars without sign; the effects say which way. A
    group can be empty.

    Section of the service document: Margin reports.
    """

    description: str | None = None
    """Name of the underlying. (Observed.)"""

    code: str | None = None
    """Code of the underlying. (Observed.)"""

    underlying_symbol: str | None = None
    """Symbol of the underlying. (Observed.)"""

    underlying_type: InstrumentType | None = None
    """Kind of the underlying. (Observed.)"""

    margin_calculation_type: str | None = None
    """Rules that the margin follows, such as `Reg T`. (Observed.)"""

    margin_requirement: Decimal | None = None
    """Margin required, in dollars. (Observed.)"""

    margin_requirement_effect: PriceEffect | None = None
    """Sign of that amount. (Observed.)"""

    initial_requirement: Decimal | None = None
    """Margin required to open the positions, in dollars. (Observed.)"""

    initial_requirement_effect: PriceEffect | None = None
    """Sign of that amount. (Observed.)"""

    maintenance_requirement: Decimal | None = None
    """Margin required to keep the positions, in dollars. (Observed.)"""

    maintenance_requirement_effect: PriceEffect | None = None
    """Sign of that amount. (Observed.)"""

    buying_power: Decimal | None = None
    """Buying power that is taken up, in dollars. (Observed.)"""

    buying_power_effect: PriceEffect | None = None
    """Sign of that amount. (Observed.)"""

    groups: tuple[MarginPositionGroup, ...] | None = attrs.field(default=None, converter=as_optional_tuple)
    """Positions that are margined together. (Observed.)"""

    position_entries: tuple[MarginPositionEntry, ...] | None = attrs.field(default=None, converter=as_optional_tuple)
    """The positions, where they are not grouped further."""

    price_increase_percent: Decimal | None = None
    """Rise of the underlying that the margin must withstand, as a fraction: 0.5 is 50 percent."""

    price_decrease_percent: Decimal | None = None
    """Fall of the underlying that the margin must withstand, as a negative fraction: -0.5 is 50 percent."""

    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=raw_object, hash=False)
    """Raw JSON by wire key that no field holds: keys unknown to the schema, and values that do not fit theirs."""


@attrs.define(frozen=True, kw_only=True, repr=False, weakref_slot=False)
class Order(Model):
    """An order as the service knows it.

    Section of the service document: Order.
    """

    id: str | None = None
    """Identifier of the order; absent on a dry-run."""

    account_number: str | None = None
    """Account that owns the order."""

    cancel_user_id: str | None = None
    """Identifier of the user who cancelled it."""

    cancel_username: str | None = None
    """Name of the user who cancelled it."""

    cancellable: bool | None = None
    """Whether it can still be cancelled: true while it is working, false once it is final or a cancellation was
    asked for."""

    cancelled_at: datetime | None = None
    """When it was cancelled."""

    cancelled_size: Decimal | None = None
    """Quantity that was cancelled, in shares or contracts."""

    complex_order_id: str | None = None
    """Complex order of which this is a component."""

    complex_order_tag: str | None = None
    """Part played in the complex order, such as `OTOCO::trigger-order` or `OCO::order`."""

    contingent_status: ContingentStatus | None = None
    """What it is waiting for, while it waits for another order or a condition."""

    editable: bool | None = None
    """Whether it can be edited or replaced at present."""

    edited: bool | None = None
    """Whether it came about by an edit or a replacement, or was itself replaced."""

    external_identifier: str | None = None
    """Identifier that the client gave it; the handle for finding it again after an unknown outcome."""

    global_request_id: str | None = None
    """Identifier of the request that created it."""

    gtc_date: date | None = None
    """Last day on which it works, for time in force `GTD`."""

    in_flight_at: datetime | None = None
    """When it was on its way to the exchange."""

    leg_count: Decimal | None = None
    """Number of legs."""

    live_at: datetime | None = None
    """When it began to work at the exchange."""

    order_type: OrderType | None = None
    """How it finds its price."""

    preflight_id: str | None = None
    """Transient identifier that ties preflight messages to the order."""

    price: Decimal | None = None
    """Limit price of a Limit or Stop Limit order, in dollars or points per unit, without sign."""

    price_effect: PriceEffect | None = None
    """Whether the price is paid or received."""

    received_at: datetime | None = None
    """When the service received it; absent on a dry-run."""

    reject_reason: str | None = None
    """Why it was rejected, with status `Rejected`."""

    replaces_order_id: str | None = None
    """Order whose place it took."""

    replacing_order_id: str | None = None
    """Order that took its place."""

    size: Decimal | None = None
    """Quantity over all legs, in shares or contracts."""

    source: str | None = None
    """Program that sent it, as it named itself."""

    status: OrderStatus | None = None
    """Where it stands."""

    stop_trigger: Decimal | None = None
    """Price that sets off a Stop or Stop Limit order, in dollars or points per unit."""

    terminal_at: datetime | None = None
    """When it reached a final status."""

    time_in_force: TimeInForce | None = None
    """How long it stays working."""

    underlying_instrument_type: InstrumentType | None = None
    """Kind of the underlying."""

    underlying_symbol: str | None = None
    """Symbol of the underlying of all legs."""

    updated_at: datetime | None = None
    """When it last changed; the start of 1970 on a dry-run."""

    user_id: str | None = None
    """Identifier of the user who placed it."""

    username: str | None = None
    """Name of the user who placed it."""

    value: Decimal | None = None
    """Money to be spent or raised by a Notional Market order, in dollars, without sign."""

    value_effect: PriceEffect | None = None
    """Whether the value is paid or received."""

    legs: tuple[OrderLeg, ...] | None = attrs.field(default=None, converter=as_optional_tuple)
    """What is traded, one leg per instrument."""

    order_rule: OrderRule | None = None
    """Times and conditions that route or cancel it."""

    ext_client_order_id: str | None = None
    """Identifier under which it went to the exchange. (Observed.)"""

    ext_exchange_order_number: str | None = None
    """Number that the exchange gave it. (Observed.)"""

    ext_global_order_number: int | None = None
    """Number that it carries across all systems. (Observed.)"""

    destination_venue: str | None = None
    """Venue that it was sent to. (Observed.)"""

    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=raw_object, hash=False)
    """Raw JSON by wire key that no field holds: keys unknown to the schema, and values that do not fit theirs."""


@attrs.define(frozen=True, kw_only=True, repr=False, weakref_slot=False)
class NewOrder(Model):
    """An order to be checked or placed.

    Section of the service document: Orders.
    """

    order_type: OrderType
    """How it finds its price."""

    time_in_force: TimeInForce
    """How long it stays working."""

    legs: tuple[NewOrderLeg, ...] = attrs.field(converter=as_tuple)
    """What is to be traded, one leg per instrument."""

    gtc_date: date | None = None
    """Last day on which it works; needed with, and only allowed with, time in force `GTD`."""

    stop_trigger: Decimal | None = None
    """Price that sets off a Stop or Stop Limit order, in dollars or points per unit."""

    price: Decimal | None = None
    """Limit price of a Limit or Stop Limit order, in dollars or points per unit, without sign."""

    price_effect: PriceEffect | None = None
    """`Debit` to pay the price, `Credit` to receive it."""

    value: Decimal | None = None
    """Money to be spent or raised by a Notional Market order, in dollars, without sign."""

    value_effect: PriceEffect | None = None
    """`Debit` to spend the value, `Credit` to raise it."""

    automated_source: bool | None = None
    """Whether a program decided on it rather than a person."""

    external_identifier: str | None = None
    """Identifier of your own, by which the order can be found again after an unknown outcome."""

    partition_key: str | None = None
    """Partition of the account that it belongs to."""

    preflight_id: str | None = None
    """Transient identifier of your own that ties preflight messages to the order."""

    source: str | None = None
    """Name of the program that sends it."""

    rules: NewOrderRules | None = None
    """Times and conditions that route or cancel it."""

    advanced_instructions: AdvancedInstructions | None = None
    """Stricter handling."""

    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=raw_object, hash=False)
    """Raw JSON by wire key that no field holds: keys unknown to the schema, and values that do not fit theirs."""


@attrs.define(frozen=True, kw_only=True, repr=False, weakref_slot=False)
class ComplexOrder(Model):
    """Several orders that depend on one another. In an OTO or OTOCO order the trigger order goes out at once and
    the others wait for its fill.

    Section of the service document: Complex order.
    """

    id: str | None = None
    """Identifier of the complex order itself."""

    account_number: str | None = None
    """Account that owns it."""

    type: ComplexOrderType | None = None
    """How its orders depend on one another."""

    ratio_price_comparator: Comparator | None = None
    """On which side of the threshold the price ratio sets it off; PAIRS only."""

    ratio_price_is_threshold_based_on_notional: bool | None = None
    """Whether the ratio is one of amounts of money rather than of prices; PAIRS only."""

    ratio_price_threshold: Decimal | None = None
    """Price ratio that sets it off; PAIRS only."""

    terminal_at: datetime | None = None
    """When it was finished."""

    related_orders: tuple[RelatedOrder, ...] | None = attrs.field(default=None, converter=as_optional_tuple)
    """Orders that belonged to it and were replaced or are finished."""

    orders: tuple[Order, ...] | None = attrs.field(default=None, converter=as_optional_tuple)
    """Its component orders."""

    trigger_order: Order | None = None
    """The order whose fill releases the others."""

    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=raw_object, hash=False)
    """Raw JSON by wire key that no field holds: keys unknown to the schema, and values that do not fit theirs."""


@attrs.define(frozen=True, kw_only=True, repr=False, weakref_slot=False)
class MarginDryRun(Model):
    """Margin of an account before and after a prospective order. Amounts are dollars without sign; the effects say
    which way.

    Section of the service document: Margin reports.
    """

    orders: tuple[Order, ...] | None = attrs.field(default=None, converter=as_optional_tuple)
    """The prospective orders, as they were understood. (Observed.)"""

    last_results: MarginDryRunResult | None = None
    """Margin as last computed, at the prices of that time."""

    base_results: MarginDryRunResult | None = None
    """Margin without the order, at present prices."""

    new_order_results: MarginDryRunResult | None = None
    """Margin with the order, at present prices."""

    change_in_margin_requirement: Decimal | None = None
    """Change of the margin requirement, in dollars."""

    change_in_margin_requirement_effect: PriceEffect | None = None
    """Direction of that change. (Observed.)"""

    change_in_buying_power: Decimal | None = None
    """Change of the buying power, in dollars."""

    change_in_buying_power_effect: PriceEffect | None = None
    """Direction of that change. (Observed.)"""

    current_buying_power: Decimal | None = None
    """Buying power before the order, in dollars."""

    current_buying_power_effect: PriceEffect | None = None
    """Sign of that amount. (Observed.)"""

    new_buying_power: Decimal | None = None
    """Buying power after the order, in dollars."""

    new_buying_power_effect: PriceEffect | None = None
    """Sign of that amount. (Observed.)"""

    isolated_order_margin_requirement: Decimal | None = None
    """Margin that the order would need on its own, in dollars. (Observed.)"""

    isolated_order_margin_requirement_effect: PriceEffect | None = None
    """Sign of that amount. (Observed.)"""

    is_spread: bool | None = None
    """Whether the order counts as a spread. (Observed.)"""

    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=raw_object, hash=False)
    """Raw JSON by wire key that no field holds: keys unknown to the schema, and values that do not fit theirs."""


@attrs.define(frozen=True, kw_only=True, repr=False, weakref_slot=False)
class MarginRequirements(Model):
    """What an account must hold as margin. Amounts are dollars without sign; the effects say which way.

    Section of the service document: Margin reports.
    """

    account_number: str | None = None
    """The account. (Observed.)"""

    description: str | None = None
    """Heading of the report, such as `Total`. (Observed.)"""

    margin_calculation_type: str | None = None
    """Rules that the margin follows, such as `Reg T`. (Observed.)"""

    option_level: str | None = None
    """What the account may trade in options, such as `No Restrictions`. (Observed.)"""

    margin_requirement: Decimal | None = None
    """Margin required, in dollars."""

    margin_requirement_effect: PriceEffect | None = None
    """Sign of that amount. (Observed.)"""

    initial_requirement: Decimal | None = None
    """Margin required to open the positions, in dollars. (Observed.)"""

    initial_requirement_effect: PriceEffect | None = None
    """Sign of that amount. (Observed.)"""

    maintenance_requirement: Decimal | None = None
    """Margin required to keep the positions, in dollars."""

    maintenance_requirement_effect: PriceEffect | None = None
    """Sign of that amount. (Observed.)"""

    margin_equity: Decimal | None = None
    """Equity that counts towards margin, in dollars."""

    margin_equity_effect: PriceEffect | None = None
    """Sign of that amount. (Observed.)"""

    option_buying_power: Decimal | None = None
    """Buying power for options, in dollars. (Observed.)"""

    option_buying_power_effect: PriceEffect | None = None
    """Sign of that amount. (Observed.)"""

    reg_t_margin_requirement: Decimal | None = None
    """Margin required under Regulation T, in dollars. (Observed.)"""

    reg_t_margin_requirement_effect: PriceEffect | None = None
    """Sign of that amount. (Observed.)"""

    reg_t_option_buying_power: Decimal | None = None
    """Buying power for options under Regulation T, in dollars. (Observed.)"""

    reg_t_option_buying_power_effect: PriceEffect | None = None
    """Sign of that amount. (Observed.)"""

    maintenance_excess: Decimal | None = None
    """Equity above what is required to keep the positions, in dollars."""

    maintenance_excess_effect: PriceEffect | None = None
    """Sign of that amount. (Observed.)"""

    groups: tuple[MarginGroup, ...] | None = attrs.field(default=None, converter=as_optional_tuple)
    """The report by underlying."""

    last_state_timestamp: datetime | None = None
    """State of the account that the report shows. (Observed.)"""

    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=raw_object, hash=False)
    """Raw JSON by wire key that no field holds: keys unknown to the schema, and values that do not fit theirs."""


@attrs.define(frozen=True, kw_only=True, repr=False, weakref_slot=False)
class PlacedOrderResponse(Model):
    """What an order does, or would do, to the account.

    Section of the service document: Placed-order response.
    """

    buying_power_effect: BuyingPowerEffect | None = None
    """What it does to margin and buying power."""

    closing_fee_calculation: str | None = None
    """Estimated fees of closing the position later; for information."""

    complex_order: ComplexOrder | None = None
    """The complex order, if it is one."""

    errors: tuple[PreflightMessage, ...] | None = attrs.field(default=None, converter=as_optional_tuple)
    """What makes it impossible."""

    fee_calculation: FeeCalculation | None = None
    """Fees and commission."""

    notes: tuple[PreflightMessage, ...] | None = attrs.field(default=None, converter=as_optional_tuple)
    """What is worth knowing."""

    order: Order | None = None
    """The order, if it is a simple one."""

    order_costs: str | None = None
    """Costs of the order."""

    warnings: tuple[PreflightMessage, ...] | None = attrs.field(default=None, converter=as_optional_tuple)
    """What would get it rejected once routed, or that the market is closed."""

    extra: Mapping[str, Any] = attrs.field(default=EMPTY, converter=raw_object, hash=False)
    """Raw JSON by wire key that no field holds: keys unknown to the schema, and values that do not fit theirs."""


__all__ = [
    "AdvancedInstructions",
    "AlertField",
    "AlertOperator",
    "BuyingPowerEffect",
    "Comparator",
    "ComplexOrder",
    "ComplexOrderType",
    "ContingentStatus",
    "CurrentMarketSession",
    "Dividend",
    "EarningsReport",
    "Equity",
    "EquityOption",
    "ErrorBody",
    "ErrorDetail",
    "FeeBreakdown",
    "FeeCalculation",
    "Fill",
    "FutureOption",
    "FutureOptionProduct",
    "GrantType",
    "HolidayCalendar",
    "InstrumentCollection",
    "InstrumentType",
    "LegAction",
    "Lendability",
    "MarginDryRun",
    "MarginDryRunResult",
    "MarginGroup",
    "MarginOrder",
    "MarginOrderLeg",
    "MarginPositionEntry",
    "MarginPositionGroup",
    "MarginRequirements",
    "MarketSession",
    "MarketState",
    "NewOrder",
    "NewOrderCondition",
    "NewOrderLeg",
    "NewOrderRules",
    "NewPriceComponent",
    "NewQuoteAlert",
    "NewWatchlist",
    "NewWatchlistEntry",
    "OptionType",
    "Order",
    "OrderCondition",
    "OrderEdit",
    "OrderLeg",
    "OrderRule",
    "OrderStatus",
    "OrderType",
    "Pagination",
    "PairsEdit",
    "PlacedOrderResponse",
    "PreflightMessage",
    "PriceComponent",
    "PriceEffect",
    "QuoteAlert",
    "RelatedOrder",
    "SortOrder",
    "TickSize",
    "TimeInForce",
    "TokenErrorBody",
    "TokenRequest",
    "TokenResponse",
    "Transaction",
    "TransactionLot",
    "Warrant",
    "Watchlist",
    "WatchlistEntry",
]
