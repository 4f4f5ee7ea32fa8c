"""Watching what the service does not push: orders, quote alerts and market hours as streams of changes.

``client.watch`` is a `Watch`; `poll` does the same for any coroutine that returns a collection.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Protocol, TypeVar
from weakref import WeakValueDictionary

from .._arguments import check_seconds
from .._generated.endpoints import Endpoints
from .._generated.models import InstrumentCollection, MarketSession, Order, QuoteAlert
from .._generated.operations import ORDERS_LIVE
from ..errors import DeadlineExceededError, InvalidRequestError
from ..operation import Executor
from ..protocol.validation.requests import check
from .diff import AlertKind, Change, ChangeKind, MarketKind, alert_changes, state_of
from .market_hours import MarketHours, timetable_range
from .market_sessions import MarketWatcher
from .order_life import is_terminal, until_terminal
from .poll import UNCHANGED, Feed, Watcher, poll, utc_now
from .schedule import Cadence, Pacing
from .unchanged import unless_same

__all__ = [
    "UNCHANGED",
    "AlertKind",
    "Change",
    "ChangeKind",
    "MarketHours",
    "MarketKind",
    "Watch",
    "Watcher",
    "is_terminal",
    "poll",
]

T = TypeVar("T")

OnError = Callable[[Exception], None]

FLOOR = 1.0
"""Least interval in seconds of a list that the service does not want to be polled hard."""

HISTORY = timedelta(days=400)
"""How far back an order is looked up."""


class Watch:
    """The streams of one client. Those that watch the same list at the same interval share its polls.

    Args:
        client: whose session makes the calls.
        now: the clock for ``Change.at`` and for the hours of the market.
    """

    def __init__(self, client: Connected, *, now: Callable[[], datetime] = utc_now) -> None:
        self._executor = client.session
        self._endpoints = Endpoints(client.session)
        self._now = now
        self._feeds: WeakValueDictionary[Hashable, Feed[Any]] = WeakValueDictionary()

    def orders(
        self,
        customer_id: int | str,
        account_numbers: Sequence[str],
        *,
        interval: float | Pacing = 2.0,
        initial: bool = True,
        seed: Iterable[Order] | Mapping[Any, Order] | None = None,
        jitter: float = 0.0,
        floor: float = FLOOR,
        on_error: OnError | None = None,
    ) -> Watcher[Order]:
        """The changes of today's orders of several accounts, keyed by order id::

            async for change in client.watch.orders("me", [account]):
                print(change.key, change.item.status, change.fields)

        The list holds every order that was created or updated on the present trading day, so orders are removed from
        it when the next one begins. The last state of a terminal order is handed out in any case before that, also
        to a slow consumer.

        Args:
            customer_id: the customer, or ``me``.
            account_numbers: the accounts.
            interval: seconds between polls, or a pace such as `market_hours`.
            initial: whether the orders of the first answer are reported as added.
            seed: the orders as they were known before (``watcher.snapshot`` of an earlier run, or its values):
                what happened since then is reported, and nothing else.
            jitter: random delay of every poll, as a fraction (0 to 1) of the interval.
            floor: the least interval in seconds; hard polling of this list can get the access suspended.
            on_error: hears every failure that may pass. Default: a logged warning.

        Raises:
            InvalidRequestError, ConfigurationError: an argument cannot be used.

        Raises (while iterating):
            PermissionDeniedError, NotFoundError: the customer or an account is out of reach.
            TokenError: the grant is dead.
        """
        feed = self._orders(customer_id, account_numbers, Cadence(interval=interval, floor=floor, jitter=jitter))
        known = state_of(seed, _order_id)
        return Watcher(feed, initial=initial, seed=known, on_error=on_error, keep=is_terminal)

    async def order(
        self,
        customer_id: int | str,
        account_number: str,
        id: int | str,  # noqa: A002 - the name that the service has for it
        *,
        interval: float | Pacing = 2.0,
        timeout: float | None = None,
        floor: float = FLOOR,
        on_error: OnError | None = None,
    ) -> Order:
        """Wait until one order is terminal, and return it.

        It is followed on the list of today's orders, whose polls are shared with `orders`; an order that is not on it
        is looked up among those of the last 400 days. An order that was replaced ends as ``Cancelled``, and its
        ``replacing_order_id`` names the one that works in its place.

        Args:
            customer_id: the customer, or ``me``.
            account_number: the account of the order.
            id: the order.
            interval: seconds between polls, or a pace such as `market_hours`.
            timeout: seconds to wait at most, None for as long as it takes.
            floor: the least interval in seconds; hard polling of this list can get the access suspended.
            on_error: hears every failure that may pass. Default: a logged warning.

        Raises:
            DeadlineExceededError: it was not terminal within ``timeout`` seconds.
            NotFoundError: it was found nowhere, several times.
        """
        if not isinstance(id, int | str) or isinstance(id, bool) or not str(id).strip():
            raise InvalidRequestError(f"an order id is a text or an integer, not {id!r}")
        check_seconds("timeout", timeout)
        feed = self._orders(customer_id, (account_number,), Cadence(interval=interval, floor=floor))
        search = self._endpoints.orders.search

        async def look_up() -> Order | None:
            since = (self._now() - HISTORY).date()
            async for order in search(customer_id, [account_number], start_date=since):
                if order.id == str(id):
                    return order
            return None

        limit = asyncio.timeout(timeout)
        try:
            async with limit, Watcher(feed, on_error=on_error) as lease:
                return await until_terminal(feed, lease, str(id), look_up)
        except TimeoutError:
            if not limit.expired():
                raise
            raise DeadlineExceededError(
                f"order {id} was not terminal within {timeout:g} s", maybe_processed=False, operation="orders.live"
            ) from None

    def quote_alerts(
        self,
        *,
        interval: float | Pacing = 5.0,
        initial: bool = True,
        seed: Iterable[QuoteAlert] | Mapping[Any, QuoteAlert] | None = None,
        jitter: float = 0.0,
        floor: float = FLOOR,
        on_error: OnError | None = None,
    ) -> Watcher[QuoteAlert]:
        """The life of the user's quote alerts, keyed by ``alert_external_id``.

        Kinds are those of `AlertKind` (created, triggered, completed, expired, dismissed), one change for each
        timestamp that was set; ``changed`` when none was, ``removed`` when an alert left the list. Arguments and errors
        are those of `orders`.
        """
        cadence = Cadence(interval=interval, floor=floor, jitter=jitter)
        feed = self._feed("quote_alerts", cadence, lambda api: api.quote_alerts.list(), _alert_id)
        known = state_of(seed, _alert_id)
        return Watcher(feed, initial=initial, seed=known, on_error=on_error, derive=alert_changes)

    def market(
        self,
        instrument_collection: InstrumentCollection | str = InstrumentCollection.EQUITY,
        *,
        interval: float = 3600.0,
        extended: bool = False,
        initial: bool = False,
        on_error: OnError | None = None,
    ) -> Watcher[MarketSession]:
        """The sessions of a market as they open and close, keyed by trading day.

        Kinds are ``opened`` (``after`` is the session) and ``closed`` (``before`` is the session), with ``extended``
        also ``started`` and ``ended`` of the hours around it. ``at`` is the time that the service gives. The
        timetable is read every ``interval`` seconds; in between it sleeps until the next boundary.

        Args:
            instrument_collection: ``Equity``, ``CME`` or ``CFE``.
            interval: seconds between two readings of the timetable.
            extended: whether to report the extended hours, too.
            initial: whether to begin with the last boundary that has passed, which tells how things stand.
            on_error: hears every failure that may pass. Default: a logged warning.
        """
        feed = self._timetable(_collection(instrument_collection), Cadence(interval=interval))
        return MarketWatcher(feed, now=self._now, extended=extended, initial=initial, on_error=on_error)

    def market_hours(
        self,
        instrument_collection: InstrumentCollection | str = InstrumentCollection.EQUITY,
        *,
        trading: float,
        resting: float = 60.0,
        extended: bool = False,
    ) -> MarketHours:
        """A pace for any poll: every ``trading`` seconds in market hours, every ``resting`` seconds outside of them::

            pace = client.watch.market_hours(trading=1, resting=300)
            client.watch.orders("me", [account], interval=pace)
            poll(fetch, key=key, interval=pace)

        The first poll after an opening comes right at it. ``extended`` counts the hours around the session as well.
        """
        collection = _collection(instrument_collection)
        return MarketHours(
            lambda: self._sessions(self._endpoints, collection),
            trading=trading,
            resting=resting,
            extended=extended,
            now=self._now,
        )

    def _orders(self, customer_id: int | str, account_numbers: Iterable[str], cadence: Cadence) -> Feed[Order]:
        path, query = ORDERS_LIVE.arguments(customer_id=customer_id, account_numbers=account_numbers)
        check(ORDERS_LIVE, path, query, None)
        accounts = tuple(sorted(set[str](account_numbers)))
        name = ("orders", str(customer_id), accounts)
        return self._feed(name, cadence, lambda api: api.orders.live(customer_id, accounts), _order_id)

    def _timetable(self, collection: str, cadence: Cadence) -> Feed[MarketSession]:
        name = ("timetable", collection)
        return self._feed(name, cadence, lambda api: self._sessions(api, collection), lambda each: each.session_date)

    async def _sessions(self, api: Endpoints, collection: str) -> list[MarketSession]:
        first, last = timetable_range(self._now())
        return await api.market_time.sessions(last, from_date=first, instrument_collection=collection)

    def _feed(
        self,
        name: Hashable,
        cadence: Cadence,
        read: Callable[[Endpoints], Awaitable[Iterable[T]]],
        key: Callable[[T], Hashable],
    ) -> Feed[T]:
        """The feed that watches the list ``name`` at this cadence, a new one unless it is running already."""
        feed: Feed[T] | None = self._feeds.get((name, cadence))
        if feed is None or feed.ended:
            fetch = unless_same(self._executor, read)
            feed = self._feeds[name, cadence] = Feed(fetch, key=key, cadence=cadence, now=self._now)
        return feed


class Connected(Protocol):
    """A client, as far as watching is concerned."""

    @property
    def session(self) -> Executor:
        """What makes its calls."""
        ...


def _collection(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise InvalidRequestError(f"instrument_collection must be a text such as Equity, not {value!r}")
    return str(value)


def _order_id(order: Order) -> str | None:
    return order.id


def _alert_id(alert: QuoteAlert) -> str | None:
    return alert.alert_external_id
