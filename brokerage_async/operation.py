"""Vocabulary of calls: operations, bound calls, executors and pagers.

Operations are data (generated from the schema). Everything that treats all calls alike, such as request building,
retries, permissions or the simulator's routing, reads these values and knows no endpoint by name. Only the published
rates, at the end, are by name.
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping
from datetime import date
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Protocol, TypeVar

import attrs

from ._decimals import Decimals
from ._values import maker

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

__all__ = [
    "PUBLISHED_RATES", "PUBLISHED_TOTAL", "BodyField", "BoundCall", "Effect", "Executor", "Guard", "Operation", "Page",
    "Pager", "Parameter", "Provenance", "RequestModel", "Rule", "Shape",
]  # fmt: skip

Guard = Callable[[], str | None]
"""Returns why a request must not be sent after all, or None. Called at the last moment before each send."""

T = TypeVar("T")
E = TypeVar("E")


class Effect(enum.StrEnum):
    """Effect of a call on the brokerage, which decides whether it may be repeated."""

    READ = "read"
    PREFLIGHT = "preflight"
    MUTATE = "mutate"


class Provenance(enum.StrEnum):
    """Source of a fact about the service: its document, a recording, its published reference, or other clients."""

    DOCUMENTED = "documented"
    RECORDED = "recorded"
    PUBLISHED = "published"
    CLIENT = "client"


class Shape(enum.StrEnum):
    """Form of a success body: one resource, a list, a page of a longer list, a bare object or list, or nothing."""

    ONE = "one"
    MANY = "many"
    PAGE = "page"
    BARE = "bare"
    BARE_MANY = "bare_many"
    NONE = "none"


@attrs.frozen(kw_only=True)
class Rule:
    """One documented rule of a request, as declared under ``x-rules`` in the schema (wire names throughout).

    Of the demands, a rule carries exactly one.

    Attributes:
        message: how to mend a request that breaks the rule.
        when, unless: values, by field, that switch the rule on or off.
        require, forbid: fields that must be present, or absent.
        require_value: values that a field must have one of, by field.
        require_any: at least one of these fields must be present.
        exclusive: at most one of these fields may be present.
        distinct: field whose values in an array must differ.
        max_items, min_items: array, and the most or fewest items it may have.
        max_total: arrays, and the most items that they may have together.
        span: two dates, and the most months between them.
        positive, not_negative: amounts that must be above zero, or at least zero.
        library: whether it is a safeguard of this library, which the service does not document.
        code: code of the service's preflight entry for a request that breaks the rule.
        behaviour: entry of the list of recorded behaviour that switches the rule off in the simulator.
    """

    message: str
    when: Mapping[str, tuple[str, ...]] = attrs.field(factory=dict)
    unless: Mapping[str, tuple[str, ...]] = attrs.field(factory=dict)
    require: tuple[str, ...] = ()
    forbid: tuple[str, ...] = ()
    require_value: Mapping[str, tuple[str, ...]] = attrs.field(factory=dict)
    require_any: tuple[str, ...] = ()
    exclusive: tuple[str, ...] = ()
    distinct: str | None = None
    max_items: tuple[str, int] | None = None
    min_items: tuple[str, int] | None = None
    max_total: tuple[tuple[str, ...], int] | None = None
    span: tuple[str, str, int] | None = None
    positive: tuple[str, ...] = ()
    not_negative: tuple[str, ...] = ()
    library: bool = False
    code: str | None = None
    behaviour: str | None = None


@attrs.frozen(kw_only=True)
class Parameter:
    """One path or query parameter.

    Attributes:
        name, wire: its name in Python, and in the URL.
        location: ``path`` or ``query``.
        kind: one of ``string integer identifier boolean decimal date date-time``.
        array, joined: whether the key repeats, or with ``joined`` one value holds the items with commas between them.
        required: whether it must be given.
        minimum, maximum: bounds of an integer, both included.
        choices: enumeration of its values, if there is one.
    """

    name: str
    wire: str
    location: str
    kind: str = "string"
    array: bool = False
    joined: bool = False
    required: bool = False
    minimum: int | None = None
    maximum: int | None = None
    choices: type[enum.Enum] | None = None


@attrs.frozen(kw_only=True)
class BodyField:
    """One field of a request body.

    Attributes:
        name, wire: its name on the model, and in the JSON.
        kind: as of a `Parameter`, or ``object``.
        number: whether a decimal is a JSON number.
        array, min_items: whether it is an array, and the fewest items of it.
        required: whether it must be given.
        minimum, maximum: bounds of an integer, both included.
        choices: enumeration of its values, if there is one.
        model: nested request model of an object, or of the items of an array.
    """

    name: str
    wire: str
    kind: str
    number: bool = False
    array: bool = False
    required: bool = False
    min_items: int | None = None
    minimum: int | None = None
    maximum: int | None = None
    choices: type[enum.Enum] | None = None
    model: type[Any] | None = None


@attrs.frozen(kw_only=True)
class RequestModel:
    """Request body as the schema has it.

    Attributes:
        fields: its fields, in order.
        rules: rules over them.
        service_rules: further rules, which the service checks and the client leaves to it.
    """

    fields: tuple[BodyField, ...]
    rules: tuple[Rule, ...] = ()
    service_rules: tuple[Rule, ...] = ()


@attrs.frozen(kw_only=True, eq=False)
class Operation(Generic[T]):
    """One endpoint of the service as data.

    Attributes:
        name: ``namespace.method``, as called on the client.
        method, path: HTTP method and path template relative to the base address.
        effect: whether it reads, checks in advance, or changes something.
        scope: OAuth scope it needs (``read`` or ``trade``), None for the token endpoint.
        shape, result: what the success body holds, and the model of one resource in it (None: no body).
        status: the documented success status.
        identity: fields that together identify a row of a list. Empty where the schema names none.
        parameters: path and query parameters.
        body, body_required: model of the request body, if there is one.
        rules: rules over the query parameters.
        service_rules: further ones, which the service checks and the client leaves to it.
        production_only: not offered by the sandbox.
        host: name of the host that answers it, if that is not the service. See `Environment`.
        is_public: answered without a token as well.
        deprecated: published as such. Its first call logs a warning.
        provenance: where the knowledge of it comes from. See `Provenance`.
        version: interface version that is asked for in production. See ``accept_version`` of the `Client`.
        page_size: rows on a page by default, of a list that comes in pages.
        one_or_many: the answer is one resource or a list of them, whatever ``shape`` makes of it.
        default_start: ``start_date`` that is sent if the caller gives neither ``start_date`` nor ``start_at``.
        section: section of the service document that it follows, empty for an operation that is not in there.
    """

    name: str
    method: str
    path: str
    effect: Effect
    shape: Shape
    result: type[Any] | None = None
    status: int = 200
    identity: tuple[str, ...] = ()
    scope: str | None = None
    parameters: tuple[Parameter, ...] = ()
    body: type[Any] | None = None
    body_required: bool = False
    rules: tuple[Rule, ...] = ()
    service_rules: tuple[Rule, ...] = ()
    production_only: bool = False
    host: str | None = None
    is_public: bool = False
    deprecated: bool = False
    provenance: Provenance = Provenance.DOCUMENTED
    version: str | None = None
    page_size: int | None = None
    one_or_many: bool = False
    default_start: str | None = None
    section: str = ""

    def bind(self, *, body: object | None = None, **values: object) -> BoundCall[T]:
        """Return the call of this operation with ``values`` by parameter name. None leaves a query parameter out.

        ``body`` is a request model, or the bytes of one that were encoded before and go out unchanged.

        Raises:
            TypeError: a value has a name that no parameter has.
        """
        path: dict[str, object] = {}
        query: dict[str, object] = {}
        if self.default_start is not None and values.get("start_date") is None and values.get("start_at") is None:
            values["start_date"] = date.fromisoformat(self.default_start)
        for parameter in self.parameters:
            if parameter.name in values:
                value = values.pop(parameter.name)
                if parameter.location == "path":
                    path[parameter.wire] = value
                elif value is not None:
                    query[parameter.wire] = value
        if values:
            raise TypeError(f"{self.name} has no parameter {', '.join(map(repr, values))}")
        return _make_call(operation=self, path=path, query=query, body=body)

    @property
    def place(self) -> dict[str, Any]:
        """Arguments of an error that name the operation."""
        return {"operation": self.name, "method": self.method, "path": self.path}

    def __repr__(self) -> str:
        return f"<Operation {self.name}: {self.method} {self.path}>"


@attrs.frozen
class BoundCall(Generic[T]):
    """An operation with its arguments: everything that is needed to make the call. `Operation.bind` makes one.

    Attributes:
        operation: what to call.
        path, query: arguments by wire name.
        body: a request model, its bytes, or None.
    """

    operation: Operation[T]
    path: Mapping[str, object] = attrs.field(factory=dict, kw_only=True, hash=False)
    query: Mapping[str, object] = attrs.field(factory=dict, kw_only=True, hash=False)
    body: object | None = attrs.field(default=None, kw_only=True, hash=False, repr=False)


_make_call: Callable[..., BoundCall[Any]] = maker(BoundCall)


@attrs.frozen
class Page(Generic[E]):
    """One page of a list.

    Attributes:
        items: the rows, without those that an earlier page of the same walk held.
        pagination: the service's pagination block, None when it sent none.
        page_offset: the number of the page that was requested. The first page is 0.
        repeats: number of rows left out, because an earlier page held the same.
        changed: number of rows kept although an earlier page held a row of the same identity that says something else.
    """

    items: tuple[E, ...]
    pagination: Any
    page_offset: int
    repeats: int = 0
    changed: int = 0


class Pager(ABC, Generic[E]):
    """A list that arrives page by page. Nothing is fetched before it is iterated, and never more than is used.

    ::

        async for order in client.orders.search("me", [account]): ...
        async for page in client.orders.search("me", [account]).pages(): ...
        orders = await client.orders.search("me", [account]).collect(max_items=500)
    """

    __slots__ = ()

    @property
    @abstractmethod
    def repeats(self) -> int:
        """Number of rows that the latest walk has dropped so far, because an earlier page held the same."""

    @property
    @abstractmethod
    def disagreement(self) -> str | None:
        """Why the pages of the latest walk cannot be pages of one state of the list, None if nothing shows it."""

    @abstractmethod
    def __aiter__(self) -> AsyncIterator[E]:
        """Iterate over the items of all pages, in order."""

    if not TYPE_CHECKING:  # type checkers report it without this

        def __await__(self) -> NoReturn:
            raise TypeError("a pager is not awaitable: use `await pager.collect()` or `async for item in pager`")

    @abstractmethod
    def pages(self) -> AsyncIterator[Page[E]]:
        """Iterate over the pages, in order, without items of earlier pages."""

    @abstractmethod
    async def collect(self, max_items: int | None = None) -> list[E]:
        """Return all items, or the first ``max_items``, without fetching a page too many.

        A whole list that changes while it is read is read again, at most twice. `disagreement` says so if the last
        reading does not agree with itself either.
        """

    @abstractmethod
    def prefetch(self, pages: int) -> Pager[E]:
        """Return a pager that fetches up to ``pages`` pages ahead of the consumer.

        The first page is always fetched alone, because it names the number of pages. If it does not, nothing is
        fetched ahead.
        """

    @abstractmethod
    async def to_arrow(self, max_items: int | None = None, *, decimals: Decimals = "exact") -> pyarrow.Table:
        """Return all items, or the first ``max_items``, as an Arrow table. See `brokerage_async.arrow.to_arrow`.

        Raises:
            ConfigurationError: pyarrow is missing (extra ``arrow``), or a number fits no column.
        """

    @abstractmethod
    async def to_pandas(self, max_items: int | None = None, *, decimals: Decimals = "exact") -> pandas.DataFrame:
        """Return all items, or the first ``max_items``, as a frame. See `brokerage_async.arrow.to_pandas`.

        Raises:
            ConfigurationError: pandas is missing (extra ``pandas``), or a number fits no column.
        """

    @abstractmethod
    async def to_polars(self, max_items: int | None = None, *, decimals: Decimals = "exact") -> polars.DataFrame:
        """Return all items, or the first ``max_items``, as a frame. See `brokerage_async.arrow.to_polars`.

        Raises:
            ConfigurationError: Polars is missing (extra ``polars``), or a number fits no column.
        """


class Executor(Protocol):
    """Interface that the generated endpoints call: a session, or a light view of it with other options."""

    async def execute(self, call: BoundCall[T], *, guard: Guard | None = None) -> T:
        """Make the call and return its decoded result. Each send of it only if ``guard`` does not object."""
        ...

    async def fetch_if_changed(self, call: BoundCall[T], previous_body: bytes | None) -> tuple[T, bytes | None] | None:
        """Return the result and the body it was decoded from, or None if the body equals ``previous_body``.

        A result that was gathered from several bodies comes with None, which no later body equals.
        """
        ...

    def paginate(self, call: BoundCall[list[E]]) -> Pager[E]:
        """Return a pager over a paginated read. Nothing is sent yet."""
        ...


PUBLISHED_TOTAL: float = 50.0
"""Requests per second of all operations together."""

PUBLISHED_RATES: Mapping[str, float] = MappingProxyType(
    {
        **dict.fromkeys((
            "accounts.get", "accounts.list", "accounts.trading_status", "balances.get", "balances.list",
            "instruments.future_products", "instruments.futures", "positions.list",
        ), 1.0),
        **dict.fromkeys((
            "instruments.active_equities", "instruments.equities", "instruments.futures_option_chain",
            "market_data.by_type", "option_chains.compact", "option_chains.flat", "option_chains.nested",
            "option_chains.nested_futures",
        ), 2.0),
        **dict.fromkeys((
            "instruments.cryptocurrency", "instruments.equity", "instruments.equity_option", "instruments.future",
            "instruments.future_option", "instruments.future_product", "instruments.warrant",
        ), 3.0),
        **dict.fromkeys((
            "complex_orders.cancel", "complex_orders.dry_run", "complex_orders.get", "complex_orders.list",
            "complex_orders.live", "complex_orders.submit", "orders.cancel", "orders.dry_run", "orders.edit",
            "orders.edit_dry_run", "orders.get", "orders.list", "orders.list_live", "orders.live", "orders.replace",
            "orders.search", "orders.submit",
        ), 20.0),
    }
)  # fmt: skip
"""Requests per second of one operation, whichever account or symbol they name.

They are the ceilings that the service's agent server keeps to; see ``rates_of_operations`` in the list of behaviour.
"""
