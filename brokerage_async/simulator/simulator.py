"""The embedded service: a whole brokerage on a loopback port, for tests, demonstrations and development."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

from ..protocol.request import Request
from .api.brokerage import Brokerage
from .api.wire import WireForm
from .authorization_server import AUTH_PAGE
from .clock import DEFAULT_START, Clock
from .doors.http import LoopbackServer
from .doors.memory import InMemoryTransport, Latency
from .faults import FaultPlan
from .ledger import Ledger
from .market.catalogue import Sizes
from .state import Settings

if TYPE_CHECKING:
    from ..client import Client
    from ..config import Environment, RefreshToken

__all__ = ["Simulator"]


class Simulator:
    """A simulated brokerage that follows the service document to the letter.

    It keeps everything in memory and talks to nobody. Enter it to serve it over HTTP::

        async with Simulator(seed=7) as sim, sim.client() as client:
            chain = await client.instruments.futures_option_chain("ES")

    or use it without a socket: ``Client(sim.environment, sim.credentials, transport=sim.transport())``.

    Args:
        environment: ``sandbox`` or ``production``; each has credentials and data of its own, and only production has
            margin reports.
        seed: decides everything that is left to chance. The same seed, requests and times give the same answers.
        host, port: where to listen; port 0 lets the system choose.
        start: when simulated time begins, by default an hour at which the markets are open.
        equities, equity_options, chain_rows, warrants: sizes of the lists.
        cash: what every account begins with, in dollars.
        latency: seconds per request, or a function of the request; half of it passes before it is processed.
        rate_limit: requests per second that are let through; the others are refused with a bare 429. None: all.
        wire: ``observed`` writes identifiers and quantities as recorded from the service (mostly numbers),
            ``documented`` as its document says (text).

    Attributes:
        clock: simulated time; ``clock.advance(seconds)`` puts it forward.
        faults: ``faults.add("POST", r"/orders$", "drop_after")`` scripts trouble, see the module ``faults``.
        ledger: every request that arrived and every transition of every order.
        latency, rate_limit: as above, may be set at any time.
    """

    def __init__(
        self,
        environment: Literal["sandbox", "production"] = "sandbox",
        seed: int = 0,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        start: datetime = DEFAULT_START,
        equities: int = 10_000,
        equity_options: int = 5_000,
        chain_rows: int = 20_000,
        warrants: int = 200,
        cash: Decimal | int = 10_000_000,
        latency: Latency = 0.0,
        rate_limit: float | None = None,
        wire: WireForm = "observed",
    ) -> None:
        if environment not in ("sandbox", "production"):
            raise ValueError(f"environment must be sandbox or production, not {environment!r}")
        sizes = Sizes(equities=equities, equity_options=equity_options, chain_rows=chain_rows, warrants=warrants)
        settings = Settings(
            environment=environment, seed=seed, start=start.timestamp(), sizes=sizes, cash=Decimal(cash)
        )
        self.clock: Clock = Clock(start)
        self.brokerage: Brokerage = Brokerage(settings, wire=wire, rate_limit=rate_limit)
        self.latency: Latency = latency
        self._server = LoopbackServer(self.brokerage, self.clock, self._latency_of, host, port)

    async def __aenter__(self) -> Simulator:
        await self._server.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._server.stop()

    # Where it is and who may come in

    @property
    def base_url(self) -> str:
        """Base address; before it listens for the first time, one that only the in-memory door understands."""
        if self._server.has_listened:
            return self._server.base_url
        return f"http://{self.brokerage.settings.environment}.simulator.invalid"

    @property
    def auth_page_url(self) -> str:
        """Address of the authorization page, which sends whoever comes back with a code, as `authorize` does."""
        return f"{self.base_url}{AUTH_PAGE}"

    @property
    def client_id(self) -> str:
        """Identifier of the registered application."""
        return self.brokerage.world.office.application.client_id

    @property
    def client_secret(self) -> str:
        """Its secret."""
        return self.brokerage.world.office.application.client_secret

    @property
    def redirect_uri(self) -> str:
        """Its redirect address."""
        return self.brokerage.world.office.application.redirect_uris[0]

    @property
    def refresh_token(self) -> str:
        """The refresh token of the owner's personal grant."""
        return self.brokerage.world.office.personal.refresh_token

    @property
    def customer_id(self) -> str:
        """Identifier of the owner."""
        return str(self.brokerage.world.owner.number)

    @property
    def account_numbers(self) -> tuple[str, ...]:
        """Accounts of the owner: an empty one, one with positions and complex orders, and a cash account."""
        world = self.brokerage.world
        return tuple(account.number for account in world.accounts.of(world.owner))

    @property
    def foreign_account_number(self) -> str:
        """An account of another customer."""
        world = self.brokerage.world
        return world.accounts.of(world.stranger)[0].number

    @property
    def foreign_customer_id(self) -> str:
        """Identifier of the other customer."""
        return str(self.brokerage.world.stranger.number)

    @property
    def complex_order_ids(self) -> dict[str, str]:
        """Identifiers of the complex orders in the second account, by type (``OTOCO``, ``OCO``, ``PAIRS``)."""
        return dict(self.brokerage.world.complex_order_ids)

    @property
    def environment(self) -> Environment:
        """The environment, as a client wants it."""
        from ..config import Environment

        make = getattr(Environment, self.brokerage.settings.environment)
        environment: Environment = make(self.base_url, auth_page_url=self.auth_page_url)
        return environment

    @property
    def credentials(self) -> RefreshToken:
        """Credentials of the owner's personal grant."""
        from ..config import RefreshToken

        return RefreshToken(
            client_secret=self.client_secret, refresh_token=self.refresh_token, client_id=self.client_id
        )

    def client(self, **options: Any) -> Client:
        """A client of this service, not yet entered; ``options`` are the client's own.

        It talks real HTTP, or goes through the in-memory door when the simulator was never entered.
        """
        from ..client import Client

        if not self._server.has_listened:
            options.setdefault("transport", self.transport())
        return Client(self.environment, self.credentials, **options)

    def transport(self) -> InMemoryTransport:
        """A new in-memory transport: the same brokerage without a socket."""
        return InMemoryTransport(self.brokerage, self.clock, self._latency_of)

    # What happens to it

    @property
    def ledger(self) -> Ledger:
        """Every request that arrived and every transition of every order."""
        return self.brokerage.ledger

    @property
    def faults(self) -> FaultPlan:
        """The faults that are still to come."""
        return self.brokerage.faults

    @property
    def rate_limit(self) -> float | None:
        """Requests per second that are let through; None: all."""
        return self.brokerage.rate_limit

    @rate_limit.setter
    def rate_limit(self, value: float | None) -> None:
        self.brokerage.rate_limit = value

    def settle(self) -> None:
        """Let everything happen that is due by now, so that the ledger shows it without another request."""
        self.brokerage.advance(self.clock.now())

    def price(self, symbol: str) -> Decimal:
        """The present price of an equity, future or cryptocurrency."""
        return self.brokerage.world.market.underlying_price(symbol, self.clock.now())

    def set_price(self, symbol: str, price: Decimal | int | str) -> None:
        """Put the price of an equity, future or cryptocurrency somewhere and keep it there.

        Raises:
            ValueError: ``price`` is not positive, or not below a thousand million.
        """
        self.settle()
        self.brokerage.world.market.set_price(symbol, Decimal(price), self.clock.now())

    def authorize(self, address: str) -> str:
        """Follow the address of the authorization page as the owner, consent, and return where that leads."""
        world = self.brokerage.world
        return world.office.authorize(address, world.owner, self.clock.now())

    def expire_tokens(self) -> None:
        """Make every access token issued so far invalid; refreshing still works."""
        self.brokerage.world.office.expire_tokens()

    def revoke(self) -> None:
        """Delete the owner's personal grant: its tokens are refused and it cannot be refreshed any more."""
        self.brokerage.world.office.personal.revoked = True

    async def restart(self) -> None:
        """Drop every connection and listen again on the same port; nothing is forgotten."""
        await self._server.stop()
        await self._server.start()

    async def stop(self) -> None:
        """Stop listening: connections are refused until `restart`."""
        await self._server.stop()

    def _latency_of(self, request: Request) -> float:
        latency: float | Callable[[Request], float] = self.latency
        return latency(request) if callable(latency) else latency
