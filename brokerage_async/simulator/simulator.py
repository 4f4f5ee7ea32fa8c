"""Public entry point: a whole brokerage on a loopback port or in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from decimal import Decimal
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

from .._arguments import running_loop
from ..protocol.request import Request
from .api.brokerage import Brokerage
from .api.versions import InterfaceVersions
from .api.wire import WireForm
from .authorization_server import AUTH_PAGE
from .clock import DEFAULT_START, Clock
from .faults import FaultPlan
from .ledger import Ledger
from .market.catalogue import Sizes
from .state import Settings
from .streams.server import ACCOUNT_PATH, MARKET_PATH, StreamServer
from .transports.http import LoopbackServer
from .transports.memory import InMemoryTransport, Latency
from .transports.pump import Pump

if TYPE_CHECKING:
    from ..client import Client
    from ..config import Environment, RefreshToken

__all__ = ["Simulator"]


class Simulator:
    """Simulated brokerage that follows the service document to the letter.

    It keeps everything in memory and opens no connections. Enter it to serve HTTP::

        async with Simulator(seed=7) as sim, sim.client() as client:
            chain = await client.instruments.futures_option_chain("ES")

    or use it without a socket: ``Client(sim.environment, sim.credentials, transport=sim.transport())``.

    Args:
        environment: ``sandbox`` or ``production``; each has its own credentials and data, and only production has
            margin reports.
        seed: determines all random values. The same seed, requests and times give the same responses.
        host, port: address to listen on; port 0 lets the system choose.
        names: further host names that clients reach it by, as behind a proxy. A request for any other name is refused,
            since an untrusted web page may have sent it.
        start: aware datetime at which simulated time starts, by default a Wednesday at which the markets are open.
            Time runs on from there, and every response carries it in its ``Date`` header.
        equities, equity_options, chain_rows, warrants: sizes of the lists.
        cash: initial cash of every account, in dollars.
        latency: seconds per request, or a function of the request; half of it passes before it is processed.
        rate_limit: requests per second that are accepted; the others get a bare 429. None: no limit.
        wire: ``observed`` writes identifiers and quantities as recorded from the service (mostly numbers),
            ``documented`` as its document says (strings).
        withdrawn_versions: values of ``Accept-Version`` that get a 406. All others from 20240501 on are served.

    Attributes:
        clock: simulated time; ``clock.advance(seconds)`` moves it forward.
        faults: ``faults.add("POST", r"/orders$", "drop_after")`` scripts a fault, see the module ``faults``.
        ledger: every request that arrived and every transition of every order.
        latency, rate_limit, withdrawn_versions: as above, may be set at any time.
    """

    def __init__(
        self,
        environment: Literal["sandbox", "production"] = "sandbox",
        seed: int = 0,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        names: Iterable[str] = (),
        start: datetime = DEFAULT_START,
        equities: int = 10_000,
        equity_options: int = 5_000,
        chain_rows: int = 20_000,
        warrants: int = 200,
        cash: Decimal | int = 10_000_000,
        latency: Latency = 0.0,
        rate_limit: float | None = None,
        wire: WireForm = "observed",
        withdrawn_versions: Iterable[str] = (),
    ) -> None:
        if environment not in ("sandbox", "production"):
            raise ValueError(f"environment must be sandbox or production, got {environment!r}")
        self.clock: Clock = Clock(start)
        sizes = Sizes(equities=equities, equity_options=equity_options, chain_rows=chain_rows, warrants=warrants)
        settings = Settings(
            environment=environment, seed=seed, start=start.timestamp(), sizes=sizes, cash=Decimal(cash)
        )
        self.brokerage: Brokerage = Brokerage(
            settings, wire=wire, rate_limit=rate_limit, withdrawn_versions=withdrawn_versions
        )
        self.latency: Latency = latency
        self._pump = Pump(self.brokerage, self.clock)
        self._server = LoopbackServer(self.brokerage, self.clock, self._latency_of, host, port, names, pump=self._pump)
        self._set_stream_urls()

    async def __aenter__(self) -> Simulator:
        running_loop()  # raises where there is none
        await self._server.start()
        self._set_stream_urls()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._server.stop()

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
    def streamer_url(self) -> str:
        """Address of the account stream."""
        return f"ws{self.base_url.removeprefix('http')}{ACCOUNT_PATH}"

    @property
    def auth_page_url(self) -> str:
        """Address of the authorization page, which redirects back with a code, as `authorize` does."""
        return f"{self.base_url}{AUTH_PAGE}"

    @property
    def client_id(self) -> str:
        """Identifier of the registered application."""
        return self.brokerage.state.authorization_server.application.client_id

    @property
    def client_secret(self) -> str:
        """Secret of the registered application."""
        return self.brokerage.state.authorization_server.application.client_secret

    @property
    def redirect_uri(self) -> str:
        """Redirect address of the registered application."""
        return self.brokerage.state.authorization_server.application.redirect_uris[0]

    @property
    def refresh_token(self) -> str:
        """Refresh token of the owner's personal grant."""
        return self.brokerage.state.authorization_server.personal.refresh_token

    @property
    def customer_id(self) -> str:
        """Identifier of the owner."""
        return str(self.brokerage.state.owner.number)

    @property
    def account_numbers(self) -> tuple[str, ...]:
        """Accounts of the owner: an empty one, one with positions and complex orders, and a cash account."""
        state = self.brokerage.state
        return tuple(account.number for account in state.accounts.of(state.owner))

    @property
    def foreign_account_number(self) -> str:
        """Account of another customer."""
        state = self.brokerage.state
        return state.accounts.of(state.other_customer)[0].number

    @property
    def foreign_customer_id(self) -> str:
        """Identifier of the other customer."""
        return str(self.brokerage.state.other_customer.number)

    @property
    def complex_order_ids(self) -> dict[str, str]:
        """Identifiers of the complex orders in the second account, by type (``OTOCO``, ``OCO``, ``PAIRS``)."""
        return dict(self.brokerage.state.complex_order_ids)

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

    def client(self, **options: Any) -> Client:
        """Return a client of this service, not yet entered; ``options`` are the client's own.

        It uses real HTTP, or the in-memory transport if the simulator was never entered.
        """
        from ..client import Client

        if not self._server.has_listened:
            options.setdefault("transport", self.transport())
        return Client(self.environment, self.credentials, **options)

    def transport(self) -> InMemoryTransport:
        """Return a new in-memory transport to this brokerage."""
        return InMemoryTransport(self.brokerage, self.clock, self._latency_of, self._pump)

    # Control

    @property
    def ledger(self) -> Ledger:
        """Every request that arrived and every transition of every order."""
        return self.brokerage.ledger

    @property
    def faults(self) -> FaultPlan:
        """Faults still to come."""
        return self.brokerage.faults

    @property
    def streams(self) -> StreamServer:
        """Both streams: ``streams.faults.add("duplicate")`` scripts a fault, ``streams.drop()`` closes connections."""
        return self.brokerage.streams

    @property
    def rate_limit(self) -> float | None:
        """Requests per second that are accepted; None: no limit."""
        return self.brokerage.rate_limit

    @rate_limit.setter
    def rate_limit(self, value: float | None) -> None:
        self.brokerage.rate_limit = value

    @property
    def withdrawn_versions(self) -> frozenset[str]:
        """Values of ``Accept-Version`` that get a 406, besides those before 20240501."""
        return self.brokerage.versions.withdrawn

    @withdrawn_versions.setter
    def withdrawn_versions(self, versions: Iterable[str]) -> None:
        self.brokerage.versions = InterfaceVersions(versions)

    def settle(self) -> None:
        """Run everything that is due by now, so that the ledger shows it."""
        self.brokerage.advance(self.clock.now())

    def price(self, symbol: str) -> Decimal:
        """Return the current price of an equity, future or cryptocurrency."""
        return self.brokerage.state.prices.underlying_price(symbol, self.clock.now())

    def set_price(self, symbol: str, price: Decimal | int | str) -> None:
        """Set and hold the price of an equity, future or cryptocurrency.

        Raises:
            ValueError: ``price`` is not positive, or not below 10**9.
        """
        self.settle()
        self.brokerage.state.prices.set_price(symbol, Decimal(price), self.clock.now())

    def authorize(self, address: str) -> str:
        """Consent as the owner to the authorization request at ``address`` and return the redirect address."""
        state = self.brokerage.state
        return state.authorization_server.authorize(address, state.owner, self.clock.now())

    def expire_tokens(self) -> None:
        """Invalidate every access token issued so far; refreshing still works."""
        self.brokerage.state.authorization_server.expire_tokens()

    def revoke(self) -> None:
        """Delete the owner's personal grant: its tokens are rejected and cannot be refreshed any more."""
        self.brokerage.state.authorization_server.personal.revoked = True

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
