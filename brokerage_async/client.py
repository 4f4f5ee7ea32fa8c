"""The `Client`, which assembles all parts."""

from __future__ import annotations

import enum
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cached_property
from types import EllipsisType, SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, ParamSpec, Protocol, Self, TypeVar, cast, overload

import attrs

from ._arguments import check_flag, check_function, check_methods, check_timeout, check_type
from ._generated.endpoints import Endpoints
from ._generated.operations import OPERATIONS
from ._secrets import Secret
from .auth.manager import TokenManager, token_source
from .auth.store import TokenStore
from .config import Credentials, Environment, Limits, RefreshToken, RetryPolicy, settings_from_env
from .errors import ConfigurationError
from .http.limiter import Limiter, SharedLimits
from .http.network import Network, configure_network
from .http.session import BrokerageSession
from .http.shared import Engine, Options
from .observers import Observer, ObserverList
from .operation import Effect, Executor, Pager
from .protocol.custom_request import custom_call
from .protocol.registry import wires
from .protocol.request import ACCEPT_VERSION, DEFAULT_USER_AGENT, validate_accept_version, validate_user_agent
from .protocol.response import RawResponse
from .protocol.retry import RetryBudget
from .protocol.validation.requests import is_array

if TYPE_CHECKING:
    from ssl import SSLContext

    import aiohttp

    from .bulk.api import Bulk
    from .http.transport import Transport
    from .journal import Journal
    from .order_entry import OrderEntry, OrderGuard, ReconcilePolicy
    from .stream.api import Streams
    from .watch.api import Watch

__all__ = ["PER_OPERATION", "Client", "PerOperation"]

T = TypeVar("T")
E = TypeVar("E")
P = ParamSpec("P")

UNLIMITED_CONNECTIONS = 256  # connections of the pool when the limits set no bound


class PerOperation(enum.Enum):
    """Type of `PER_OPERATION`."""

    PER_OPERATION = "per operation"


PER_OPERATION: Final = PerOperation.PER_OPERATION
"""``accept_version`` by default: each operation asks for the version of the schema, in production only.

The sandbox was seen to refuse the header.
"""

_RETRY: Final = RetryPolicy()
_LIMITS: Final = Limits()


class RawNamespace(Protocol):
    """A namespace of the client whose methods return raw answers. Its arguments are checked when it is called."""

    def __getattr__(self, operation: str) -> Callable[..., Awaitable[RawResponse[Any]]]: ...


class RawEndpoints:
    """The namespaces of a client with raw answers.

    ::

        response = await client.with_raw_response.instruments.warrant("AAPLW")  # RawResponse[Any]
        response = await client.with_raw_response(client.instruments.warrant)("AAPLW")  # RawResponse[Warrant]

    Both do the same. Type checkers see the arguments and the result of the second form.
    """

    def __init__(self, endpoints: Endpoints, session: BrokerageSession) -> None:
        self._named = vars(endpoints)
        # The generated methods return whatever their executor returns: that they say otherwise is for the usual one.
        self._raw = Endpoints(cast("Executor", SimpleNamespace(execute=session.raw, paginate=session.raw)))

    def __getattr__(self, namespace: str) -> RawNamespace:
        if namespace.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {namespace!r}")
        return cast("RawNamespace", getattr(self._raw, namespace))

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *vars(self._raw)})

    @overload
    def __call__(self, endpoint: Callable[P, Pager[E]], /) -> Callable[P, Awaitable[RawResponse[list[E]]]]: ...
    @overload
    def __call__(self, endpoint: Callable[P, Awaitable[T]], /) -> Callable[P, Awaitable[RawResponse[T]]]: ...
    def __call__(self, endpoint: Callable[..., Any], /) -> Callable[..., Any]:
        """Return an endpoint of this client, such as ``client.instruments.warrant``, with raw answers.

        Raises:
            ConfigurationError: it is not an endpoint, or belongs to another client, perhaps of another environment.
        """
        owner = getattr(endpoint, "__self__", None)
        for name in vars(self._raw):
            if owner is not None and self._named.get(name) is owner:
                found: Callable[..., Any] = getattr(getattr(self._raw, name), endpoint.__name__)
                return found
        raise ConfigurationError(
            f"endpoint must be a method of this client, such as client.instruments.warrant, got {endpoint!r}"
        )


