"""What `conformance` asks a service: every read operation and dry-run once, with arguments from earlier answers."""

from __future__ import annotations

import datetime as dt
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import EllipsisType
from typing import TYPE_CHECKING, Any, TypeVar, cast

import attrs
import msgspec

from .._generated.models import BacktestDirection, Order, OrderEdit, OrderEditDryRun, SimulatedTrade, SimulatedTradeLeg
from .._generated.operations import OPERATIONS
from ..errors import APIError, BrokerageError, ConfigurationError, ResponseDecodeError
from ..operation import BoundCall, Effect, Operation
from ..protocol.conformance import CODES, Finding, Words, compare, compare_refusal
from ..protocol.decoding.codec import Decoded, decode, encode
from ..protocol.request import ACCEPT_VERSION

if TYPE_CHECKING:
    from ..client import Client

T = TypeVar("T")
Terms = dict[str, object]

SYMBOLS = ("AAPL", "KO", "F", "T", "MSFT", "SPY")
"""Liquid equities; dry-runs are about the first that the account neither holds nor trades."""


class NotAskedError(Exception):
    """A question that was not asked, and why."""


async def outcome_of(question: Awaitable[T]) -> T | NotAskedError:
    try:
        return await question
    except NotAskedError as reason:
        return reason


@attrs.frozen
class Answer:
    """What the service answered: the status, the body of a success, the codes of an error.

    ``operation`` is None for a request that the schema does not describe, ``version`` the one that was asked for.
    """

    operation: Operation[Any] | None
    status: int
    body: bytes = b""
    codes: tuple[str | None, ...] = ()
    texts: tuple[str, ...] = ()
    version: str | None = None

    @property
    def is_success(self) -> bool:
        return self.status < 300

    @property
    def decoded(self) -> Decoded[Any] | None:
        """The body of a success, None for one that cannot be read."""
        try:
            return decode(self.operation, self.body) if self.is_success and self.operation is not None else None
        except ResponseDecodeError:
            return None

    @property
    def rows(self) -> Sequence[Any]:
        """The models of a list, or the one of another success."""
        found = self.decoded
        value = None if found is None else found.value
        return value if isinstance(value, list) else () if value is None else (value,)

    def summary(self, words: Words) -> str:
        """Return the status, and of an error the innermost code if it may be shown."""
        if self.is_success:
            return f"accepted ({self.status})"
        if self.status == 406:
            return "refused (406, the version is not served)"
        code = next((code for code in reversed(self.codes) if code), None)
        shown = code if code in CODES else words.shown(code, "")
        return f"refused ({f'{self.status} {shown}'.strip()})"

    def differences(self, words: Words) -> list[Finding]:
        operation = self.operation
        if operation is None:
            return []
        if self.is_success:
            return compare(operation, self.status, self.body, words)
        if self.status == 406:
            return [Finding(operation.name, ACCEPT_VERSION, self.version or "none", "406")]
        return compare_refusal(operation, self.status, self.codes, words)


@attrs.frozen
class Row:
    """A value from another operation's answer: an attribute of its first row that has it. The row without one."""

    operation: str
    attribute: str = ""


