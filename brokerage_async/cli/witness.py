"""What `conformance` asks a service: every read operation and dry-run once, with arguments from earlier answers."""

from __future__ import annotations

import datetime as dt
from collections.abc import Awaitable, Callable, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast

import attrs

from .._generated.behaviours import BEHAVIOURS
from .._generated.models import (
    BacktestDirection,
    ComplexOrderType,
    InstrumentType,
    LegAction,
    MarginOrder,
    MarginOrderLeg,
    NewComplexOrder,
    NewOrder,
    NewOrderLeg,
    Order,
    OrderEdit,
    OrderType,
    PriceEffect,
    SimulatedTrade,
    SimulatedTradeLeg,
    TimeInForce,
)
from .._generated.operations import OPERATIONS
from ..errors import APIError, BrokerageError, ConfigurationError, ResponseDecodeError
from ..operation import BoundCall, Effect, Operation
from ..protocol.conformance import CODES, Finding, Words, compare, compare_refusal
from ..protocol.decoding.codec import Decoded, decode, encode
from ..protocol.request import ACCEPT_VERSION

if TYPE_CHECKING:
    from ..client import Client

__all__ = ["AS_DESCRIBED", "Answer", "NotAskedError", "Row", "Witness", "leg", "limit", "sale"]

AS_DESCRIBED, DIFFERS, NOT_ASKED = "as described", "differs", "not asked"

VERSION = OPERATIONS["orders.list"].version or ""
"""Interface version that the client was written for."""

SYMBOLS = ("AAPL", "KO", "F", "T", "MSFT", "SPY")
"""Liquid equities; dry-runs are about the first that the account neither holds nor trades."""


class NotAskedError(Exception):
    """A question that was not asked, and why."""


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
        """Whether the service did as asked."""
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
        return f"refused ({self.refusal(words)})"

    def refusal(self, words: Words) -> str:
        """Return the status and the code of an error."""
        if self.status == 406:
            return "406, the version is not served"
        code = next((code for code in reversed(self.codes) if code), None)
        shown = code if code in CODES else words.shown(code, "")
        return f"{self.status} {shown}".strip()


@attrs.frozen
class Row:
    """An argument from another operation's answer: an attribute of its first row that has it; the row without one."""

    operation: str
    attribute: str = ""

    def of(self, answer: Answer) -> Any:
        """Return the value. Raises `NotAskedError` if no row has one."""
        for found in answer.rows:
            if value := getattr(found, self.attribute, None) if self.attribute else found:
                return value
        raise NotAskedError(f"{self.operation} has no row with one")


def leg(
    symbol: str,
    action: LegAction = LegAction.BUY_TO_OPEN,
    quantity: str | None = "1",
    kind: InstrumentType = InstrumentType.EQUITY,
) -> NewOrderLeg:
    """Build a leg of an order."""
    size = None if quantity is None else Decimal(quantity)
    return NewOrderLeg(symbol=symbol, instrument_type=kind, action=action, quantity=size)


def limit(*legs: NewOrderLeg, **terms: Any) -> NewOrder:
    """Build a limit order, by default one that costs little; rules are not checked."""
    usual = {"price": Decimal(1), "price_effect": PriceEffect.DEBIT, "time_in_force": TimeInForce.DAY}
    return NewOrder(**{"order_type": OrderType.LIMIT, **usual, "legs": legs, **terms})


def sale(symbol: str, quantity: str = "1", **terms: Any) -> NewOrder:
    """Build a limit order that closes a position far above the market."""
    far = {"price": Decimal(9000), "price_effect": PriceEffect.CREDIT}
    return limit(leg(symbol, LegAction.SELL_TO_CLOSE, quantity), **far, **terms)


OPTION = Row("option_chains.flat", "symbol")
COMMON: Mapping[str, object] = {
    "customer_id": "me", "currency": "USD", "symbol": "AAPL", "symbols": ["AAPL", "SPY"], "underlying_symbol": "AAPL",
    "instrument_collection": "CME", "exchange": "CME", "time_back": "1m", "query": "apple", "per_page": 25, "limit": 25,
}  # fmt: skip
"""Values of parameters by name: of required ones, and of those that keep an answer small."""
SMALL = ("per_page", "limit")

ARGUMENTS: Mapping[str, Mapping[str, object]] = {
    "market_time.current_sessions": {"instrument_collections": ["Equity"]},
    "instruments.equities": {"symbols": ["AAPL", "SPY"]},
    "instruments.equity_options": {"symbols": [OPTION]},
    "instruments.equity_option": {"symbol": OPTION},
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
    "orders.edit_dry_run": {"id": None},
    "orders.get": {"id": Row("orders.list", "id")},
    "complex_orders.get": {"id": Row("complex_orders.list", "id")},
    "transactions.get": {"id": Row("transactions.list", "id")},
    "backtests.get": {"id": Row("backtests.list")},
    "backtests.logs": {"id": Row("backtests.list")},
    "watchlists.get": {"watchlist_name": Row("watchlists.list", "name")},
    "watchlists.get_public": {"watchlist_name": Row("watchlists.list_public", "name")},
    "watchlists.get_pairs": {"pairs_watchlist_name": Row("watchlists.list_pairs", "name")},
}  # fmt: skip
"""Arguments of operations, where those of `COMMON` do not do."""

