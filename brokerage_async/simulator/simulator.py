"""Public entry point: a whole brokerage on a loopback port or in memory."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

import attrs

from .._arguments import running_loop
from ..protocol.request import Request
from .api.brokerage import Brokerage
from .api.wire import WireForm
from .authorization_server import AUTH_PAGE
from .clock import DEFAULT_START, Clock
from .control.api import ControlApi
from .control.server import ControlServer
from .faults import FaultPlan
from .ledger import Ledger
from .live import LiveQuotes
from .market.catalogue import Sizes
from .market.prices import LIVELY
from .market.quotes import PriceSource
from .recording import Snapshot, StateError, StateFile
from .state import Settings
from .streams.server import ACCOUNT_PATH, MARKET_PATH, StreamServer
from .transports import InMemoryTransport, Latency, LoopbackServer, Pump

if TYPE_CHECKING:
    from ..client import Client
    from ..config import Environment, RefreshToken


@attrs.frozen(kw_only=True)
class SimulatedCustomer:
    """A customer who uses the application.

    Attributes:
        username: name on the sign-in page, and the value of the key ``customer`` of an authorization request.
        account_numbers: accounts of this customer.
        refresh_token: of the customer's personal grant.
    """

    username: str
    account_numbers: tuple[str, ...]
    refresh_token: str = attrs.field(repr=False)


class Simulator:
    """Simulated brokerage that follows the document and the recordings of the service.

    It keeps everything in memory and opens no connections. Enter it to serve HTTP::

        async with Simulator(seed=7) as sim, sim.client() as client:
            chain = await client.instruments.futures_option_chain("ES")

    or use it without a socket: ``Client(sim.environment, sim.credentials, transport=sim.transport())``.

    Args:
        environment: ``sandbox`` or ``production``. Each has its own credentials and data, and only production has
            margin reports.
        seed: determines all random values. The same seed, requests and times give the same responses.
        host, port: address to listen on. Port 0 lets the system choose.
        names: further host names that clients reach it by, as behind a proxy. A request for any other name is refused,
            since an untrusted web page may have sent it.
        start: aware datetime when simulated time starts, by default a Wednesday while the markets are open, with
            `LiveQuotes` the present. Time runs on from there, and every response carries it in its ``Date`` header.
        equities, equity_options, chain_rows, warrants: sizes of the lists. Chains beyond the list of equity options
            are made when they are requested.
        cash: initial cash of every account, in dollars.
        latency: seconds per request, or a function of the request. Half of it passes before it is processed.
        rate_limit: requests per second that are accepted. The others get a bare 429. ``published``: the rates of
            `Limits.published`, by operation. None: no limit.
        prices: sources of prices by symbol of the underlying: a `RandomWalk`, a `PricePath` or `read_prices(file)`. The
            others follow a random walk of the seed. Or `LiveQuotes`, for paper trading on the prices of a service.
        pace: quotes and trades a second of the most liquid symbols. Others have fewer by the seed, down to two an hour.
            0: none has more than one a minute. By default 4 from when it listens on a socket, and 0 before.
        state: file that keeps orders, positions, clock and requests. A simulator that is made with it again, and with
            the same options, goes on where the last one stopped, also after its process was killed. ``start`` counts
            for a new file only.
        control_port: port of the control API and its page, on the loopback interface; 0 lets the system choose. None:
            there is none.
        wire: ``observed`` writes identifiers and quantities as recorded from the service (mostly numbers),
            ``documented`` as its document says (strings).
        versions: interface versions that are alive, by default `api.versions.VERSIONS`. A request gets the newest that
            is not newer than its ``Accept-Version``, and the oldest without one.
        withdrawn_versions: values of ``Accept-Version`` that get a 406. A version among them is not alive any more.
        without: ids of recorded behaviours that are switched off, see the page of recorded behaviour.
        customers: how many use the application. The sign-in page asks which of several it is.
        redirect_uris: addresses that the sign-in page may lead back to, ``http://127.0.0.1:8765/callback`` besides.

    Attributes:
        clock: simulated time; ``clock.advance(seconds)`` moves it forward.
        faults: ``faults.add("POST", r"/orders$", "drop_after")`` scripts a fault, see the module ``faults``.
        ledger: every request that arrived and every transition of every order.
        latency, rate_limit, withdrawn_versions: as above, may be set at any time.
        client_id, redirect_uri: registered application, with the first of its redirect addresses.
        customer_id: identifier of the owner: ``me``, or a number without the behaviour ``customer_is_me``.
        refresh_token: of the owner's personal grant.
        account_numbers: accounts of the owner: an empty one, one with positions and complex orders, and a cash account.
        customers: the customers who use the application, the owner first.
        foreign_customer_id, foreign_account_number: another customer, with an account.
        complex_order_ids: of the complex orders in the second account, by type (``OTOCO``, ``OCO``, ``PAIRS``).
    """

    def __init__(
        self,
        environment: Literal["sandbox", "production"] = "sandbox",
        seed: int = 0,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        names: Iterable[str] = (),
        start: datetime | None = None,
        equities: int = 10_000,
        equity_options: int = 5_000,
        chain_rows: int = 20_000,
        warrants: int = 200,
        cash: Decimal | int = 10_000_000,
        latency: Latency = 0.0,
        rate_limit: float | Literal["published"] | None = None,
        prices: Mapping[str, PriceSource] | LiveQuotes | None = None,
        pace: float | None = None,
        state: str | os.PathLike[str] | None = None,
        control_port: int | None = None,
        wire: WireForm = "observed",
        versions: Iterable[str] | None = None,
        withdrawn_versions: Iterable[str] = (),
        without: Iterable[str] = (),
        customers: int = 1,
        redirect_uris: Iterable[str] = (),
    ) -> None:
        self._live = live = prices if isinstance(prices, LiveQuotes) else None
        sources = {} if isinstance(prices, LiveQuotes) else prices or {}
        if start is None:
            start = DEFAULT_START if live is None else datetime.now(UTC)
        self.clock: Clock = Clock(start)
        settings = Settings(
            environment=environment,
            seed=seed,
            start=start.timestamp(),
            sizes=Sizes(equities=equities, equity_options=equity_options, chain_rows=chain_rows, warrants=warrants),
            cash=cash,
            wire=wire,
            without=frozenset(without),
            customers=customers,
            redirect_uris=tuple(redirect_uris),
            is_live=live is not None,
        )
        if rate_limit not in (None, "published") and not (isinstance(rate_limit, int | float) and rate_limit >= 0):
            raise ValueError(f"rate_limit must be None, 'published' or requests per second, got {rate_limit!r}")
        if pace is not None and not (isinstance(pace, int | float) and 0 <= pace <= 50):
            raise ValueError(f"pace must be from 0 to 50 quotes a second, got {pace!r}")
        for symbol, source in sources.items():
            if not callable(getattr(source, "quote", None)) or not callable(getattr(source, "next_change", None)):
                raise ValueError(f"prices[{symbol!r}] must be a source such as PricePath or RandomWalk, got {source!r}")
        self._file = file = None if state is None else StateFile(state)
        try:
            if file is not None:
                stored = file.check_settings({"start": start.isoformat(), **settings.shown})
                start = datetime.fromisoformat(stored["start"])
                self.clock, settings = Clock(start), attrs.evolve(settings, start=start.timestamp())
            self.brokerage: Brokerage = Brokerage(
                settings,
                rate_limit=rate_limit,
                sources=sources,
                versions=versions,
                withdrawn_versions=withdrawn_versions,
                handlers=None if live is None else live.handlers,
            )
            if file is not None:
                entries = file.entries()
                self.brokerage.replay(entries)
                if entries:
                    self.clock.restore(entries[-1].at)
                self.brokerage.on_entry = file.add
        except BaseException:
            if file is not None:
                file.close()
            raise
        owner, stranger = self.brokerage.state.owner, self.brokerage.state.other_customer
        server, accounts = self.brokerage.state.authorization_server, self.brokerage.state.accounts
        self.faults: FaultPlan = self.brokerage.faults
        self.client_id: str = server.client_id
        self.redirect_uri: str = server.redirect_uris[0]
        self.customer_id: str = "me" if settings.has("customer_is_me") else str(owner.number)
        self.customers: tuple[SimulatedCustomer, ...] = tuple(
            SimulatedCustomer(
                username=grant.customer.username,
                account_numbers=tuple(account.number for account in accounts.of(grant.customer)),
                refresh_token=grant.refresh_token,
            )
            for grant in server.personals
        )
        self.refresh_token: str = self.customers[0].refresh_token
        self.account_numbers: tuple[str, ...] = self.customers[0].account_numbers
        self.foreign_customer_id: str = str(stranger.number)
        self.foreign_account_number: str = accounts.of(stranger)[0].number
        self.complex_order_ids: dict[str, str] = self.brokerage.state.complex_order_ids
        self.control_token: str = secrets.token_urlsafe(24)
        api = ControlApi(self.brokerage, self.clock, self.control_token)
        self._control = None if control_port is None else ControlServer(api=api, port=control_port)
        self.latency: Latency = latency
        self._pump = Pump(self.brokerage, self.clock)
        self._server = LoopbackServer(
            brokerage=self.brokerage,
            clock=self.clock,
            latency=self._latency_of,
            host=host,
            port=port,
            names=frozenset(name.lower() for name in (*names, host)),
            pump=self._pump,
            prepare=None if live is None else live.prepare,
        )
        self._set_stream_urls()
        self._pace = LIVELY if pace is None else pace
        if pace:
            self._act("set_pace", pace=pace)

    async def __aenter__(self) -> Simulator:
        running_loop()  # raises where there is none
        if self._live is not None:
            await self._live.start(self.brokerage, self.clock)
        await self._server.start()
        if self.brokerage.state.prices.pace != self._pace:
            self._act("set_pace", pace=self._pace)
        if self._control is not None:
            try:
                await self._control.start()
            except BaseException:
                await self._server.stop()
                raise
        self._set_stream_urls()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._server.stop()
        if self._live is not None:
            await self._live.aclose()
        if self._control is not None:
            await self._control.stop()
        if self._file is not None:
            self._file.close()

    # Addresses and credentials

    @property
    def base_url(self) -> str:
        """Base address.

        Until the simulator listens, an address that only the in-memory transport accepts.
        """
        if self._server.has_listened:
            return self._server.base_url
        return f"https://{self.brokerage.settings.environment}.simulator.invalid"

    @property
    def control_url(self) -> str | None:
        """Address of the control API, None without one."""
        return None if self._control is None else self._control.base_url

    @property
    def page_url(self) -> str | None:
        """Address of the page with its token, None without a control API."""
        return None if self._control is None else f"{self._control.base_url}/#{self.control_token}"

    @property
    def environ(self) -> dict[str, str]:
        """Variables that let a program in another process reach this simulator: ``os.environ | sim.environ``."""
        variables = {
            "BROKERAGE_BASE_URL": self.base_url,
            "BROKERAGE_ENVIRONMENT": self.brokerage.settings.environment,
            "BROKERAGE_CLIENT_ID": self.client_id,
            "BROKERAGE_CLIENT_SECRET": self.client_secret,
            "BROKERAGE_REFRESH_TOKEN": self.refresh_token,
            "BROKERAGE_ACCOUNT": self.account_numbers[0],
            "BROKERAGE_STREAMER_URL": self.streamer_url,
            "BROKERAGE_AUTH_PAGE_URL": self.auth_page_url,
            "BROKERAGE_REDIRECT_URI": self.redirect_uri,
            "BROKERAGE_HOSTS": ",".join(f"{name}={address}" for name, address in self.environment.hosts.items()),
        }
        if self.control_url is not None:
            variables |= {"BROKERAGE_CONTROL_URL": self.control_url, "BROKERAGE_CONTROL_TOKEN": self.control_token}
        return variables

    @property
    def streamer_url(self) -> str:
        """Address of the account stream."""
        return f"ws{self.base_url.removeprefix('http')}{ACCOUNT_PATH}"

    @property
    def auth_page_url(self) -> str:
        """Address of the authorization page, which redirects back with a code, as `authorize` does."""
        return f"{self.base_url}{AUTH_PAGE}"

    @property
    def environment(self) -> Environment:
        """Environment for a `Client` of this service."""
        from ..config import Environment

        make = getattr(Environment, self.brokerage.settings.environment)
        hosts = {host: f"{self.base_url}/{host}" for host in self.brokerage.hosts}
        environment: Environment = make(
            self.base_url, auth_page_url=self.auth_page_url, hosts=hosts, streamer_url=self.streamer_url
        )
        return environment

    @property
    def credentials(self) -> RefreshToken:
        """Credentials of the owner's personal grant."""
        from ..config import RefreshToken

        return RefreshToken(
            client_secret=self.client_secret, refresh_token=self.refresh_token, client_id=self.client_id
        )

    def client(self, customer: int = 0, **options: Any) -> Client:
        """Return a client of this service, not yet entered; ``options`` are the client's own.

        It is for the owner, or another of the `customers` by its position. It uses real HTTP, or the in-memory
        transport if the simulator was never entered.

        Raises:
            LookupError: there is no such customer.
        """
        from ..client import Client

        customers = self.customers
        if customer not in range(len(customers)):
            raise LookupError(f"unknown customer {customer!r}: there are {len(customers)}, from 0 on")
        if not self._server.has_listened:
            options.setdefault("transport", self.transport())
        credentials = attrs.evolve(self.credentials, refresh_token=customers[customer].refresh_token)
        return Client(self.environment, credentials, **options)

    def transport(self) -> InMemoryTransport:
        """Return a new in-memory transport to this brokerage.

        Raises:
            ValueError: with live prices, which come over connections: enter the simulator.
        """
        if self._live is not None:
            raise ValueError("a simulator with LiveQuotes must be entered: it has no transport in memory")
        return InMemoryTransport(self.brokerage, self.clock, self._latency_of, self._pump)

    # What it has

    @property
    def client_secret(self) -> str:
        """Secret of the registered application."""
        return self.brokerage.state.authorization_server.client_secret

    @property
    def ledger(self) -> Ledger:
        """Every request that arrived and every transition of every order."""
        return self.brokerage.ledger

    @property
    def streams(self) -> StreamServer:
        """Both streams: ``streams.faults.add("duplicate")`` scripts a fault, ``streams.drop()`` closes connections."""
        return self.brokerage.streams

    @property
    def rate_limit(self) -> float | Literal["published"] | None:
        """Requests per second that are accepted; ``published``: by operation. None: no limit."""
        return self.brokerage.rate_limit

    @rate_limit.setter
    def rate_limit(self, value: float | Literal["published"] | None) -> None:
        self.brokerage.rate_limit = value

    @property
    def withdrawn_versions(self) -> frozenset[str]:
        """Values of ``Accept-Version`` that get a 406, besides those that are older than all versions."""
        return self.brokerage.versions.withdrawn

    @withdrawn_versions.setter
    def withdrawn_versions(self, versions: Iterable[str]) -> None:
        self.brokerage.versions = self.brokerage.versions.without(versions)

    def settle(self) -> None:
        """Run everything that is due by now, so that the ledger shows it."""
        self.brokerage.advance(self.clock.now())

    def price(self, symbol: str) -> Decimal:
        """Return the current price of an equity, future or cryptocurrency.

        Raises:
            LookupError: the symbol is unknown, or a live source has no price yet.
        """
        self._check_underlying(symbol)
        return self.brokerage.state.prices.underlying_price(symbol, self.clock.now())

    def set_price(self, symbol: str, price: Decimal | int | str) -> None:
        """Set and hold the price of an equity, future or cryptocurrency. Any quantity trades at it.

        Raises:
            LookupError: the symbol is unknown.
            ValueError: ``price`` is not positive, or not below 10**9.
        """
        self._check_underlying(symbol)
        self._act("set_price", symbol=symbol, price=_text(price))

    def set_source(self, symbol: str, source: PriceSource) -> None:
        """Take the prices of an equity, future or cryptocurrency from ``source`` from now on."""
        self._act("set_source", symbol=symbol, source=source)

    def release_price(self, symbol: str) -> None:
        """Let a price that `set_price` holds follow its source again."""
        self._act("release_price", symbol=symbol)

    def fill_order(
        self, order_id: str, quantity: Decimal | int | str | None = None, price: Decimal | int | str | None = None
    ) -> None:
        """Fill an order now, whatever the market does, on its way or after a request to cancel it, too.

        Args:
            order_id: identifier of the order.
            quantity: of its first leg, in shares or contracts. By default all that remains.
            price: in dollars, of an order with one leg. By default the market price.

        Raises:
            LookupError: the order is unknown.
            ValueError: its status does not allow it, or ``quantity`` or ``price`` is invalid.
        """
        self._act("fill_order", order_id=order_id, quantity=_text(quantity), price=_text(price))

    def bust_fill(self, order_id: str, fill_id: str, price: Decimal | int | str | None = None) -> None:
        """Make a fill void or, with ``price``, correct its price. See the invented behaviour ``fills_are_busted``.

        Args:
            order_id: identifier of the order.
            fill_id: identifier of the fill.
            price: its right price in dollars. None if it never was.

        Raises:
            LookupError: the order or the fill is unknown.
            ValueError: ``price`` is invalid.
        """
        self._act("bust_fill", order_id=order_id, fill_id=fill_id, price=_text(price))

    def reject_order(self, order_id: str, reason: str = "Rejected by the exchange") -> None:
        """Reject an order that is live or on its way, as with ``Session offline`` in the sandbox.

        Raises:
            LookupError: the order is unknown.
            ValueError: its status does not allow it.
        """
        self._act("reject_order", order_id=order_id, reason=reason)

    def expire_order(self, order_id: str) -> None:
        """Expire an order.

        Raises:
            LookupError: the order is unknown.
            ValueError: its status does not allow it.
        """
        self._act("expire_order", order_id=order_id)

    def remove_order(self, order_id: str, status: str | None = None) -> None:
        """Remove an order as an administrator does.

        Args:
            order_id: identifier of the order.
            status: ``Removed``, ``Partially Removed``, ``Remove Pending`` or ``Dead``. By default one of the first two.

        Raises:
            LookupError: the order is unknown.
            ValueError: its status does not allow it.
        """
        self._act("remove_order", order_id=order_id, status=status)

    def hold_order(self, order_id: str, status: str | None = None) -> None:
        """Let nothing happen automatically to an order while it is in a status.

        It waits in ``Received``, ``Routed``, ``In Flight`` or ``Live``. A cancellation waits in ``Cancel Requested``,
        so that `fill_order` comes first. The fills of further legs wait in ``Filled``.

        Args:
            order_id: identifier of the order, ``*`` for every order from now on.
            status: by default its present one, required for ``*``.

        Raises:
            LookupError: the order is unknown.
            ValueError: nothing happens automatically in that status.
        """
        self._act("hold_order", order_id=order_id, status=status)

    def release_order(self, order_id: str = "*") -> None:
        """Undo `hold_order` for an order, or for all. Events that have become due happen now."""
        self._act("release_order", order_id=order_id)

    def move_cash(self, account_number: str, amount: Decimal | int | str) -> None:
        """Deposit cash in an account or, if negative, withdraw it.

        Raises:
            ValueError: the account is unknown, or ``amount`` is not a number other than 0.
        """
        self._act("move_cash", account_number=account_number, amount=_text(amount))

    def publish_watchlist(self, name: str, symbols: Iterable[str]) -> None:
        """Publish a watchlist of equities, or replace the entries of one that is public already.

        Raises:
            ValueError: a symbol is unknown.
        """
        self._act("publish_watchlist", watchlist=name, symbols=list(symbols))

    def authorize(self, address: str) -> str:
        """Consent to the authorization request at ``address`` and return the redirect address.

        The owner consents, or the customer whose username is the ``customer`` of its query.
        """
        redirect: str = self._act("authorize", address=address)
        return redirect

    def expire_tokens(self) -> None:
        """Invalidate every access token issued so far. Refreshing still works."""
        self._act("expire_tokens")

    def revoke(self) -> None:
        """Delete the owner's personal grant: its tokens are rejected and cannot be refreshed any more."""
        self._act("revoke")

    # Whole states

    def snapshot(self) -> Snapshot:
        """Return the present state, for `restore`."""
        return Snapshot(tuple(self.brokerage.entries), self.clock.now())

    def restore(self, snapshot: Snapshot) -> None:
        """Return to the state and time of a snapshot of this simulator.

        Scripted faults stay. Connections of streams are dropped.

        Raises:
            StateError: it is not of this simulator, which keeps its state.
        """
        self.brokerage.streams.drop()
        self._pump.check()
        before, on_entry = self.brokerage.entries, self.brokerage.on_entry
        try:
            self.brokerage.replay(snapshot.entries)
        except StateError:
            self.brokerage.replay(before)
            self.brokerage.on_entry = on_entry
            self.settle()
            raise
        finally:
            self._set_stream_urls()
        self.clock.restore(snapshot.at)
        self.settle()
        if self._file is not None:
            self._file.replace(snapshot.entries)
            self.brokerage.on_entry = self._file.add

    async def restart(self) -> None:
        """Drop every connection and listen again on the same port, with all state kept."""
        await self._server.stop()
        await self._server.start()

    async def stop(self) -> None:
        """Stop listening: connections are refused until `restart`."""
        await self._server.stop()

    def _set_stream_urls(self) -> None:
        self.brokerage.state.quote_tokens.url = f"ws{self.base_url.removeprefix('http')}{MARKET_PATH}"

    def _latency_of(self, request: Request) -> float:
        latency: float | Callable[[Request], float] = self.latency
        return latency(request) if callable(latency) else latency

    def _check_underlying(self, symbol: str) -> None:
        if self._live is None and not self.brokerage.state.prices.is_known(symbol):
            raise LookupError(f"unknown underlying {symbol}")

    def _act(self, name: str, **arguments: Any) -> Any:
        return self.brokerage.act(name, self.clock.now(), **arguments)


def _text(amount: Decimal | int | str | None) -> str | None:
    if isinstance(amount, float):
        raise ValueError(f"an amount must be a Decimal, an int or a str, got {amount!r}")
    return None if amount is None else str(amount)