class Witness:
    """Asks the service behind a client, each question once, and keeps the answers."""

    def __init__(self, client: Client, account: str | None = None) -> None:
        self.client = client
        self.answers: list[Answer] = []
        self._account = account
        self._asked: dict[str, Answer | NotAskedError] = {}

    @property
    def in_production(self) -> bool:
        """Whether versions may be asked for: the sandbox was seen to refuse the header."""
        return self.client.environment.is_production

    @property
    def today(self) -> dt.date:
        """The day by the service's clock."""
        return (self.client.session.service_now() or dt.datetime.now(dt.UTC)).date()

    # Values of the tables below that are looked up.

    async def fill(self, value: Any) -> Any:
        """Return a value of the tables below: rows, days from today and methods of a witness are looked up.

        Keys become wire keys. Keys without a value are left out.
        """
        if isinstance(value, Row):
            rows = (await self.ask(value.operation)).rows
            found = filter(None, (getattr(each, value.attribute, None) if value.attribute else each for each in rows))
            if (first := next(found, None)) is None:
                raise NotAskedError(f"{value.operation} has no row with one")
            return first
        if isinstance(value, dt.timedelta):
            return self.today + value
        if callable(value):
            looked_up: Any = await cast("Any", value)(self)
            return await self.fill(looked_up)
        if isinstance(value, dict):
            terms = {key: each for key, each in value.items() if each is not None}
            return {key.replace("_", "-"): await self.fill(each) for key, each in terms.items()}
        return [await self.fill(each) for each in value] if isinstance(value, list) else value

    async def account(self) -> str:
        if self._account is None:
            rows = (await self.ask("accounts.list")).rows
            numbers = [each.account.account_number for each in rows if each.account is not None]
            if not any(numbers):
                raise NotAskedError("the customer has no account")
            self._account = next(filter(None, numbers))
        return self._account

    async def symbol(self) -> str:
        """Return an equity that the account neither holds nor trades."""
        taken = b"".join([(await self.ask(name)).body for name in ("positions.list", "orders.list_live")])
        free = [each for each in SYMBOLS if f'"{each}'.encode() not in taken]
        if not free:
            raise NotAskedError("the account trades all of the symbols that are asked about")
        return free[0]

    async def options(self) -> list[str]:
        """Return the symbols of two options of one equity that the account does not hold."""
        chain, taken = await self.ask("option_chains.flat"), (await self.ask("positions.list")).body
        free = [each.symbol for each in chain.rows if each.symbol and each.symbol.encode() not in taken]
        if len(free) < 2:
            raise NotAskedError("the chain has no two options")
        return free[-2:]

    async def option(self) -> str:
        return (await self.options())[1]

    async def editable(self) -> Order:
        for order in (await self.ask("orders.list_live")).rows:
            if order.editable and order.id:
                return cast("Order", order)
        raise NotAskedError("no order can be edited")

    async def editable_id(self) -> str | None:
        return (await self.editable()).id

    async def same_terms(self) -> bytes:
        """Return an edit of that order which changes nothing."""
        return encode(OrderEditDryRun.of(OrderEdit.of(await self.editable())))

    async def simulated_trade(self) -> bytes:
        start = dt.datetime.combine(self.today - dt.timedelta(days=30), dt.time(14, 30), dt.UTC)
        bought = SimulatedTradeLeg(symbol="AAPL", direction=BacktestDirection.LONG, quantity=1)
        end = start + dt.timedelta(days=2)
        return encode(SimulatedTrade(underlying="AAPL", legs=(bought,), start_time=start, end_time=end))

    # Questions.

    async def ask(self, name: str) -> Answer:
        """Return the answer of an operation, asked once. Raises `NotAskedError` where it cannot be asked."""

        async def ask_first() -> Answer:
            operation = OPERATIONS[name]
            if operation.effect is Effect.MUTATE:
                raise NotAskedError("it changes something")
            if name in UNASKED:
                raise NotAskedError(UNASKED[name])
            if operation.production_only and not self.in_production:
                raise NotAskedError("the sandbox does not offer it")
            if operation.host is not None and operation.host not in self.client.environment.hosts:
                raise NotAskedError(f"no address of the {operation.host} is known")
            return await self.send(await self.bind(name, small=True))

        return await self.once(name, ask_first)

    async def bind(self, name: str, terms: object = None, *, small: bool = False) -> BoundCall[Any]:
        """Return the call of an operation with the arguments and the body, if not ``terms``, of the tables below."""
        operation, given, values = OPERATIONS[name], ARGUMENTS.get(name, {}), dict[str, object]()
        for parameter in operation.parameters:
            if parameter.required or parameter.name in given or (small and parameter.name in SMALL):
                value = given.get(parameter.name, COMMON.get(parameter.name))
                if value is None:
                    raise NotAskedError(f"no value is known for {parameter.name}")
                values[parameter.name] = await self.fill(value)
        if operation.body is None:
            return operation.bind(**values)
        body = await self.fill(terms or BODIES.get(name, LIMIT))
        return operation.bind(body=body if isinstance(body, bytes) else msgspec.json.encode(body), **values)

    async def once(self, name: str, ask: Callable[[], Awaitable[Answer]]) -> Answer:
        if name not in self._asked:
            self._asked[name] = await outcome_of(ask())
        found = self._asked[name]
        if isinstance(found, NotAskedError):
            raise found
        return found

    async def dry_run(self, terms: object, name: str = "orders.dry_run") -> Answer:
        """Return the answer to the dry-run of a body, whatever rules it breaks."""
        return await self.send(await self.bind(name, terms))

    async def get(self, path: str, *, version: str | None = None, **query: object) -> Answer:
        """Return the answer to a request that the client's own methods would not make."""
        client, asked = self.client.with_options(accept_version=version), await self.fill(query)
        return await self._answer(None, version, lambda: client.request("GET", path, query=asked))

    async def send(self, call: BoundCall[Any], *, version: str | EllipsisType | None = ...) -> Answer:
        """Return the answer to a call, in another interface version than the client's where one is given."""
        session = self.client.with_options(accept_version=version).session
        own = call.operation.version if session.options.own_versions and self.in_production else None
        asked = session.options.headers.get(ACCEPT_VERSION, own)
        return await self._answer(call.operation, asked, lambda: session.raw(call))

    async def _answer(self, operation: Operation[Any] | None, version: str | None, ask: Callable[[], Any]) -> Answer:
        try:
            response = await ask()
        except APIError as error:
            codes = (error.code, *(each.code for each in error.errors))
            texts = (str(error), error.body, *(each.domain or "" for each in error.errors))
            found = Answer(operation, error.status or 0, codes=codes, texts=texts, version=version)
        except ConfigurationError:
            raise NotAskedError("the client cannot ask it in this environment") from None
        except BrokerageError as error:
            raise NotAskedError(f"{type(error).__name__}: no answer that can be read") from None
        else:
            found = Answer(operation, response.status, response.body, version=version)
        self.answers.append(found)
        return found