UNASKED: Mapping[str, str] = {
    "oauth.token": "the client asks for its tokens itself, and an answer holds secrets",
    "complex_orders.edit_pairs_dry_run": "it needs a PAIRS order that works",
}


class Witness:
    """Asks the service behind a client, each question once, and keeps the answers.

    Args:
        client: the client to ask with.
        account: account number, None for the first one of ``accounts.list``.
    """

    def __init__(self, client: Client, account: str | None = None) -> None:
        self.client = client
        self.answers: list[Answer] = []
        self.findings: list[Finding] = []
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

    async def account(self) -> str:
        """Return the number of the account that is asked about."""
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

    async def options(self) -> tuple[str, str]:
        """Return the symbols of two options of one equity that the account does not hold."""
        chain, taken = await self.ask("option_chains.flat"), (await self.ask("positions.list")).body
        free = [each.symbol for each in chain.rows if each.symbol and each.symbol.encode() not in taken]
        if len(free) < 2:
            raise NotAskedError("the chain has no two options")
        return free[-2], free[-1]

    async def ask(self, name: str) -> Answer:
        """Return the answer of an operation, asked once. Raises `NotAskedError` where it cannot be asked."""
        return await self.once(name, lambda: self._first(name))

    async def once(self, name: str, ask: Callable[[], Awaitable[Answer]]) -> Answer:
        """Return the answer to a question, which is asked at its first use."""
        if name not in self._asked:
            try:
                self._asked[name] = await ask()
            except NotAskedError as reason:
                self._asked[name] = reason
        found = self._asked[name]
        if isinstance(found, NotAskedError):
            raise found
        return found

    async def _first(self, name: str) -> Answer:
        operation = OPERATIONS[name]
        if operation.effect is Effect.MUTATE:
            raise NotAskedError("it changes something")
        if name in UNASKED:
            raise NotAskedError(UNASKED[name])
        if operation.production_only and not self.in_production:
            raise NotAskedError("the sandbox does not offer it")
        if operation.host is not None and operation.host not in self.client.environment.hosts:
            raise NotAskedError(f"no address of the {operation.host} is known")
        given = ARGUMENTS.get(name, {})
        values: dict[str, object] = {}
        for parameter in operation.parameters:
            if parameter.required or parameter.name in given or parameter.name in SMALL:
                values[parameter.name] = await self._value(parameter.name, given)
        body = None if operation.body is None else await self._body(name)
        return await self.send(operation.bind(body=body, **values))

    async def _value(self, name: str, given: Mapping[str, object]) -> object:
        days = {"to_date": 7, "start_date": -400, "date": -1}
        if name == "account_number":
            return await self.account()
        if name == "account_numbers":
            return [await self.account()]
        if name in given and given[name] is None:
            return (await self._editable()).id
        if name in days and name not in given:
            return self.today + dt.timedelta(days=days[name])
        value = given.get(name, COMMON.get(name))
        if value is None:
            raise NotAskedError(f"no value is known for {name}")
        if isinstance(value, list):
            return [each.of(await self.ask(each.operation)) if isinstance(each, Row) else each for each in value]
        return value.of(await self.ask(value.operation)) if isinstance(value, Row) else value

    async def _body(self, name: str) -> bytes:
        """Return the body of a dry-run, or of a question that takes one."""
        order: Any = limit(leg(symbol := await self.symbol()))
        if name == "backtests.simulate_trade":
            start = dt.datetime.combine(self.today - dt.timedelta(days=30), dt.time(14, 30), dt.UTC)
            bought = SimulatedTradeLeg(symbol="AAPL", direction=BacktestDirection.LONG, quantity=1)
            end = start + dt.timedelta(days=2)
            order = SimulatedTrade(underlying="AAPL", legs=(bought,), start_time=start, end_time=end)
        elif name == "orders.edit_dry_run":
            body: Any = OPERATIONS[name].body
            edit = OrderEdit.of(await self._editable())  # the same terms again
            order = edit if body is OrderEdit else body.of(edit)
        elif name == "complex_orders.dry_run":
            order = NewComplexOrder(type=ComplexOrderType.OTOCO, trigger_order=order, orders=self.exits(symbol))
        elif name == "margin.dry_run":
            order = await self.margin_order(symbol)
        return encode(order)

    async def _editable(self) -> Order:
        for order in (await self.ask("orders.list_live")).rows:
            if order.editable and order.id:
                return cast("Order", order)
        raise NotAskedError("no order can be edited")

    async def margin_order(self, *symbols: str) -> MarginOrder:
        """Return the body of a margin estimate with a leg for each symbol."""
        legs = [MarginOrderLeg(symbol=each, instrument_type=InstrumentType.EQUITY, action=LegAction.BUY_TO_OPEN,
                               quantity=Decimal(1)) for each in symbols]  # fmt: skip
        return MarginOrder(
            account_number=await self.account(), underlying_symbol=symbols[0],
            underlying_instrument_type=InstrumentType.EQUITY, order_type=OrderType.LIMIT,
            time_in_force=TimeInForce.DAY, price=Decimal(1), price_effect=PriceEffect.DEBIT, legs=tuple(legs),
        )  # fmt: skip

    @staticmethod
    def exits(symbol: str) -> tuple[NewOrder, NewOrder]:
        """Return the two orders that close a position at a profit or a loss."""
        stop = NewOrder(
            order_type=OrderType.STOP, time_in_force=TimeInForce.GTC, stop_trigger=Decimal("0.5"),
            legs=(leg(symbol, LegAction.SELL_TO_CLOSE),),
        )  # fmt: skip
        return sale(symbol, time_in_force=TimeInForce.GTC), stop

    async def dry_run(self, order: object, name: str = "orders.dry_run") -> Answer:
        """Return the answer to the dry-run of a body, whatever rules it breaks."""
        return await self.send(OPERATIONS[name].bind(account_number=await self.account(), body=encode(order)))

    async def get(self, path: str, *, version: str | None = None, **query: object) -> Answer:
        """Return the answer to a request that the client's own methods would not make."""
        client = self.client.with_options(accept_version=version)
        asked = {key.replace("_", "-"): value for key, value in query.items()}
        return await self._answer(None, version, lambda: client.request("GET", path, query=asked))

    async def send(self, call: BoundCall[Any], *, version: str | None = "") -> Answer:
        """Return the answer to a call, in another interface version than the client's where one is given."""
        if version == "":
            session = self.client.session
            own = call.operation.version if session.options.own_versions and self.in_production else None
            version = session.options.headers.get(ACCEPT_VERSION, own)
        else:
            session = self.client.with_options(accept_version=version).session
        return await self._answer(call.operation, version, lambda: session.raw(call))

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

    async def examine(self, probes: Mapping[str, Any], unasked: Callable[[str], str]) -> dict[str, Any]:
        """Ask everything and return the report: findings, and the states of all operations and behaviours."""
        operations: dict[str, Answer | NotAskedError] = {}
        for name in OPERATIONS:
            try:
                operations[name] = await self.ask(name)
            except NotAskedError as reason:
                operations[name] = reason
        seen: dict[str, Answer | str | NotAskedError | None] = {}
        for name in BEHAVIOURS:
            try:
                seen[name] = await probes[name](self) if name in probes else NotAskedError(unasked(name))
            except NotAskedError as reason:
                seen[name] = reason
        return self._report(operations, seen)

    def _report(
        self,
        operations: Mapping[str, Answer | NotAskedError],
        seen: Mapping[str, Answer | str | NotAskedError | None],
    ) -> dict[str, Any]:
        described = [(each.operation, each.body) for each in self.answers if each.operation is not None]
        others = [each.body.decode(errors="replace") for each in self.answers if each.operation is None]
        words = Words(described, [*others, *(text for each in self.answers for text in each.texts)])
        states = {name: self._state(answer, words) for name, answer in operations.items()}
        behaviours: dict[str, str] = {}
        for name, what in seen.items():
            if isinstance(what, NotAskedError) or what is None:
                behaviours[name] = AS_DESCRIBED if what is None else f"{NOT_ASKED}: {what}"
                continue
            shown = what if isinstance(what, str) else what.summary(words)
            self.findings.append(Finding("behaviours", name, BEHAVIOURS[name], shown))
            behaviours[name] = f"{DIFFERS}: {shown}"
        return {
            "findings": [attrs.asdict(finding) for finding in self.findings],
            "operations": states,
            "behaviours": behaviours,
        }

    def _state(self, answer: Answer | NotAskedError, words: Words) -> str:
        if isinstance(answer, NotAskedError):
            return f"{NOT_ASKED}: {answer}"
        operation = answer.operation
        assert operation is not None
        asked = "" if answer.version is None else f", asked for version {answer.version}"
        if not answer.is_success:
            found = compare_refusal(operation, answer.status, answer.codes, words)
            if answer.status == 406:
                found = [Finding(operation.name, ACCEPT_VERSION, answer.version or "none", "406")]
            self.findings += found
            return f"{answer.summary(words)}{asked}"
        found = compare(operation, answer.status, answer.body, words)
        self.findings += found
        return f"{DIFFERS if found else AS_DESCRIBED}{asked}"
