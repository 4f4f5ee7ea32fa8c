# Written by `python -m codegen` from schema/; edit the schema and run it again, not this file.
# ruff: noqa: A002, RUF022
"""The endpoints of the service: one class per namespace, one method per operation, exactly what the wire offers."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal

from brokerage_async.operation import Executor, Pager

from .models import (
    Comparator,
    ComplexOrder,
    CurrentMarketSession,
    Dividend,
    EarningsReport,
    Equity,
    EquityOption,
    FutureOption,
    HolidayCalendar,
    InstrumentCollection,
    InstrumentType,
    LegAction,
    Lendability,
    MarginDryRun,
    MarginOrder,
    MarginRequirements,
    MarketSession,
    NewOrder,
    NewQuoteAlert,
    NewWatchlist,
    Order,
    OrderEdit,
    OrderStatus,
    PairsEdit,
    PlacedOrderResponse,
    QuoteAlert,
    SortOrder,
    Transaction,
    Warrant,
    Watchlist,
)
from .operations import (
    COMPLEX_ORDERS_EDIT_PAIRS,
    COMPLEX_ORDERS_GET,
    INSTRUMENTS_EQUITIES,
    INSTRUMENTS_EQUITY_OPTIONS,
    INSTRUMENTS_FUTURES_OPTION_CHAIN,
    INSTRUMENTS_WARRANT,
    MARGIN_DRY_RUN,
    MARGIN_REQUIREMENTS,
    MARKET_METRICS_DIVIDENDS,
    MARKET_METRICS_EARNINGS_REPORTS,
    MARKET_TIME_CURRENT_SESSIONS,
    MARKET_TIME_EQUITY_HOLIDAYS,
    MARKET_TIME_SESSIONS,
    ORDERS_CANCEL,
    ORDERS_DRY_RUN,
    ORDERS_EDIT,
    ORDERS_EDIT_DRY_RUN,
    ORDERS_LIST,
    ORDERS_LIST_LIVE,
    ORDERS_LIVE,
    ORDERS_REPLACE,
    ORDERS_SEARCH,
    ORDERS_SUBMIT,
    QUOTE_ALERTS_CANCEL,
    QUOTE_ALERTS_CREATE,
    QUOTE_ALERTS_LIST,
    TRANSACTIONS_LIST,
    WATCHLISTS_CREATE,
    WATCHLISTS_LIST,
)

__all__ = [
    "Endpoints",
    "MarketTime",
    "MarketMetrics",
    "Instruments",
    "Orders",
    "ComplexOrders",
    "Transactions",
    "Margin",
    "Watchlists",
    "QuoteAlerts",
]


class MarketTime:
    """Trading sessions and holidays."""

    __slots__ = ("_executor",)

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    async def sessions(
        self,
        to_date: date,
        *,
        from_date: date | None = None,
        instrument_collection: InstrumentCollection | str | None = None,
    ) -> list[MarketSession]:
        """List the trading sessions between two dates.

        One session per trading day; days without trading are left out. The two dates may lie at most nine months
        apart.

        Args:
            to_date: Last day of the range.
            from_date: First day of the range; the service picks one when it is left out.
            instrument_collection: Whose clock to follow; `Equity` when it is left out.

        Returns:
            The sessions, oldest first.

        Raises:
            errors.AuthenticationError: 401.
            errors.VersionNotSupportedError: 406.
            errors.UnprocessableError: 422.
            errors.RateLimitError: 429.
            errors.InvalidRequestError: the arguments break documented rules; nothing was sent.

        ``GET /market-time/sessions``; section of the service document: Market time.
        """
        call = MARKET_TIME_SESSIONS.bind(
            to_date=to_date, from_date=from_date, instrument_collection=instrument_collection
        )
        return await self._executor.execute(call)

    async def current_sessions(
        self, instrument_collections: Sequence[InstrumentCollection | str]
    ) -> list[CurrentMarketSession]:
        """Show the session of the moment, with the one before and the one after, for each instrument collection.

        The answer always is a list. Where the service sends one object instead of a list, the list has that one
        element.

        Args:
            instrument_collections: The collections wanted, at least one.

        Returns:
            The current session of each collection asked for.

        Raises:
            errors.AuthenticationError: 401.
            errors.VersionNotSupportedError: 406.
            errors.UnprocessableError: 422.
            errors.RateLimitError: 429.
            errors.ConfigurationError: an argument cannot be sent; nothing was sent.

        ``GET /market-time/sessions/current``; section of the service document: Market time.
        """
        call = MARKET_TIME_CURRENT_SESSIONS.bind(instrument_collections=instrument_collections)
        return await self._executor.execute(call)

    async def equity_holidays(self) -> HolidayCalendar:
        """Show the days on which the stock exchanges stay closed or close early.

        One calendar for all stock exchanges. Where the service wraps it into a list, the one item of that list is
        returned.

        Returns:
            The calendar.

        Raises:
            errors.AuthenticationError: 401.
            errors.VersionNotSupportedError: 406.
            errors.RateLimitError: 429.
            errors.ConfigurationError: an argument cannot be sent; nothing was sent.

        ``GET /market-time/equities/holidays``; section of the service document: Market time.
        """
        call = MARKET_TIME_EQUITY_HOLIDAYS.bind()
        return await self._executor.execute(call)


class MarketMetrics:
    """Past earnings and dividends."""

    __slots__ = ("_executor",)

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    async def earnings_reports(
        self, symbol: str, start_date: date, *, end_date: date | None = None
    ) -> list[EarningsReport]:
        """List the past earnings reports of one underlying.

        Reports between the first day asked for and today, or an earlier last day.

        Args:
            symbol: Symbol of the underlying, such as `AAPL` or `BRK/B`.
            start_date: First day of the range.
            end_date: Last day of the range; today when it is left out.

        Returns:
            The reports.

        Raises:
            errors.AuthenticationError: 401.
            errors.PermissionDeniedError: 403.
            errors.NotFoundError: 404.
            errors.VersionNotSupportedError: 406.
            errors.UnprocessableError: 422.
            errors.RateLimitError: 429.
            errors.ConfigurationError: an argument cannot be sent; nothing was sent.

        ``GET /market-metrics/historic-corporate-events/earnings-reports/{symbol}``; section of the service
        document: Market metrics.
        """
        call = MARKET_METRICS_EARNINGS_REPORTS.bind(symbol=symbol, start_date=start_date, end_date=end_date)
        return await self._executor.execute(call)

    async def dividends(self, symbol: str) -> list[Dividend]:
        """List the past dividends of one underlying.

        All dividends that the service knows; there is no range to ask for.

        Args:
            symbol: Symbol of the underlying, such as `AAPL` or `BRK/B`.

        Returns:
            The dividends.

        Raises:
            errors.AuthenticationError: 401.
            errors.PermissionDeniedError: 403.
            errors.NotFoundError: 404.
            errors.VersionNotSupportedError: 406.
            errors.RateLimitError: 429.
            errors.ConfigurationError: an argument cannot be sent; nothing was sent.

        ``GET /market-metrics/historic-corporate-events/dividends/{symbol}``; section of the service document:
        Market metrics.
        """
        call = MARKET_METRICS_DIVIDENDS.bind(symbol=symbol)
        return await self._executor.execute(call)


class Instruments:
    """What can be traded."""

    __slots__ = ("_executor",)

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    def equities(
        self,
        *,
        symbols: Sequence[str] | None = None,
        is_etf: bool | None = None,
        is_index: bool | None = None,
        lendability: Lendability | str | None = None,
        per_page: int | None = None,
        page_offset: int | None = None,
    ) -> Pager[Equity]:
        """List equities, all of them or those that match.

        Without a filter this is every stock, fund and index that the service knows, tens of thousands of them, page
        by page.

        Args:
            symbols: Only these symbols.
            is_etf: Only exchange-traded funds, or with false only the others.
            is_index: Only indices, or with false only the others.
            lendability: Only shares that are this easy to borrow.
            per_page: Items per page; the service picks a number when it is left out.
            page_offset: Number of the page to start from. The first page is 0, which is also what applies when it
                is left out.

        Returns:
            The pages of the list, fetched as they are used. One page of equities.

        Raises:
            errors.BadRequestError: 400.
            errors.AuthenticationError: 401.
            errors.VersionNotSupportedError: 406.
            errors.RateLimitError: 429.
            errors.ConfigurationError: an argument cannot be sent; nothing was sent.

        ``GET /instruments/equities``; section of the service document: Instruments.
        """
        call = INSTRUMENTS_EQUITIES.bind(
            symbols=symbols,
            is_etf=is_etf,
            is_index=is_index,
            lendability=lendability,
            per_page=per_page,
            page_offset=page_offset,
        )
        return self._executor.paginate(call)

    async def equity_options(
        self, *, symbols: Sequence[str] | None = None, active: bool | None = None, with_expired: bool | None = None
    ) -> list[EquityOption]:
        """List the equity options of the symbols asked for.

        Symbols are in OCC form, the root padded to six characters, such as `AAPL 260612C00110000`.

        Args:
            symbols: Only these OCC option symbols.
            active: With true, leave out flex options and options with non-standard terms.
            with_expired: With true, include options that have expired.

        Returns:
            The options found.

        Raises:
            errors.AuthenticationError: 401.
            errors.VersionNotSupportedError: 406.
            errors.RateLimitError: 429.
            errors.ConfigurationError: an argument cannot be sent; nothing was sent.

        ``GET /instruments/equity-options``; section of the service document: Instruments.
        """
        call = INSTRUMENTS_EQUITY_OPTIONS.bind(symbols=symbols, active=active, with_expired=with_expired)
        return await self._executor.execute(call)

    async def warrant(self, symbol: str) -> Warrant:
        """Look up one warrant.

        A symbol that is no warrant is answered with 404.

        Args:
            symbol: Symbol of the warrant.

        Returns:
            The warrant.

        Raises:
            errors.AuthenticationError: 401.
            errors.NotFoundError: 404.
            errors.VersionNotSupportedError: 406.
            errors.RateLimitError: 429.
            errors.ConfigurationError: an argument cannot be sent; nothing was sent.

        ``GET /instruments/warrants/{symbol}``; section of the service document: Instruments.
        """
        call = INSTRUMENTS_WARRANT.bind(symbol=symbol)
        return await self._executor.execute(call)

    async def futures_option_chain(self, symbol: str) -> list[FutureOption]:
        """List every option on the futures of one product.

        A flat list over all expirations and strikes. It is not paginated: for a busy product expect some 20,000
        options and tens of megabytes.

        Args:
            symbol: Product code of the future, such as `ES`, not the symbol of one contract.

        Returns:
            The options of the product.

        Raises:
            errors.AuthenticationError: 401.
            errors.NotFoundError: 404.
            errors.VersionNotSupportedError: 406.
            errors.RateLimitError: 429.
            errors.ConfigurationError: an argument cannot be sent; nothing was sent.

        ``GET /futures-option-chains/{symbol}``; section of the service document: Instruments.
        """
        call = INSTRUMENTS_FUTURES_OPTION_CHAIN.bind(symbol=symbol)
        return await self._executor.execute(call)


class Orders:
    """Checking, placing, changing, cancelling and listing orders."""

    __slots__ = ("_executor",)

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    def list(
        self,
        account_number: str,
        *,
        page_offset: int | None = None,
        per_page: int | None = None,
        sort: SortOrder | str | None = None,
        statuses: Sequence[OrderStatus | str] | None = None,
        start_date: date | None = None,
        end_date: date | None = None,
        start_at: datetime | None = None,
        end_at: datetime | None = None,
        underlying_symbol: str | None = None,
        underlying_instrument_type: InstrumentType | str | None = None,
        futures_symbol: str | None = None,
    ) -> Pager[Order]:
        """List the orders of one account.

        Orders of any age and status, page by page, newest first unless asked otherwise. With newer interface
        versions start-date or start-at is mandatory.

        Args:
            account_number: Number of the account, as printed on its statements.
            page_offset: Number of the page to start from. The first page is 0, which is also what applies when it
                is left out.
            per_page: Orders per page: 100 when it is left out, at most 200.
            sort: Order of the list: `Desc`, newest first, applies when it is left out.
            statuses: Only orders in one of these statuses.
            start_date: Only orders from this day on.
            end_date: Only orders up to this day. (Observed.)
            start_at: Only orders from this moment on. (Observed.)
            end_at: Only orders up to this moment. (Observed.)
            underlying_symbol: Only orders on this underlying.
            underlying_instrument_type: Only orders on underlyings of this kind. (Observed.)
            futures_symbol: Only orders on this future or on options on it. (Observed.)

        Returns:
            The pages of the list, fetched as they are used. One page of orders.

        Raises:
            errors.BadRequestError: 400.
            errors.AuthenticationError: 401.
            errors.PermissionDeniedError: 403.
            errors.NotFoundError: 404.
            errors.VersionNotSupportedError: 406.
            errors.RateLimitError: 429.
            errors.ConfigurationError: an argument cannot be sent; nothing was sent.

        ``GET /accounts/{account_number}/orders``; section of the service document: Orders.
        """
        call = ORDERS_LIST.bind(
            account_number=account_number,
            page_offset=page_offset,
            per_page=per_page,
            sort=sort,
            statuses=statuses,
            start_date=start_date,
            end_date=end_date,
            start_at=start_at,
            end_at=end_at,
            underlying_symbol=underlying_symbol,
            underlying_instrument_type=underlying_instrument_type,
            futures_symbol=futures_symbol,
        )
        return self._executor.paginate(call)

    async def submit(self, account_number: str, order: NewOrder) -> PlacedOrderResponse:
        """Place an order.

        Money moves. The service does not recognise a repeated order, so this is sent once and never again when it
        may have arrived: give the order an external-identifier and look for it in the lists when the outcome is
        unknown. Send the same body to the dry-run first; whatever it warns of would get the order rejected.

        Args:
            account_number: Number of the account, as printed on its statements.
            order: The NewOrder to send.

        Returns:
            The order as it was accepted, and what it does to the account.

        Raises:
            errors.AuthenticationError: 401.
            errors.PermissionDeniedError: 403.
            errors.VersionNotSupportedError: 406.
            errors.UnprocessableError: 422.
            errors.RateLimitError: 429.
            errors.InvalidRequestError: the arguments break documented rules; nothing was sent.
            errors.ResponseLostError: sent, but no answer came; it may have been done.

        ``POST /accounts/{account_number}/orders``; section of the service document: Orders.
        """
        call = ORDERS_SUBMIT.bind(account_number=account_number, body=order)
        return await self._executor.execute(call)

    def list_live(
        self,
        account_number: str,
        *,
        page_offset: int | None = None,
        per_page: int | None = None,
        sort: SortOrder | str | None = None,
        statuses: Sequence[OrderStatus | str] | None = None,
        start_date: date | None = None,
        end_date: date | None = None,
        start_at: datetime | None = None,
        end_at: datetime | None = None,
        underlying_symbol: str | None = None,
        underlying_instrument_type: InstrumentType | str | None = None,
        futures_symbol: str | None = None,
    ) -> Pager[Order]:
        """List the orders of one account that were active today.

        Every order created or changed during the present trading day, finished ones included. Asking for it in a
        tight loop can get the account suspended.

        Args:
            account_number: Number of the account, as printed on its statements.
            page_offset: Number of the page to start from. The first page is 0, which is also what applies when it
                is left out.
            per_page: Orders per page: 100 when it is left out, at most 200.
            sort: Order of the list: `Desc`, newest first, applies when it is left out.
            statuses: Only orders in one of these statuses.
            start_date: Only orders from this day on.
            end_date: Only orders up to this day. (Observed.)
            start_at: Only orders from this moment on. (Observed.)
            end_at: Only orders up to this moment. (Observed.)
            underlying_symbol: Only orders on this underlying.
            underlying_instrument_type: Only orders on underlyings of this kind. (Observed.)
            futures_symbol: Only orders on this future or on options on it. (Observed.)

        Returns:
            The pages of the list, fetched as they are used. One page of orders.

        Raises:
            errors.BadRequestError: 400.
            errors.AuthenticationError: 401.
            errors.PermissionDeniedError: 403.
            errors.NotFoundError: 404.
            errors.VersionNotSupportedError: 406.
            errors.RateLimitError: 429.
            errors.ConfigurationError: an argument cannot be sent; nothing was sent.

        ``GET /accounts/{account_number}/orders/live``; section of the service document: Orders.
        """
        call = ORDERS_LIST_LIVE.bind(
            account_number=account_number,
            page_offset=page_offset,
            per_page=per_page,
            sort=sort,
            statuses=statuses,
            start_date=start_date,
            end_date=end_date,
            start_at=start_at,
            end_at=end_at,
            underlying_symbol=underlying_symbol,
            underlying_instrument_type=underlying_instrument_type,
            futures_symbol=futures_symbol,
        )
        return self._executor.paginate(call)

    async def dry_run(self, account_number: str, order: NewOrder) -> PlacedOrderResponse:
        """Check an order without placing it.

        Says what the order would cost and what it would do to buying power. Nothing is routed. A warning in the
        answer means that the order would be rejected, or that the market is closed.

        Args:
            account_number: Number of the account, as printed on its statements.
            order: The NewOrder to send.

        Returns:
            The order as it would be placed, and what it would do to the account.

        Raises:
            errors.AuthenticationError: 401.
            errors.PermissionDeniedError: 403.
            errors.VersionNotSupportedError: 406.
            errors.UnprocessableError: 422.
            errors.RateLimitError: 429.
            errors.InvalidRequestError: the arguments break documented rules; nothing was sent.

        ``POST /accounts/{account_number}/orders/dry-run``; section of the service document: Orders.
        """
        call = ORDERS_DRY_RUN.bind(account_number=account_number, body=order)
        return await self._executor.execute(call)

    async def replace(self, account_number: str, id: int | str, edit: OrderEdit) -> Order:
        """Replace a working order by a new one.

        Only price, order type and time in force may differ. The answer is the new order with an identifier of its
        own; the old one points to it in replacing-order-id. A fill of the old order in the meantime stops the
        replacement.

        Args:
            account_number: Number of the account, as printed on its statements.
            id: Identifier of the order.
            edit: The OrderEdit to send.

        Returns:
            The new order.

        Raises:
            errors.AuthenticationError: 401.
            errors.PermissionDeniedError: 403.
            errors.NotFoundError: 404.
            errors.VersionNotSupportedError: 406.
            errors.UnprocessableError: 422.
            errors.RateLimitError: 429.
            errors.InvalidRequestError: the arguments break documented rules; nothing was sent.
            errors.ResponseLostError: sent, but no answer came; it may have been done.

        ``PUT /accounts/{account_number}/orders/{id}``; section of the service document: Orders. Observed on the
        wire; the service document does not describe it.
        """
        call = ORDERS_REPLACE.bind(account_number=account_number, id=id, body=edit)
        return await self._executor.execute(call)

    async def edit(self, account_number: str, id: int | str, edit: OrderEdit) -> Order:
        """Change price, order type or time in force of a working order.

        The answer is the order that takes the place of the edited one, with an identifier of its own; the old one
        points to it in replacing-order-id. A fill of the old order in the meantime stops the edit.

        Args:
            account_number: Number of the account, as printed on its statements.
            id: Identifier of the order.
            edit: The OrderEdit to send.

        Returns:
            The order after the edit.

        Raises:
            errors.AuthenticationError: 401.
            errors.PermissionDeniedError: 403.
            errors.NotFoundError: 404.
            errors.VersionNotSupportedError: 406.
            errors.UnprocessableError: 422.
            errors.RateLimitError: 429.
            errors.InvalidRequestError: the arguments break documented rules; nothing was sent.
            errors.ResponseLostError: sent, but no answer came; it may have been done.

        ``PATCH /accounts/{account_number}/orders/{id}``; section of the service document: Orders. Observed on the
        wire; the service document does not describe it.
        """
        call = ORDERS_EDIT.bind(account_number=account_number, id=id, body=edit)
        return await self._executor.execute(call)

    async def cancel(self, account_number: str, id: int | str) -> Order:
        """Ask for the cancellation of a working order.

        The answer usually has status `Cancel Requested`: until the exchange confirms, the order can still fill. An
        order that has not reached the exchange comes back `Cancelled` at once. A finished order is refused with the
        code cannot_update_order.

        Args:
            account_number: Number of the account, as printed on its statements.
            id: Identifier of the order.

        Returns:
            The order, its cancellation under way.

        Raises:
            errors.AuthenticationError: 401.
            errors.PermissionDeniedError: 403.
            errors.NotFoundError: 404.
            errors.VersionNotSupportedError: 406.
            errors.UnprocessableError: 422.
            errors.RateLimitError: 429.
            errors.ConfigurationError: an argument cannot be sent; nothing was sent.
            errors.ResponseLostError: sent, but no answer came; it may have been done.

        ``DELETE /accounts/{account_number}/orders/{id}``; section of the service document: Orders.
        """
        call = ORDERS_CANCEL.bind(account_number=account_number, id=id)
        return await self._executor.execute(call)

    async def edit_dry_run(self, account_number: str, id: int | str, edit: OrderEdit) -> PlacedOrderResponse:
        """Check a change of a working order without making it.

        Says what the changed order would do to the account. The working order stays as it is.

        Args:
            account_number: Number of the account, as printed on its statements.
            id: Identifier of the order.
            edit: The OrderEdit to send.

        Returns:
            The order as it would be after the change, and what that would do to the account.

        Raises:
            errors.AuthenticationError: 401.
            errors.PermissionDeniedError: 403.
            errors.NotFoundError: 404.
            errors.VersionNotSupportedError: 406.
            errors.UnprocessableError: 422.
            errors.RateLimitError: 429.
            errors.InvalidRequestError: the arguments break documented rules; nothing was sent.

        ``POST /accounts/{account_number}/orders/{id}/dry-run``; section of the service document: Orders.
        """
        call = ORDERS_EDIT_DRY_RUN.bind(account_number=account_number, id=id, body=edit)
        return await self._executor.execute(call)

    def search(
        self,
        customer_id: int | str,
        account_numbers: Sequence[str],
        *,
        page_offset: int | None = None,
        per_page: int | None = None,
        start_at: datetime | None = None,
        end_at: datetime | None = None,
        start_date: date | None = None,
        end_date: date | None = None,
        futures_symbol: str | None = None,
        sort: SortOrder | str | None = None,
        statuses: Sequence[OrderStatus | str] | None = None,
        underlying_instrument_type: InstrumentType | str | None = None,
        underlying_symbol: str | None = None,
    ) -> Pager[Order]:
        """Search the orders of a customer over several accounts.

        Orders of any age and status, page by page, newest first unless asked otherwise. With newer interface
        versions start-date or start-at is mandatory.

        Args:
            customer_id: Number of the customer. The text `me` has been seen to stand for the owner of the token.
            account_numbers: Accounts whose orders are wanted; all of them must belong to the customer.
            page_offset: Number of the page to start from. The first page is 0, which is also what applies when it
                is left out.
            per_page: Orders per page; the service picks a number when it is left out.
            start_at: Only orders from this moment on.
            end_at: Only orders up to this moment.
            start_date: Only orders from this day on.
            end_date: Only orders up to this day.
            futures_symbol: Only orders on this future or on options on it.
            sort: Order of the list: `Desc`, newest first, applies when it is left out.
            statuses: Only orders in one of these statuses.
            underlying_instrument_type: Only orders on underlyings of this kind.
            underlying_symbol: Only orders on this underlying.

        Returns:
            The pages of the list, fetched as they are used. One page of orders.

        Raises:
            errors.BadRequestError: 400.
            errors.AuthenticationError: 401.
            errors.PermissionDeniedError: 403.
            errors.NotFoundError: 404.
            errors.VersionNotSupportedError: 406.
            errors.RateLimitError: 429.
            errors.ConfigurationError: an argument cannot be sent; nothing was sent.

        ``GET /customers/{customer_id}/orders``; section of the service document: Orders.
        """
        call = ORDERS_SEARCH.bind(
            customer_id=customer_id,
            account_numbers=account_numbers,
            page_offset=page_offset,
            per_page=per_page,
            start_at=start_at,
            end_at=end_at,
            start_date=start_date,
            end_date=end_date,
            futures_symbol=futures_symbol,
            sort=sort,
            statuses=statuses,
            underlying_instrument_type=underlying_instrument_type,
            underlying_symbol=underlying_symbol,
        )
        return self._executor.paginate(call)

    async def live(
        self,
        customer_id: int | str,
        account_numbers: Sequence[str],
        *,
        page_offset: int | None = None,
        per_page: int | None = None,
    ) -> builtins.list[Order]:
        """List the orders of a customer that were active today, over several accounts.

        Every order created or changed during the present trading day, finished ones included. Newer interface
        versions deliver it in pages; they are gathered, so that the list is whole in any case. Asking for it in a
        tight loop can get the account suspended.

        Args:
            customer_id: Number of the customer. The text `me` has been seen to stand for the owner of the token.
            account_numbers: Accounts whose orders are wanted; all of them must belong to the customer.
            page_offset: Number of the page to start from, where the list comes in pages. The first page is 0.
                (Observed.)
            per_page: Orders per page, where the list comes in pages. (Observed.)

        Returns:
            The orders.

        Raises:
            errors.AuthenticationError: 401.
            errors.PermissionDeniedError: 403.
            errors.NotFoundError: 404.
            errors.VersionNotSupportedError: 406.
            errors.RateLimitError: 429.
            errors.ConfigurationError: an argument cannot be sent; nothing was sent.

        ``GET /customers/{customer_id}/orders/live``; section of the service document: Orders.
        """
        call = ORDERS_LIVE.bind(
            customer_id=customer_id, account_numbers=account_numbers, page_offset=page_offset, per_page=per_page
        )
        return await self._executor.execute(call)


class ComplexOrders:
    """Orders that depend on one another."""

    __slots__ = ("_executor",)

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    async def get(self, account_number: str, id: int | str) -> ComplexOrder:
        """Look up one complex order.

        Takes the identifier of the complex order itself, as found in complex-order-id of its component orders.

        Args:
            account_number: Number of the account, as printed on its statements.
            id: Identifier of the complex order itself, not of one of its component or trigger orders.

        Returns:
            The complex order with its component orders.

        Raises:
            errors.AuthenticationError: 401.
            errors.PermissionDeniedError: 403.
            errors.NotFoundError: 404.
            errors.VersionNotSupportedError: 406.
            errors.RateLimitError: 429.
            errors.ConfigurationError: an argument cannot be sent; nothing was sent.

        ``GET /accounts/{account_number}/complex-orders/{id}``; section of the service document: Orders.
        """
        call = COMPLEX_ORDERS_GET.bind(account_number=account_number, id=id)
        return await self._executor.execute(call)

    async def edit_pairs(
        self,
        account_number: str,
        id: int | str,
        *,
        ratio_price_comparator: Comparator | str | None = None,
        ratio_price_threshold: Decimal | None = None,
    ) -> PlacedOrderResponse:
        """Change the price ratio that sets off a PAIRS order.

        Works on PAIRS orders only, and only while they can be edited; anything else is refused with 422.

        Args:
            account_number: Number of the account, as printed on its statements.
            id: Identifier of the complex order itself, not of one of its component or trigger orders.
            ratio_price_comparator: On which side of the threshold the price ratio sets it off.
            ratio_price_threshold: Price ratio that sets it off.

        Returns:
            The complex order after the change, and what it does to the account.

        Raises:
            errors.AuthenticationError: 401.
            errors.PermissionDeniedError: 403.
            errors.NotFoundError: 404.
            errors.VersionNotSupportedError: 406.
            errors.UnprocessableError: 422.
            errors.RateLimitError: 429.
            errors.InvalidRequestError: the arguments break documented rules; nothing was sent.
            errors.ResponseLostError: sent, but no answer came; it may have been done.

        ``PATCH /accounts/{account_number}/complex-orders/{id}``; section of the service document: Orders.
        """
        call = COMPLEX_ORDERS_EDIT_PAIRS.bind(
            account_number=account_number,
            id=id,
            body=PairsEdit(
                ratio_price_comparator=Comparator(ratio_price_comparator)
                if isinstance(ratio_price_comparator, str)
                else ratio_price_comparator,
                ratio_price_threshold=ratio_price_threshold,
            ),
        )
        return await self._executor.execute(call)


class Transactions:
    """What happened in an account."""

    __slots__ = ("_executor",)

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    def list(
        self,
        account_number: str,
        *,
        page_offset: int | None = None,
        per_page: int | None = None,
        sort: SortOrder | str | None = None,
        start_date: date | None = None,
        end_date: date | None = None,
        start_at: datetime | None = None,
        end_at: datetime | None = None,
        symbol: str | None = None,
        underlying_symbol: str | None = None,
        instrument_type: InstrumentType | str | None = None,
        action: LegAction | str | None = None,
        type: str | None = None,
        types: Sequence[str] | None = None,
    ) -> Pager[Transaction]:
        """List the transactions of one account.

        Trades, fees, dividends, transfers and other movements, page by page, newest first unless asked otherwise.

        Args:
            account_number: Number of the account, as printed on its statements.
            page_offset: Number of the page to start from. The first page is 0, which is also what applies when it
                is left out.
            per_page: Transactions per page: 250 when it is left out, at most 2000.
            sort: Order of the list: `Desc`, newest first, applies when it is left out.
            start_date: Only transactions from this day on.
            end_date: Only transactions up to this day; up to now when it is left out.
            start_at: Only transactions from this moment on.
            end_at: Only transactions up to this moment.
            symbol: Only transactions in this instrument.
            underlying_symbol: Only transactions on this underlying.
            instrument_type: Only transactions in instruments of this kind.
            action: Only transactions of this action.
            type: Only transactions of this type, such as `Trade`; not together with types.
            types: Only transactions of one of these types; not together with type.

        Returns:
            The pages of the list, fetched as they are used. One page of transactions.

        Raises:
            errors.BadRequestError: 400.
            errors.AuthenticationError: 401.
            errors.PermissionDeniedError: 403.
            errors.NotFoundError: 404.
            errors.VersionNotSupportedError: 406.
            errors.RateLimitError: 429.
            errors.InvalidRequestError: the arguments break documented rules; nothing was sent.

        ``GET /accounts/{account_number}/transactions``; section of the service document: Transactions.
        """
        call = TRANSACTIONS_LIST.bind(
            account_number=account_number,
            page_offset=page_offset,
            per_page=per_page,
            sort=sort,
            start_date=start_date,
            end_date=end_date,
            start_at=start_at,
            end_at=end_at,
            symbol=symbol,
            underlying_symbol=underlying_symbol,
            instrument_type=instrument_type,
            action=action,
            type=type,
            types=types,
        )
        return self._executor.paginate(call)


class Margin:
    """Margin requirements and estimates, in production only."""

    __slots__ = ("_executor",)

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    async def dry_run(self, account_number: str, order: MarginOrder) -> MarginDryRun:
        """Estimate what an order would do to the margin of an account.

        Nothing is placed, and asking again is harmless. Offered in production only; elsewhere the account is
        unknown.

        Args:
            account_number: Number of the account, as printed on its statements.
            order: The MarginOrder to send.

        Returns:
            Margin before and after the order.

        Raises:
            errors.AuthenticationError: 401.
            errors.PermissionDeniedError: 403.
            errors.NotFoundError: 404.
            errors.VersionNotSupportedError: 406.
            errors.UnprocessableError: 422.
            errors.RateLimitError: 429.
            errors.InvalidRequestError: the arguments break documented rules; nothing was sent.

        ``POST /margin/accounts/{account_number}/dry-run``; section of the service document: Margin.
        """
        call = MARGIN_DRY_RUN.bind(account_number=account_number, body=order)
        return await self._executor.execute(call)

    async def requirements(self, account_number: str) -> MarginRequirements:
        """Show what an account must hold as margin, by underlying.

        Offered in production only; elsewhere the account is unknown.

        Args:
            account_number: Number of the account, as printed on its statements.

        Returns:
            The report.

        Raises:
            errors.AuthenticationError: 401.
            errors.PermissionDeniedError: 403.
            errors.NotFoundError: 404.
            errors.VersionNotSupportedError: 406.
            errors.RateLimitError: 429.
            errors.ConfigurationError: an argument cannot be sent; nothing was sent.

        ``GET /margin/accounts/{account_number}/requirements``; section of the service document: Margin.
        """
        call = MARGIN_REQUIREMENTS.bind(account_number=account_number)
        return await self._executor.execute(call)


class Watchlists:
    """Named lists of symbols."""

    __slots__ = ("_executor",)

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    async def create(self, watchlist: NewWatchlist) -> Watchlist:
        """Create a watchlist.

        The list belongs to the owner of the token.

        Args:
            watchlist: The NewWatchlist to send.

        Returns:
            The watchlist as it was created.

        Raises:
            errors.AuthenticationError: 401.
            errors.PermissionDeniedError: 403.
            errors.VersionNotSupportedError: 406.
            errors.UnprocessableError: 422.
            errors.RateLimitError: 429.
            errors.InvalidRequestError: the arguments break documented rules; nothing was sent.
            errors.ResponseLostError: sent, but no answer came; it may have been done.

        ``POST /watchlists``; section of the service document: Watchlists.
        """
        call = WATCHLISTS_CREATE.bind(body=watchlist)
        return await self._executor.execute(call)

    async def list(self) -> builtins.list[Watchlist]:
        """List the user's watchlists with all their entries.

        The lists of the owner of the token.

        Returns:
            The watchlists.

        Raises:
            errors.AuthenticationError: 401.
            errors.VersionNotSupportedError: 406.
            errors.RateLimitError: 429.
            errors.ConfigurationError: an argument cannot be sent; nothing was sent.

        ``GET /watchlists``; section of the service document: Watchlists.
        """
        call = WATCHLISTS_LIST.bind()
        return await self._executor.execute(call)


class QuoteAlerts:
    """Notices of quotes that cross a threshold."""

    __slots__ = ("_executor",)

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    async def list(self) -> builtins.list[QuoteAlert]:
        """List the user's quote alerts.

        The alerts of the owner of the token. Where the service sends one alert instead of a list, the list has that
        one element.

        Returns:
            The alerts.

        Raises:
            errors.AuthenticationError: 401.
            errors.VersionNotSupportedError: 406.
            errors.RateLimitError: 429.
            errors.ConfigurationError: an argument cannot be sent; nothing was sent.

        ``GET /quote-alerts``; section of the service document: Quote alerts.
        """
        call = QUOTE_ALERTS_LIST.bind()
        return await self._executor.execute(call)

    async def create(self, alert: NewQuoteAlert) -> QuoteAlert:
        """Create a quote alert.

        The alert belongs to the owner of the token and triggers once.

        Args:
            alert: The NewQuoteAlert to send.

        Returns:
            The alert as it was created.

        Raises:
            errors.AuthenticationError: 401.
            errors.PermissionDeniedError: 403.
            errors.VersionNotSupportedError: 406.
            errors.UnprocessableError: 422.
            errors.RateLimitError: 429.
            errors.InvalidRequestError: the arguments break documented rules; nothing was sent.
            errors.ResponseLostError: sent, but no answer came; it may have been done.

        ``POST /quote-alerts``; section of the service document: Quote alerts. Observed on the wire; the service
        document does not describe it.
        """
        call = QUOTE_ALERTS_CREATE.bind(body=alert)
        return await self._executor.execute(call)

    async def cancel(self, alert_external_id: str) -> None:
        """Cancel a quote alert.

        Cancelling an alert that is gone already changes nothing and is no error.

        Args:
            alert_external_id: Identifier of the alert, as in its alert-external-id.

        Raises:
            errors.AuthenticationError: 401.
            errors.PermissionDeniedError: 403.
            errors.VersionNotSupportedError: 406.
            errors.RateLimitError: 429.
            errors.ConfigurationError: an argument cannot be sent; nothing was sent.
            errors.ResponseLostError: sent, but no answer came; it may have been done.

        ``DELETE /quote-alerts/{alert_external_id}``; section of the service document: Quote alerts. Observed on the
        wire; the service document does not describe it.
        """
        call = QUOTE_ALERTS_CANCEL.bind(alert_external_id=alert_external_id)
        return await self._executor.execute(call)


class Endpoints:
    """All namespaces of endpoints over one executor."""

    def __init__(self, executor: Executor) -> None:
        self.market_time: MarketTime = MarketTime(executor)
        self.market_metrics: MarketMetrics = MarketMetrics(executor)
        self.instruments: Instruments = Instruments(executor)
        self.orders: Orders = Orders(executor)
        self.complex_orders: ComplexOrders = ComplexOrders(executor)
        self.transactions: Transactions = Transactions(executor)
        self.margin: Margin = Margin(executor)
        self.watchlists: Watchlists = Watchlists(executor)
        self.quote_alerts: QuoteAlerts = QuoteAlerts(executor)