class Client(Endpoints):
    """A client of one environment of the service, with one set of credentials.

    ::

        async with Client(Environment.sandbox(url), RefreshToken(client_secret=..., refresh_token=...)) as client:
            dividends = await client.market_metrics.dividends("AAPL")

    One client serves any number of tasks of one event loop. It opens connections when it is first used, so making one
    costs nothing and may be done anywhere. Leave its ``async with`` block, or await `aclose`, when done with it.

    Args:
        environment: production or sandbox, and its address. See `Environment`.
        credentials: `RefreshToken`, `AuthorizationCode`, `StaticToken`, or any `TokenProvider`.
        user_agent: sent with every request, of the form ``product/version``.
        accept_version: interface version to ask for (``Accept-Version``) with every request, None to ask for none. By
            default order operations ask for the one that they were written for, in production only.
        timeout: seconds that one attempt may take, None for no bound.
        deadline: seconds that a whole call may take, waiting and repeating included, None for no bound.
        retry: how often and how soon to repeat what may be repeated.
        limits: how many requests at once, and how fast. A `fleet.RedisLimits` bounds several processes together.
        read_only: refuse every call that changes something, before anything is sent.
        strict: raise instead of repairing when an answer or a value is not as documented.
        http_session: an ``aiohttp.ClientSession`` to send over. Borrowed, never closed.
        trace_configs: aiohttp trace configurations, such as OpenTelemetry's.
        observers: called with an `Attempt` record after every attempt.
        transport: what sends requests instead of aiohttp. It is closed with the client.
        token_store: where access tokens are kept between runs.
        proxy: HTTP proxy to send through, as ``http://[user:password@]host:port``. A tunnel for https.
        ssl: context of the TLS connections, for a private authority or a client certificate. None for the usual ones.
        trust_env: use the proxy of ``HTTPS_PROXY`` (or ``ALL_PROXY``, ``NO_PROXY``) if ``proxy`` is None.
        allow_http: send credentials over plain http beyond loopback. A warning is logged.
        market_data: a client of the other environment, which serves market data, metrics and ``stream.quotes``, so that
            a program may trade in the sandbox at the prices of production. Nothing else is read there, and nothing
            that changes anything can be sent there. Entering and closing it is left to its owner.

    Attributes:
        orders, complex_orders: the wire of orders. To trade, use `order_entry`.
        accounts, balances, positions, transactions, margin, risk: what an account has and may do.
        instruments, option_chains, search: tradable instruments.
        market_data, market_metrics, market_time: prices, figures, trading hours.
        watchlists, quote_alerts: lists and alerts that the service keeps.
        backtests: strategies on past prices. On a separate host.
        bulk, watch, stream: many keys at once. Lists that are polled. Events that are pushed.

    Raises:
        ConfigurationError: an argument cannot be used.
    """

    def __init__(
        self,
        environment: Environment,
        credentials: Credentials,
        *,
        user_agent: str = DEFAULT_USER_AGENT,
        accept_version: str | PerOperation | None = PER_OPERATION,
        timeout: float | None = 30.0,
        deadline: float | None = None,
        retry: RetryPolicy = _RETRY,
        limits: Limits | SharedLimits = _LIMITS,
        read_only: bool = False,
        strict: bool = False,
        http_session: aiohttp.ClientSession | None = None,
        trace_configs: Sequence[aiohttp.TraceConfig] = (),
        observers: Sequence[Observer] = (),
        transport: Transport | None = None,
        token_store: TokenStore | None = None,
        proxy: str | Secret | None = None,
        ssl: SSLContext | None = None,
        trust_env: bool = False,
        allow_http: bool = False,
        market_data: Client | None = None,
    ) -> None:
        proxy = Secret(proxy) if isinstance(proxy, str) else proxy  # before any error, which shows the locals of frames
        validate_user_agent(user_agent)
        check_type("environment", environment, Environment)
        if isinstance(limits, type) or not isinstance(limits, Limits | SharedLimits):
            raise ConfigurationError(f"limits must be of type Limits or RedisLimits, got {type(limits).__name__}")
        if token_store is not None:
            check_methods("token_store", token_store, "load", "save")
        for name, value in (("trace_configs", trace_configs), ("observers", observers)):
            if not is_array(value):
                raise ConfigurationError(f"{name} must be a list or tuple, got {type(value).__name__}")
        for observer in observers:
            check_function("every observer", observer)
        headers = {"User-Agent": user_agent, "Accept": "application/json"}
        network = configure_network(environment, proxy=proxy, ssl=ssl, trust_env=trust_env, allow_http=allow_http)
        bounds = limits if isinstance(limits, Limits) else limits.limits
        transport = _transport(transport, bounds, network, http_session, trace_configs)
        wires()  # loads them before an event loop has calls to wait for
        options = Options(
            timeout=check_timeout("timeout", timeout),
            deadline=check_timeout("deadline", deadline),
            retry=check_type("retry", retry, RetryPolicy),
            headers=headers,
            strict=check_flag("strict", strict),
            read_only=check_flag("read_only", read_only),
        )
        if unknown := [name for name in bounds.per_operation if name not in OPERATIONS]:
            raise ConfigurationError(f"unknown operation in Limits.per_operation: {', '.join(map(repr, unknown))}")
        limiter = Limiter(limits)
        watching = ObserverList(observers)
        tokens = token_source(environment, credentials, transport, limiter, options, token_store, watching)
        engine = Engine(environment, transport, limiter, tokens, RetryBudget(retry.budget), watching)
        options = attrs.evolve(options, **_versions(headers, accept_version))
        self._market_data, prices = market_data, None
        if market_data is not None:
            other = check_type("market_data", market_data, Client).session
            prices = BrokerageSession(other.engine, attrs.evolve(other.options, read_only=True))
        self._assemble(BrokerageSession(engine, options, prices), headers, whole=None)

    def _assemble(self, session: BrokerageSession, headers: Mapping[str, str], *, whole: Client | None) -> None:
        super().__init__(session)
        self._session = session
        self._headers = headers
        self._whole = whole

    @classmethod
    def from_env(cls, **options: Any) -> Self:
        """Build a client from the ``BROKERAGE_*`` environment variables; ``options`` override them.

        Raises:
            ConfigurationError: variables are missing or wrong. All of them are named.
        """
        settings = settings_from_env()
        return cls(settings.pop("environment"), settings.pop("credentials"), **(settings | options))

    def __repr__(self) -> str:
        if not hasattr(self, "_session"):  # an error of the constructor may be shown with the locals of its frames
            return f"<{type(self).__name__}>"
        environment = self._session.engine.environment
        return f"<{type(self).__name__} of {environment.name} at {environment.base_url}>"

    @property
    def environment(self) -> Environment:
        """The environment that the client talks to."""
        return self._session.engine.environment

    @property
    def session(self) -> BrokerageSession:
        """Session of the client: `BrokerageSession.execute` makes the call of any operation."""
        return self._session

    def with_options(
        self,
        *,
        timeout: float | EllipsisType | None = ...,
        deadline: float | EllipsisType | None = ...,
        retry: RetryPolicy | EllipsisType = ...,
        accept_version: str | PerOperation | EllipsisType | None = ...,
    ) -> Self:
        """Return a light view with other options that shares connections, lanes and tokens.

        ``client.with_options(deadline=2).orders.cancel(...)``. Others keep their values. Closing a view does nothing.
        """
        changes: dict[str, Any] = {}
        if timeout is not ...:
            changes["timeout"] = check_timeout("timeout", timeout)
        if deadline is not ...:
            changes["deadline"] = check_timeout("deadline", deadline)
        if retry is not ...:
            changes["retry"] = check_type("retry", retry, RetryPolicy)
        if accept_version is not ...:
            changes |= _versions(self._headers, accept_version)
        view = object.__new__(type(self))
        options = attrs.evolve(self._session.options, **changes)
        session = BrokerageSession(self._session.engine, options, self._session.market_data)
        view._assemble(session, self._headers, whole=self._whole or self)
        return view

    @property
    def read_only(self) -> bool:
        """Whether every call that changes something is refused before anything is sent."""
        return self._session.options.read_only

    async def request(
        self,
        method: str,
        path: str,
        *,
        path_values: Mapping[str, object] | None = None,
        query: Mapping[str, object] | None = None,
        body: object | None = None,
        effect: Effect | None = None,
    ) -> RawResponse[Any]:
        """Call any endpoint of the service, also one that the schema lacks.

        Args:
            method: ``GET``, ``POST``, ``PUT``, ``PATCH`` or ``DELETE``.
            path: path below the base address, such as ``/accounts/{account_number}/positions``. A ``%2F`` stays as it
                is. Everything else is encoded once.
            path_values: a value for each ``{name}`` in the path. Each becomes one segment, whatever it contains.
            query: values by key. None leaves a key out, a list repeats it. Keys go out as written: ``symbol[]``.
            body: JSON values, a model, or bytes that go out unchanged. Numbers are `Decimal` or `int`, never `float`.
            effect: whether the call may be repeated. By default the schema's, else ``READ`` for ``GET`` and ``MUTATE``
                for all others, which is sent once.

        Returns:
            The answer. Its ``parse()`` returns the body as plain JSON values. Errors are the same as for every other
            call.
        """
        call = custom_call(method, path, path_values=path_values, query=query, body=body, effect=effect)
        return await self._session.raw(call)

    @cached_property
    def with_raw_response(self) -> RawEndpoints:
        """The namespaces with raw answers: ``with_raw_response.instruments.warrant(...)``. See `RawEndpoints`."""
        return RawEndpoints(self, self._session)

    async def authorize(self) -> RefreshToken | None:
        """Get a token now, rather than at the first call, and return the credentials that tokens are made from.

        After an `AuthorizationCode` these hold the refresh token that the code was exchanged for: keep it.
        None when the tokens come from elsewhere.

        Raises:
            TokenError: no token could be had.
        """
        self._session.engine.enter()
        tokens = self._session.engine.tokens
        await tokens.get()
        held = tokens.credentials if isinstance(tokens, TokenManager) else None
        return held if isinstance(held, RefreshToken) else None

    async def aclose(self) -> None:
        """Release connections and stop what runs in the background. Calling it again does nothing."""
        if self._whole is None:
            await self._session.engine.close()

    async def __aenter__(self) -> Self:
        self._session.engine.enter()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    @cached_property
    def bulk(self) -> Bulk:
        """Many keys at once: `bulk.equities(symbols)` and the like."""
        from .bulk.api import Bulk

        return Bulk(self, service=self.environment.origin, session=self._session)

    @cached_property
    def watch(self) -> Watch:
        """Polling as streams of changes: `watch.orders(...)` and the like."""
        from .watch.api import Watch

        return Watch(self, doorbells=lambda: self.stream)

    @cached_property
    def stream(self) -> Streams:
        """Push: `stream.account(...)` and `stream.quotes(...)`. Views share the connections of their client."""
        if self._whole is not None:
            return self._whole.stream
        from .stream.api import Streams

        return Streams(self, None if self._market_data is None else self._market_data.stream)

    def order_entry(
        self,
        journal: Journal | None = None,
        *,
        guard: OrderGuard | None = None,
        reconcile: ReconcilePolicy | None = None,
        lease: float = 30.0,
        push: bool = False,
    ) -> OrderEntry:
        """Return order entry over a journal: each order is submitted at most once. See `OrderEntry`."""
        from .order_entry import OrderEntry, ReconcilePolicy

        policy = reconcile or ReconcilePolicy()
        return OrderEntry(self, journal, guard=guard, reconcile=policy, lease=lease, push=push)


