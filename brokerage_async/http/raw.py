"""The endpoints of a client with raw answers: status, headers and bytes instead of models."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, ParamSpec, Protocol, TypeVar, cast, overload

from .._generated.endpoints import Endpoints
from ..errors import ConfigurationError
from ..operation import BoundCall, Executor, Guard, Pager
from ..protocol.raw_response import RawResponse
from .session import BrokerageSession

__all__ = ["RawEndpoints", "RawNamespace"]

T = TypeVar("T")
E = TypeVar("E")
P = ParamSpec("P")


class RawNamespace(Protocol):
    """A namespace of the client whose methods return raw answers. Its arguments are checked when it is called."""

    def __getattr__(self, operation: str) -> Callable[..., Awaitable[RawResponse[Any]]]: ...


class _RawExecutor:
    """Makes calls like a session, but returns their answers raw, of a list in pages one page."""

    def __init__(self, session: BrokerageSession) -> None:
        self._session = session

    async def execute(self, call: BoundCall[T], *, guard: Guard | None = None) -> RawResponse[T]:
        return await self._session.raw(call, guard=guard)

    def paginate(self, call: BoundCall[list[E]]) -> Awaitable[RawResponse[list[E]]]:
        return self.execute(call)


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
        self._raw = Endpoints(cast("Executor", _RawExecutor(session)))

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
