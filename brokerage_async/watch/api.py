"""The streams of one client: `Watch`, one method for each list that is worth watching."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from operator import attrgetter
from typing import Any, TypeVar, Unpack

from .._arguments import check_flag, check_order_id, check_timeout, running_loop
from .._generated.endpoints import Endpoints
from .._generated.models import AccountBalance, InstrumentCollection, MarketSession, Order, Position, QuoteAlert
from .._generated.operations import ORDERS_LIVE, ORDERS_SEARCH
from ..errors import LIST_CHANGED, ConfigurationError, ResponseDecodeError
from ..protocol.validation.requests import check, is_array
from .accounts import BALANCES, MARKED_POSITIONS, POSITIONS, AccountsWatcher, AccountWatches
from .alerts import AlertKind, alert_changes
from .codec import ItemCodec
from .diff import ChangeKind, state_of
from .doorbell import ALERT_EVENTS, BALANCE_EVENTS, ORDER_EVENTS, POSITION_EVENTS, Doorbell, Doorbells
from .feed import Feed, utc_now
from .feeds import Connected, Feeds, WatchedSession
from .ledger import Ledger
from .market_hours import MarketHours
from .orders import HISTORY, LiveFilters, is_terminal, terminal_within
from .poll import Watcher
from .schedule import Pacing, Schedule
from .state import WatchState
from .timetable import Timetables

__all__ = ["Watch"]

T = TypeVar("T")

OnError = Callable[[Exception], None]

MIN_INTERVAL = 1.0
"""Minimum interval in seconds of lists whose frequent polling the service does not accept."""

ORDER_KEY = attrgetter("id")
ALERT_KEY = attrgetter("alert_external_id")


class Watch:
    """The streams of one client. Watchers of the same list with the same schedule share its polls.

    Args:
        client: the client whose session makes the calls; closing it ends every watcher with ConfigurationError.
        now: the clock of ``Change.at`` and of the market hours; by default that of the service.
        doorbells: returns the source of events for ``push``.
    """

    def __init__(
        self,
        client: Connected,
        *,
        now: Callable[[], datetime] | None = None,
        doorbells: Callable[[], Doorbells] | None = None,
    ) -> None:
        self._doorbells = doorbells
        self._session = client.session
        self._endpoints = Endpoints(client.session)
        self._now: Callable[[], datetime] = now or partial(_time_of, client.session)
        self._feeds = Feeds(client.session, self._now)
        self._accounts = AccountWatches(self._feeds)
        self._timetables = Timetables(client.session, self._feeds, self._now)

    def now(self) -> datetime:
        """Return the time by the service's clock; by this machine's until an answer has shown it."""
        return self._now()

    def orders(
        self,
        customer_id: int | str,
        account_numbers: Sequence[str],
        *,
        interval: float | Pacing = 2.0,
        initial: bool = True,
        seed: Iterable[Order] | Mapping[Any, Order] | None = None,
        jitter: float = 0.0,
        min_interval: float = MIN_INTERVAL,
        push: bool = False,
        on_error: OnError | None = None,
        state: WatchState | None = None,
        **filters: Unpack[LiveFilters],
    ) -> Watcher[Order]:
        """Watch the orders of several accounts that work or are of today, keyed by order id.

        Each change has the order before and after it::

            async for change in client.watch.orders("me", [account]):
                print(change.key, change.item.status, change.fields)

        The list holds the orders of the current trading day in any status, and older ones that still work. Orders that
        are over are removed from it when the next day begins. The last state of a terminal order is always reported
        before its removal, even to a slow consumer. A list that comes in pages is read again if it changes while it is
        read, and an order that one such reading lacks is removed only if the next one lacks it, too.

        Args:
            customer_id: the customer, or ``me``.
            account_numbers: the accounts.
            interval: seconds between polls, or a pacing function such as `market_hours`.
            initial: whether the orders of the first answer are reported as added.
            seed: the orders as known before (``watcher.snapshot`` of an earlier run, or its values); only changes
                since then are reported.
            jitter: random delay of every poll, as a fraction (0 to 1) of the interval.
            min_interval: minimum interval in seconds; the service may suspend clients that poll this list too often.
            push: whether an event of the account stream causes a poll at once; see ``client.stream``. The polls at
                intervals go on, and decide alone what is reported. While events rain, at most two early polls
                per second.
            on_error: called with every transient failure. Default: a logged warning.
            state: keeps the position of the consumer durably, such as `SqliteState`. After a restart the watcher goes
                on where its consumer stood; ``initial`` and ``seed`` count for an empty state only.
            filters: those of ``orders.list_live``, such as ``statuses`` and ``underlying_symbol``. An order is removed
                when it passes them no longer.

        Raises:
            InvalidRequestError, ConfigurationError: an argument is invalid.

        Raises (while iterating):
            PermissionDeniedError, NotFoundError: the customer or an account is not accessible.
            TokenError: the grant was revoked.
            ConfigurationError: the client was closed.
            WatchStateError: the state cannot be used, or belongs to another watcher.
        """
        schedule = Schedule(interval=interval, min_interval=min_interval, jitter=jitter)
        feed = self._orders(customer_id, account_numbers, schedule, push=push, **filters)
        ledger = None
        if state is not None:
            accounts = sorted(set[str](account_numbers))
            named = {name: str(value) for name, value in _given(filters)}
            name = self._feeds.identity("orders", customer_id=str(customer_id), account_numbers=accounts, **named)
            ledger = Ledger(state, name, ItemCodec(ORDER_KEY, Order))
        known = state_of(seed, ORDER_KEY)
        return Watcher(feed, initial=initial, seed=known, on_error=on_error, keep=is_terminal, ledger=ledger)

    async def order(
        self,
        customer_id: int | str,
        account_number: str,
        id: int | str,  # noqa: A002 - the service's own name
        *,
        follow: bool = False,
        interval: float | Pacing = 2.0,
        timeout: float | None = None,
        min_interval: float = MIN_INTERVAL,
        push: bool = False,
        on_error: OnError | None = None,
    ) -> Order:
        """Wait until one order is terminal, and return it.

        It is followed on the list of today's orders, whose polls are shared with `orders`; an order that is not on it
        is looked up among those of the last 400 days. An order that was replaced ends as ``Cancelled``, and its
        ``replacing_order_id`` names its replacement. With ``follow`` the replacement takes its place: its end is waited
        for, and returned.

        Args:
            customer_id: the customer, or ``me``.
            account_number: the account of the order.
            id: the order.
            follow: whether to wait for the end of its replacement, and so on.
            interval: seconds between polls, or a pacing function such as `market_hours`.
            timeout: maximum seconds to wait, replacements included; None for no bound.
            min_interval: minimum interval in seconds; the service may suspend clients that poll this list too often.
            push: whether an event of the account stream causes a poll at once; see ``client.stream``. The polls at
                intervals go on, and decide alone what is reported. While events rain, at most two early polls
                per second.
            on_error: called with every transient failure. Default: a logged warning.

        Raises:
            DeadlineExceededError: the order was not terminal within ``timeout`` seconds.
            NotFoundError: several lookups did not find the order, such as one of a sandbox that was reset.
        """
        order_id = check_order_id("id", id)
        check_timeout("timeout", timeout)
        check_flag("follow", follow)
        schedule = Schedule(interval=interval, min_interval=min_interval)
        feed = self._orders(customer_id, (account_number,), schedule, push=push)

        async def look_up(name: str) -> Order | None:
            since = (self._now() - HISTORY).date()
            pager = self._endpoints.orders.search(customer_id, [account_number], start_date=since)
            async for order in pager:
                if order.id == name:
                    return order
            if pager.disagreement is not None:  # the order may have slipped by: look again
                raise ResponseDecodeError(pager.disagreement, operation=ORDERS_SEARCH.name, code=LIST_CHANGED)
            return None

        running_loop()  # raises where there is none
        return await terminal_within(timeout, feed, order_id, look_up, follow=follow, on_error=on_error)

    def quote_alerts(
        self,
        *,
        interval: float | Pacing = 5.0,
        initial: bool = True,
        seed: Iterable[QuoteAlert] | Mapping[Any, QuoteAlert] | None = None,
        jitter: float = 0.0,
        min_interval: float = MIN_INTERVAL,
        push: bool = False,
        on_error: OnError | None = None,
        state: WatchState | None = None,
    ) -> Watcher[QuoteAlert]:
        """Watch the user's quote alerts, keyed by ``alert_external_id``.

        Kinds are those of `AlertKind` (created, triggered, completed, expired, dismissed), one change for each
        timestamp that was set; ``changed`` if none was, ``removed`` when an alert left the list. Arguments and errors
        are those of `orders`. A client cannot know the customer of a ``state``: use one for each.
        """
        schedule = Schedule(interval=interval, min_interval=min_interval, jitter=jitter)
        bell = self._bell(None, ALERT_EVENTS, push=push)
        feed = self._feeds.get("quote_alerts", schedule, lambda api: api.quote_alerts.list(), ALERT_KEY, bell)
        ledger = None
        if state is not None:
            codec = ItemCodec(ALERT_KEY, QuoteAlert, (ChangeKind, AlertKind))
            ledger = Ledger(state, self._feeds.identity("quote_alerts"), codec)
        known = state_of(seed, ALERT_KEY)
        return Watcher(feed, initial=initial, seed=known, on_error=on_error, derive=alert_changes, ledger=ledger)

    def positions(
        self,
        account_numbers: Sequence[str],
        *,
        include_marks: bool = False,
        interval: float | Pacing = 5.0,
        initial: bool = True,
        seed: Iterable[Position] | Mapping[Any, Position] | None = None,
        jitter: float = 0.0,
        min_interval: float = MIN_INTERVAL,
        push: bool = False,
        on_error: OnError | None = None,
        state: WatchState | None = None,
    ) -> AccountsWatcher[Position]:
        """Watch the positions of several accounts, keyed by `PositionKey`.

        A position that is closed leaves the list: its change is ``removed``, with the position ``before``. The service
        merges positions in the same instrument (``net_positions``), so each has one key. A new ``updated_at`` alone is
        not reported. With ``include_marks`` positions have ``mark`` and ``mark_price``: then nearly every poll is a
        change of every position, and the answers are slower.

        Each account is polled on its own. One that is denied or unknown is given up, and stands in ``watcher.failed``,
        while the others go on; the iteration ends with the error of the last one. Other arguments and errors are those
        of `orders`.
        """
        listing = MARKED_POSITIONS if check_flag("include_marks", include_marks) else POSITIONS
        schedule = Schedule(interval=interval, min_interval=min_interval, jitter=jitter)
        return self._accounts.watch(
            account_numbers, listing, schedule, initial=initial, seed=seed, on_error=on_error, state=state,
            doorbell=lambda account: self._bell((account,), POSITION_EVENTS, push=push),
        )  # fmt: skip

    def balances(
        self,
        account_numbers: Sequence[str],
        *,
        interval: float | Pacing = 5.0,
        initial: bool = True,
        seed: Iterable[AccountBalance] | Mapping[Any, AccountBalance] | None = None,
        jitter: float = 0.0,
        min_interval: float = MIN_INTERVAL,
        push: bool = False,
        on_error: OnError | None = None,
        state: WatchState | None = None,
    ) -> AccountsWatcher[AccountBalance]:
        """Watch the balances of several accounts, keyed by `BalanceKey`.

        With open positions nearly every poll in market hours is a change, because values and buying power follow the
        prices; ``change.fields`` names the figures that differ. New ``updated_at`` and ``snapshot_date`` alone are not
        reported. Accounts, other arguments and errors are those of `positions`.
        """
        schedule = Schedule(interval=interval, min_interval=min_interval, jitter=jitter)
        return self._accounts.watch(
            account_numbers, BALANCES, schedule, initial=initial, seed=seed, on_error=on_error, state=state,
            doorbell=lambda account: self._bell((account,), BALANCE_EVENTS, push=push),
        )  # fmt: skip

    def market(
        self,
        instrument_collection: InstrumentCollection | str = InstrumentCollection.EQUITY,
        *,
        interval: float = 3600.0,
        extended: bool = False,
        initial: bool = False,
        on_error: OnError | None = None,
        state: WatchState | None = None,
    ) -> Watcher[MarketSession]:
        """Watch the sessions of a market, keyed by trading day.

        Kinds are ``opened`` (``after`` is the session) and ``closed`` (``before`` is the session), with ``extended``
        also ``started`` and ``ended`` of the hours around it. ``at`` is the time in the timetable. The timetable is
        read every ``interval`` seconds; in between the watcher sleeps until the next boundary.

        Args:
            instrument_collection: ``Equity``, ``CME`` or ``CFE``.
            interval: seconds between two reads of the timetable.
            extended: whether to report the extended hours, too.
            initial: whether to begin with the last boundary that has passed, which gives the current state.
            on_error: called with every transient failure. Default: a logged warning.
            state: as for `orders`; boundaries of the last 7 days that were missed are reported.
        """
        return self._timetables.watch(
            instrument_collection, Schedule(interval=interval),
            extended=extended, initial=initial, on_error=on_error, state=state,
        )  # fmt: skip

    def market_hours(
        self,
        instrument_collection: InstrumentCollection | str = InstrumentCollection.EQUITY,
        *,
        trading: float,
        resting: float = 60.0,
        extended: bool = False,
    ) -> MarketHours:
        """Return a pacing function that follows the market hours.

        Polls come every ``trading`` seconds in market hours, every ``resting`` seconds outside of them::

            pace = client.watch.market_hours(trading=1, resting=300)
            client.watch.orders("me", [account], interval=pace)
            poll(fetch, key=key, interval=pace)

        The first poll after an opening comes right at it. ``extended`` counts the hours around the session as well.
        """
        return self._timetables.hours(instrument_collection, trading=trading, resting=resting, extended=extended)

    def _bell(self, account_numbers: Iterable[str] | None, events: frozenset[str], *, push: bool) -> Doorbell | None:
        """Return the doorbell of some accounts, None without ``push``."""
        if not check_flag("push", push):
            return None
        if self._doorbells is None:
            raise ConfigurationError("push must be False: this Watch was made without the streams of a client")
        return self._doorbells().doorbell(account_numbers, events)

    def _orders(
        self,
        customer_id: int | str,
        account_numbers: Iterable[str],
        schedule: Schedule,
        *,
        push: bool,
        **filters: Unpack[LiveFilters],
    ) -> Feed[Order]:
        call = ORDERS_LIVE.bind(customer_id=customer_id, account_numbers=account_numbers, **filters)
        check(ORDERS_LIVE, call.path, call.query, None)
        accounts = tuple(sorted(set[str](account_numbers)))
        name = ("orders", str(customer_id), accounts, _given(filters))
        bell = self._bell(accounts, ORDER_EVENTS, push=push)
        return self._feeds.get(
            name, schedule, lambda api: api.orders.live(customer_id, accounts, **filters), ORDER_KEY, bell
        )


def _given(filters: LiveFilters) -> tuple[tuple[str, object], ...]:
    """Return the filters that are given, in a form that can be compared."""
    return tuple(
        (name, tuple(sorted(map(str, value))) if is_array(value) else value)
        for name, value in sorted(filters.items())
        if value is not None
    )


def _time_of(session: WatchedSession) -> datetime:
    return session.service_now() or utc_now()