def _versions(headers: Mapping[str, str], accept_version: str | PerOperation | None) -> dict[str, Any]:
    if accept_version is None or isinstance(accept_version, PerOperation):
        return {"headers": headers, "own_versions": accept_version is not None}
    validate_accept_version(accept_version)
    return {"headers": {**headers, ACCEPT_VERSION: accept_version}, "own_versions": False}


def _transport(
    given: Transport | None,
    limits: Limits,
    network: Network,
    http_session: aiohttp.ClientSession | None,
    trace_configs: Sequence[aiohttp.TraceConfig],
) -> Transport:
    if given is not None:
        check_methods("transport", given, "send", "close")
        if http_session is not None or trace_configs:
            raise ConfigurationError("http_session and trace_configs belong to aiohttp, not to a transport of your own")
    owner = "http_session" if given is None else "transport"
    if network != Network() and (given is not None or http_session is not None):
        raise ConfigurationError(
            f"proxy, ssl and trust_env configure the client's own connections: set them on {owner}"
        )
    if given is not None:
        return given
    from .http.transport import AiohttpTransport

    bounds = (limits.reads, limits.trades, limits.tokens)
    connections = UNLIMITED_CONNECTIONS if None in bounds else sum(filter(None, bounds))
    return AiohttpTransport(http_session, trace_configs=trace_configs, connections=connections, network=network)
