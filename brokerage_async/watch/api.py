"""The streams of one client: `Watch`, one method for each list that is worth watching."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from operator import attrgetter
from typing import Any, Generic, TypedDict, TypeVar, Unpack, cast
from weakref import WeakValueDictionary

import attrs

from .._arguments import check_flag, check_order_id, check_timeout, running_loop
from .._generated.endpoints import Endpoints
from .._generated.models import AccountBalance, InstrumentCollection, MarketSession, Order, Position, QuoteAlert
from .._generated.operations import BALANCES_LIST, ORDERS_LIST_LIVE, ORDERS_LIVE, ORDERS_SEARCH, POSITIONS_LIST
from ..errors import LIST_CHANGED, APIError, ConfigurationError, DeadlineExceededError, ResponseDecodeError
from ..http.session import Connected
from ..observers import PollStarted
from ..protocol.order_status import is_terminal
from ..protocol.streams.timing import Doorbell, Doorbells
from ..protocol.timetable import timetable_range
from ..protocol.validation.requests import check, is_array
from . import lists
from .diff import state_of
from .feed import Cursor, Feed, OnError, Pacing, Schedule, logger, utc_now
from .lists import FillReader, FillWatcher, Listing, LiveFilters, check_accounts, unless_only
from .market import MarketCursor, MarketHours, MarketWatcher, check_collection
from .poll import AccountsWatcher, Watcher
from .state import ItemCodec, OwnCodec, WatchState

T = TypeVar("T")
W = TypeVar("W", bound=Watcher[Any])

MIN_INTERVAL = 1.0  # seconds between polls of lists whose frequent polling the service does not accept
MAX_POLLS = 4  # accounts that are polled at the same time: the others wait for their turn


class WatchOptions(TypedDict, Generic[T], total=False):
    """Options that the watchers of all lists have.

    Attributes:
        interval: seconds between polls, or a pacing function such as `market_hours`. Default: 2 for orders, else 5.
        initial: whether the items of the first answer are reported as added. Default: True.
        seed: the items as known before (``watcher.snapshot`` of an earlier run, or its values). Only changes since
            then are reported.
        jitter: random delay of every poll, as a fraction (0 to 1) of the interval. Default: 0.
        min_interval: minimum interval in seconds, by default 1. The service may suspend clients that poll these lists
            too often.
        push: whether an event of the account stream causes a poll at once. See ``client.stream``. The polls at
            intervals go on, and they alone decide which changes are reported. While events rain, at most two early
            polls per second.
        on_error: called with every transient failure. Default: a logged warning.
        state: keeps the position of the consumer durably, such as `SqliteState`. After a restart the watcher goes on
            where its consumer stood. ``initial`` and ``seed`` count for an empty state only.
    """

    interval: float | Pacing
    initial: bool
    seed: Iterable[T] | Mapping[Any, T] | None
    jitter: float
    min_interval: float
    push: bool
    on_error: OnError | None
    state: WatchState | None


class OrderOptions(WatchOptions[Order], LiveFilters, total=False):
    """Options of a watcher of orders: `WatchOptions`, and the filters of ``orders.list_live``."""


class Watch:
    """The streams of one client. Watchers of the same list with the same schedule share its polls.

    Watchers of lists take the same keyword options: `WatchOptions`.

    Args:
        client: the client whose session makes the calls. Closing it ends every watcher with ConfigurationError.
        now: the clock of ``Change.at`` and of the market hours, by default the service's.
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
        self._now: Callable[[], datetime] = now or (lambda: client.session.service_now() or utc_now())
        self._is_told = now is not None
        self._feeds = WeakValueDictionary[Hashable, Feed[Any]]()
        self._polls = asyncio.Semaphore(MAX_POLLS)

    def now(self) -> datetime:
        """Return the time by the service's clock, or by this machine's until an answer has shown it.

        A warning is logged once if it is this machine's. `synchronise` asks the service first.
        """
        if not self._is_told and self._session.service_now() is None:
            self._is_told = True
            logger.warning(
                "the service has not shown its time yet: this machine's is used; `await watch.synchronise()`"
            )
        return self._now()

    async def synchronise(self) -> datetime:
        """Ask the service for its time, by the cheapest of its reads, and return it.

        Raises:
            BrokerageError: the read failed.
        """
        await self._endpoints.market_time.equity_holidays()
        return self._now()

    def orders(
        self, customer_id: int | str, account_numbers: Sequence[str], **options: Unpack[OrderOptions]
    ) -> Watcher[Order]:
        """Watch the orders of several accounts that work or are of today, keyed by order id.

        Each change has the order before and after it; `is_terminal` and `is_complete` say whether it is over, and
        shows all its fills::

            async with client.watch.orders("me", [account]) as changes:
                async for change in changes:
                    print(change.key, change.item.status, change.fields)

        The list holds the orders of the current trading day in any status, and older ones that still work. Orders that
        are over are removed from it when the next day begins. The last state of a terminal order is always reported
        before its removal, even to a slow consumer. A list that comes in pages is read again if it changes while it is
        read, and an order that one such reading lacks is removed only if the next one lacks it, too.

        Args:
            customer_id: the customer, or ``me``.
            account_numbers: the accounts.
            options: `WatchOptions`, and the filters of ``orders.list_live``, such as ``statuses`` and
                ``underlying_symbol``. An order is removed when it passes them no longer.

        Raises:
            InvalidRequestError, ConfigurationError: an argument is invalid.

        Raises (while iterating):
            PermissionDeniedError, NotFoundError: the customer or an account is not accessible.
            UnprocessableError: a filter is not valid.
            TokenError: the grant was revoked.
            ConfigurationError: the client was closed.
            WatchStateError: the state cannot be used, or belongs to another watcher.
        """
        given = cast("dict[str, Any]", options)
        filters: Any = {name: given.pop(name) for name in given.keys() - WatchOptions.__annotations__.keys()}
        listing = self._live(customer_id, account_numbers, filters)
        customer, accounts, narrowed = listing.arguments
        identity = {"customer_id": customer, "account_numbers": accounts, **{name: str(v) for name, v in narrowed}}
        return self._watch(Watcher, listing, identity, **{"interval": 2.0, **given})

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
        """Wait until one order is terminal and shows all its fills, and return it.

        It is followed on the list of today's orders, whose polls are shared with `orders`. An order that is not on it
        is looked up among the orders of the last 400 days. An order of several legs is `Filled` as soon as its first
        leg is, and the fills of the others come later: they are waited for. If they have not come within 30 seconds,
        the order is returned without them, and a warning is logged.

        An order that was replaced ends as ``Cancelled``, and its ``replacing_order_id`` names its replacement. With
        ``follow`` the replacement takes its place: its end is waited for, and returned. A replacement that a fill of
        the original has ended never worked: the original is returned.

        Args:
            customer_id: the customer, or ``me``.
            account_number: the account of the order.
            id: the order.
            follow: whether to wait for the end of its replacement, and so on.
            interval: as in `WatchOptions`.
            timeout: maximum seconds to wait, replacements included. None for no bound.
            min_interval: as in `WatchOptions`.
            push: as in `WatchOptions`.
            on_error: as in `WatchOptions`.

        Raises:
            DeadlineExceededError: the order was not terminal within ``timeout`` seconds.
            NotFoundError: several lookups did not find the order, such as one of a sandbox that was reset.
        """
        order_id = check_order_id("id", id)
        check_timeout("timeout", timeout)
        check_flag("follow", follow)
        schedule = Schedule(interval=interval, min_interval=min_interval)
        feed = self._feed(self._live(customer_id, (account_number,), {}), schedule, push)

        async def look_up(name: str) -> Order | None:
            since = (self._now() - lists.HISTORY).date()
            pager = self._endpoints.orders.search(customer_id, [account_number], start_date=since)
            async for order in pager:
                if order.id == name:
                    return order
            if pager.disagreement is not None:  # the order may have slipped by: look again
                raise ResponseDecodeError(pager.disagreement, operation=ORDERS_SEARCH.name, code=LIST_CHANGED)
            return None

        running_loop()  # raises where there is none
        limit = asyncio.timeout(timeout)
        try:
            async with limit:
                return await lists.until_terminal(feed, order_id, look_up, follow=follow, on_error=on_error)
        except TimeoutError:
            if not limit.expired():
                raise
            message = f"order {order_id} was not terminal within {timeout:g} s"
            raise DeadlineExceededError(message, maybe_processed=False, operation=ORDERS_LIVE.name) from None

    def fills(
        self,
        account_numbers: Sequence[str],
        *,
        interval: float | Pacing = 2.0,
        push: bool = False,
        state: WatchState | None = None,
        on_error: OnError | None = None,
    ) -> FillWatcher:
        """Watch the executions of several accounts: every `Fill` once, whichever program placed its order.

        Corrections and busts are fills of their own kind. A difference between the lists is a `Discrepancy`::

            async with client.watch.fills([account], push=True, state=SqliteState("fills.db")) as fills:
                async for fill in fills:
                    async with fill:  # acknowledged at the end of the block
                        print(fill.kind, fill.symbol)

        Fills come from the lists of orders, new ones of an order in the order of their times. A few seconds after the
        last one, and every minute, they are compared with transactions and positions. A fill that only transactions
        show is reported after 30 seconds. Reversed transactions are busts or corrections.

        Without a state, or with an empty one, it begins with now: the time of this call, by the service's clock. With a
        state it begins with the reports that are not acknowledged, and searches the orders since then. Fills are
        remembered while their order works and for 5 days after it, in which they may be corrected or busted.

        Args:
            account_numbers: the accounts. Each is polled on its own, see `positions`.
            interval: seconds between polls of the orders, or a pacing function such as `market_hours`.
            push: as in `WatchOptions`.
            state: as in `WatchOptions`.
            on_error: called with every transient failure. Default: a logged warning.

        Raises:
            InvalidRequestError, ConfigurationError: an argument is invalid, or no event loop is running.

        Raises (while iterating):
            as `orders` does. Transient failures to read positions or transactions do not delay the next fill.
        """
        accounts = check_accounts(account_numbers, ORDERS_LIST_LIVE)
        schedule, parts = Schedule(interval=interval, min_interval=MIN_INTERVAL), dict[str, Cursor[Any]]()
        called_at = None if self._session.service_time_is_stale() else self._session.service_now()
        for account in accounts:
            reader = FillReader(self._endpoints, account, self._now, self._session.on_event, called_at)
            parts[account] = reader.cursor = Cursor(self._feed(reader.listing, schedule, push))
        name, codec = self._identity("fills", accounts=sorted(accounts)), OwnCodec(lambda key: lists.FILL_TYPES[key[1]])
        return FillWatcher(parts, on_error=on_error, state=state, name=name, codec=codec)

    def quote_alerts(self, **options: Unpack[WatchOptions[QuoteAlert]]) -> Watcher[QuoteAlert]:
        """Watch the user's quote alerts, keyed by ``alert_external_id``.

        There is one change for each timestamp that was set, with its `AlertKind` (created, triggered, completed,
        expired, dismissed), ``changed`` if none was, and ``removed`` when an alert left the list. It takes
        `WatchOptions`, and raises what `orders` raises. A client cannot know the customer of a ``state``: use one for
        each.
        """
        alerts = Listing(
            name="quote_alerts", key=attrgetter("alert_external_id"), item_type=QuoteAlert, derive=lists.alert_changes,
            events=frozenset({"QuoteAlert"}), read=lambda api: api.quote_alerts.list(),
        )  # fmt: skip
        return self._watch(Watcher, alerts, {}, **options)

    def positions(
        self, account_numbers: Sequence[str], *, include_marks: bool = False, **options: Unpack[WatchOptions[Position]]
    ) -> AccountsWatcher[Position]:
        """Watch the positions of several accounts, keyed by `PositionKey`.

        A position that is closed leaves the list: its change is ``removed``, with the position ``before``. The service
        merges positions in the same instrument (``net_positions``), so each has one key. A new ``updated_at`` alone is
        not reported. With ``include_marks`` positions have ``mark`` and ``mark_price``: then nearly every poll is a
        change of every position, and the answers are slower.

        Each account is polled on its own. One that is denied or unknown is given up, and stands in ``watcher.failed``,
        while the others go on. The iteration ends with the error of the last one. It takes
        `WatchOptions`, and raises what `orders` raises.
        """
        marks: Any = {"include_marks": True} if check_flag("include_marks", include_marks) else {}
        positions = Listing(
            name="marked positions" if include_marks else "positions", key=lists.PositionKey.of, item_type=Position,
            read=lambda api, account: api.positions.list(account, net_positions=True, **marks),
            events=frozenset({"CurrentPosition"}), derive=unless_only("updated_at"),
        )  # fmt: skip
        accounts = check_accounts(account_numbers, POSITIONS_LIST)
        return self._watch(AccountsWatcher, positions, {"accounts": sorted(accounts)}, accounts, **options)

    def balances(
        self, account_numbers: Sequence[str], **options: Unpack[WatchOptions[AccountBalance]]
    ) -> AccountsWatcher[AccountBalance]:
        """Watch the balances of several accounts, keyed by `BalanceKey`.

        With open positions nearly every poll in market hours is a change, because values and buying power follow the
        prices. ``change.fields`` names the figures that differ. New ``updated_at`` and ``snapshot_date`` alone are not
        reported. Accounts, options and errors are as for `positions`.
        """
        balances = Listing(
            name="balances", key=lists.BalanceKey.of, item_type=AccountBalance, events=frozenset({"AccountBalance"}),
            read=lambda api, account: api.balances.list(account), derive=unless_only("updated_at", "snapshot_date"),
        )  # fmt: skip
        accounts = check_accounts(account_numbers, BALANCES_LIST)
        return self._watch(AccountsWatcher, balances, {"accounts": sorted(accounts)}, accounts, **options)

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
        read every ``interval`` seconds. In between the watcher sleeps until the next boundary.

        Args:
            instrument_collection: ``Equity``, ``CME`` or ``CFE``.
            interval: seconds between two reads of the timetable.
            extended: whether to report the extended hours, too.
            initial: whether to begin with the last boundary that has passed, which gives the current state.
            on_error: as in `WatchOptions`.
            state: as in `WatchOptions`. Boundaries of the last 7 days that were missed are reported.
        """
        collection = check_collection(instrument_collection)
        timetable: Listing[MarketSession] = Listing(
            name="timetable", key=attrgetter("session_date"), read=self._sessions, arguments=(collection,)
        )
        cursor = MarketCursor(
            self._feed(timetable, Schedule(interval=interval)), now=self._now,
            is_stale=self._session.service_time_is_stale, extended=extended, initial=initial,
        )  # fmt: skip
        name = self._identity("market", instrument_collection=collection, extended=extended)
        return MarketWatcher(cursor, on_error=on_error, state=state, name=name)

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
        read = partial(self._sessions, self._endpoints, check_collection(instrument_collection))
        return MarketHours(read, trading=trading, resting=resting, extended=extended, now=self._now)

    async def _sessions(self, api: Endpoints, collection: str) -> list[MarketSession]:
        """Read the timetable around today, and again if the answer shows that the service has another date."""
        first, last = asked = timetable_range(self._now())
        try:
            sessions = await api.market_time.sessions(last, from_date=first, instrument_collection=collection)
        except APIError:
            if timetable_range(self._now()) == asked:
                raise
        else:
            if timetable_range(self._now()) == asked:
                return sessions
        first, last = timetable_range(self._now())
        again = self._endpoints.market_time  # an answer equal to the previous one counts as well
        return await again.sessions(last, from_date=first, instrument_collection=collection)

    def _watch(
        self,
        make: Callable[..., W],
        listing: Listing[T],
        identity: Mapping[str, Any],
        parts: Sequence[str] = ("",),
        *,
        interval: float | Pacing = 5.0,
        initial: bool = True,
        seed: Iterable[T] | Mapping[Any, T] | None = None,
        jitter: float = 0.0,
        min_interval: float = MIN_INTERVAL,
        push: bool = False,
        on_error: OnError | None = None,
        state: WatchState | None = None,
    ) -> W:
        """Return the watcher of a list, which each account of ``parts`` has, with keys that begin with it."""

        async def read_in_turn(api: Endpoints, account: str) -> Any:
            async with self._polls:
                return await listing.read(api, account)

        schedule = Schedule(interval=interval, min_interval=min_interval, jitter=jitter)
        known, cursors = state_of(seed, listing.key), dict[str, Cursor[T]]()
        for part in parts:
            own, read = known, listing
            if part:
                own = known and {key: each for key, each in known.items() if key[0] == part}
                read = attrs.evolve(listing, read=read_in_turn, arguments=(part,), accounts=(part,))
            cursors[part] = Cursor(self._feed(read, schedule, push), initial=initial, seed=own)
        return make(
            cursors, on_error=on_error, state=state, name=self._identity(listing.name, **identity),
            codec=ItemCodec(listing.key, listing.item_type),
        )  # fmt: skip

    def _live(self, customer_id: int | str, account_numbers: Iterable[str], filters: LiveFilters) -> Listing[Order]:
        """Return the list of the orders that work or are of today."""
        call = ORDERS_LIVE.bind(customer_id=customer_id, account_numbers=account_numbers, **filters)
        check(ORDERS_LIVE, call.path, call.query, None)
        accounts = tuple(sorted(set[str](account_numbers)))
        given = tuple(
            (name, tuple(sorted(map(str, value))) if is_array(value) else value)
            for name, value in sorted(filters.items())
            if value is not None
        )
        return Listing(
            name="orders", key=attrgetter("id"), item_type=Order, events=lists.ORDER_EVENTS, keep=is_terminal,
            read=lambda api, customer_id, accounts, filters: api.orders.live(customer_id, accounts, **dict(filters)),
            arguments=(str(customer_id), accounts, given), accounts=accounts,
        )  # fmt: skip

    def _feed(self, listing: Listing[T], schedule: Schedule, push: bool = False) -> Feed[T]:
        """Return the running feed of a list with this schedule, or a new one. Those that push are apart."""
        doorbell: Doorbell | None = None
        if check_flag("push", push):
            if self._doorbells is None:
                raise ConfigurationError("push must be False: this Watch was made without the streams of a client")
            doorbell = self._doorbells().doorbell(listing.accounts, listing.events)
        place = (listing.name, listing.arguments, schedule, push)
        feed: Feed[T] | None = self._feeds.get(place)
        if feed is None or feed.ended:
            api = Endpoints(lists.ConditionalExecutor(self._session))
            label, observe = listing.name, self._session.on_event
            feed = Feed(
                partial(listing.read, api, *listing.arguments), key=listing.key, schedule=schedule, now=self._now,
                on_poll=lambda lateness: observe(PollStarted(watcher=label, lateness=lateness)), doorbell=doorbell,
                has_news=listing.has_news, derive=listing.derive, keep=listing.keep,
            )  # fmt: skip
            self._feeds[place] = feed
            self._session.close_with_client(feed)
        return feed

    def _identity(self, name: str, **filters: Any) -> str:
        """Return the identity of a list for a durable state: service, environment, name and filters."""
        service = self._session.environment
        return json.dumps({"watch": name, "origin": service.origin, "environment": service.name, **filters})