COMMON: Mapping[str, object] = {
    "customer_id": "me", "currency": "USD", "symbol": "AAPL", "symbols": ["AAPL", "SPY"], "underlying_symbol": "AAPL",
    "instrument_collection": "CME", "exchange": "CME", "time_back": "1m", "query": "apple", "per_page": 25, "limit": 25,
    "account_number": Witness.account, "account_numbers": [Witness.account],
    "to_date": dt.timedelta(7), "start_date": dt.timedelta(-400), "date": dt.timedelta(-1),
}  # fmt: skip
"""Values of parameters by name: of required ones, and of those that keep an answer small."""
SMALL = ("per_page", "limit")

ARGUMENTS: Mapping[str, Mapping[str, object]] = {
    "market_time.current_sessions": {"instrument_collections": ["Equity"]},
    "instruments.equities": {"symbols": ["AAPL", "SPY"]},
    "instruments.equity_options": {"symbols": [Row("option_chains.flat", "symbol")]},
    "instruments.equity_option": {"symbol": Row("option_chains.flat", "symbol")},
    "instruments.warrant": {"symbol": Row("instruments.warrants", "symbol")},
    "instruments.futures": {"product_codes": ["ES"]},
    "instruments.future": {"symbol": Row("instruments.futures", "symbol")},
    "instruments.future_product": {
        "exchange": Row("instruments.future_products", "exchange"), "code": Row("instruments.future_products", "code"),
    },
    "instruments.future_option": {"symbol": Row("instruments.future_options", "symbol")},
    "instruments.futures_option_chain": {"symbol": "ES"},
    "option_chains.nested_futures": {"symbol": "ES"},
    "instruments.future_option_product": {"root_symbol": Row("instruments.future_option_products", "root_symbol")},
    "instruments.future_option_product_of_exchange": {
        "exchange": Row("instruments.future_option_products", "exchange"),
        "root_symbol": Row("instruments.future_option_products", "root_symbol"),
    },
    "instruments.cryptocurrency": {"symbol": Row("instruments.cryptocurrencies", "symbol")},
    "search.instruments": {"query": "apple"},
    "market_data.by_type": {"equity": ["AAPL"], "include_instrument": True},
    "market_data.get": {"instrument_type": "Equity"},
    "balances.net_liq_history": {"time_back": "1m"},
    "orders.edit_dry_run": {"id": Witness.editable_id},
    "orders.get": {"id": Row("orders.list", "id")},
    "complex_orders.get": {"id": Row("complex_orders.list", "id")},
    "transactions.get": {"id": Row("transactions.list", "id")},
    "backtests.get": {"id": Row("backtests.list")},
    "backtests.logs": {"id": Row("backtests.list")},
    "watchlists.get": {"watchlist_name": Row("watchlists.list", "name")},
    "watchlists.get_public": {"watchlist_name": Row("watchlists.list_public", "name")},
    "watchlists.get_pairs": {"pairs_watchlist_name": Row("watchlists.list_pairs", "name")},
}  # fmt: skip
"""Arguments of operations that need others than `COMMON` has."""

BUY: Terms = {"symbol": Witness.symbol, "instrument_type": "Equity", "action": "Buy to Open", "quantity": "1"}
LIMIT: Terms = {"order_type": "Limit", "time_in_force": "Day", "price": "1", "price_effect": "Debit", "legs": [BUY]}
"""An order that costs little."""
CLOSE: Terms = {**LIMIT, "price": "9000", "price_effect": "Credit", "legs": [{**BUY, "action": "Sell to Close"}]}
"""An order that closes a position far above the market."""
PROFIT: Terms = {**CLOSE, "time_in_force": "GTC"}
LOSS: Terms = {"order_type": "Stop", "time_in_force": "GTC", "stop_trigger": "0.5", "legs": CLOSE["legs"]}
MARGIN: Terms = {
    **LIMIT, "account_number": Witness.account, "underlying_symbol": Witness.symbol,
    "underlying_instrument_type": "Equity",
}  # fmt: skip

BODIES: Mapping[str, object] = {
    "orders.edit_dry_run": Witness.same_terms,
    "complex_orders.dry_run": {"type": "OTOCO", "trigger_order": LIMIT, "orders": [PROFIT, LOSS]},
    "margin.dry_run": MARGIN,
    "backtests.simulate_trade": Witness.simulated_trade,
}
"""Bodies of dry-runs, and of a question that takes one, by the names of their fields; of the others `LIMIT`."""

UNASKED: Mapping[str, str] = {
    "oauth.token": "the client asks for its tokens itself, and an answer holds secrets",
    "complex_orders.edit_pairs_dry_run": "it needs a PAIRS order that works",
}
