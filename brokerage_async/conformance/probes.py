"""What a service does otherwise than the schema and the list of behaviour say.

`conformance` asks every read operation and dry-run once, with arguments from earlier answers, and one question about
each entry of the list of recorded behaviour that can be asked for safely. A probe returns None if the service behaves
as described, else the behaviour seen: a short description, or the answer. A switch of the simulator that is turned off
makes exactly its own probe differ.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import EllipsisType
from typing import TYPE_CHECKING, Any, TypeVar, cast

import attrs
import msgspec

from .._generated import models
from .._generated.behaviours import BEHAVIOURS, UNASKED
from .._generated.operations import OPERATIONS
from ..errors import APIError, BrokerageError, ConfigurationError, OrderOutcomeUnknownError, ResponseDecodeError
from ..journal import EntryState, MemoryJournal
from ..operation import BoundCall, Effect, Operation
from ..order_entry import ChangeOutcome, Outcome
from ..protocol.conformance import CODES, Finding, Words, compare, compare_refusal
from ..protocol.decoding.codec import Decoded, decode, encode
from ..protocol.decoding.lenient import parse
from ..protocol.order_status import TERMINAL
from ..protocol.request import ACCEPT_VERSION
from ..tickets import buy_to_open, limit

if TYPE_CHECKING:
    from ..client import Client
    from ..order_entry import OrderEntry

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

    async def editable(self) -> models.Order:
        for order in (await self.ask("orders.list_live")).rows:
            if order.editable and order.id:
                return cast("models.Order", order)
        raise NotAskedError("no order can be edited")

    async def editable_id(self) -> str | None:
        return (await self.editable()).id

    async def same_terms(self) -> bytes:
        """Return an edit of that order which changes nothing."""
        return encode(models.OrderEditDryRun.of(models.OrderEdit.of(await self.editable())))

    async def simulated_trade(self) -> bytes:
        start = dt.datetime.combine(self.today - dt.timedelta(days=30), dt.time(14, 30), dt.UTC)
        bought = models.SimulatedTradeLeg(symbol="AAPL", direction=models.BacktestDirection.LONG, quantity=1)
        end = start + dt.timedelta(days=2)
        return encode(models.SimulatedTrade(underlying="AAPL", legs=(bought,), start_time=start, end_time=end))

    # Questions.

    async def ask(self, name: str) -> Answer:
        """Return the answer of an operation, asked once. Raises `NotAskedError` where it cannot be asked."""

        async def ask_first() -> Answer:
            operation = OPERATIONS[name]
            if operation.effect is Effect.MUTATE:
                raise NotAskedError("it changes something")
            if name in NEVER_ASKED:
                raise NotAskedError(NEVER_ASKED[name])
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

NEVER_ASKED: Mapping[str, str] = {
    "oauth.token": "the client asks for its tokens itself, and an answer holds secrets",
    "complex_orders.edit_pairs_dry_run": "it needs a PAIRS order that works",
}

# Probes.

Probe = Callable[[Witness], Awaitable[Answer | str | None]]

VERSION = OPERATIONS["orders.list"].version or ""  # interface version that the client was written for

PRICE = "10.00"
"""Limit of the order of ``--orders``: far below the market, and above the 3 dollars of old recipes for fills."""
TRIES, PAUSE = 60, 1.0  # number of attempts to cancel that order, and seconds between them

UNRELATED = frozenset(
    {
        "margin_check_failed", "tif_no_after_hours_opening_market_orders", "illegal_buy_and_sell_on_same_symbol",
        "cannot_close_against_more_than_existing_position", "invalid_symbol", "not_permitted", "unauthorized",
    }
)  # fmt: skip
"""Codes that say nothing about the rule which a dry-run breaks."""

CLOSED = {models.PreflightCode.TIF_NEXT_VALID_SESSION, models.PreflightCode.TIF_NEXT_VALID_SESSSION}


async def examine(client: Client, account: str | None = None, *, orders: bool = False) -> dict[str, Any]:
    """Ask the service of a client and return the report: findings, states of operations and behaviours, versions asked.

    Without an ``account`` the first one of the customer is asked about. With ``orders``, in the sandbox only, one order
    is placed and cancelled; OrderOutcomeUnknownError says that it may still work.
    """
    witness, probes = Witness(client, account), dict(PROBES)
    if orders:
        probes["external_identifier_echoed"] = external_identifier_echoed
    answers = {name: await outcome_of(witness.ask(name)) for name in OPERATIONS}
    seen = {
        name: await outcome_of(probes[name](witness))
        if name in probes
        else NotAskedError(UNASKED.get(name, "it has no probe"))
        for name in BEHAVIOURS
    }
    described = [(each.operation, each.body) for each in witness.answers if each.operation is not None]
    others = [each.body.decode(errors="replace") for each in witness.answers if each.operation is None]
    words = Words(described, [*others, *(text for each in witness.answers for text in each.texts)])
    findings, operations, behaviours, versions = list[Finding](), dict[str, str](), dict[str, str](), dict[str, str]()
    for name, answer in answers.items():
        if isinstance(answer, NotAskedError):
            operations[name] = f"not asked: {answer}"
            continue
        found = answer.differences(words)
        findings += found
        operations[name] = ("differs" if found else "as described") if answer.is_success else answer.summary(words)
        if answer.version is not None:
            versions[name] = answer.version
    for name, what in seen.items():
        if isinstance(what, NotAskedError) or what is None:
            behaviours[name] = "as described" if what is None else f"not asked: {what}"
            continue
        shown = what if isinstance(what, str) else what.summary(words)
        findings.append(Finding("behaviours", name, BEHAVIOURS[name], shown))
        behaviours[name] = f"differs: {shown}"
    states = {"operations": operations, "behaviours": behaviours, "versions": versions}
    return {"findings": [*map(attrs.asdict, findings)], **states}


# Customers, versions, lists.


async def customer_is_me(witness: Witness) -> Answer | None:
    identifier = await witness.fill(Row("accounts.customer", "id"))
    if identifier == "me":
        return None
    answer = await witness.send(OPERATIONS["accounts.list"].bind(customer_id=identifier))
    return answer if answer.is_success else None


def require_versions(witness: Witness) -> None:
    """Ask no further in the sandbox, where the client asks for no version."""
    if not witness.in_production:
        raise NotAskedError("the client asks for no version in the sandbox")


async def versioned(witness: Witness, name: str, version: str | None = VERSION) -> Answer:
    """Return the answer of a list of an account or a customer in a version."""
    require_versions(witness)
    return await witness.send(await witness.bind(name), version=version)


def is_answered(answer: Answer) -> bool:
    """Return whether a list was answered. A refusal of the version or of a value counts, others say nothing."""
    if answer.status in (401, 403, 404, 429) or answer.status >= 500:
        raise NotAskedError("the request was refused for another reason")
    return answer.is_success


def unless_refused(answer: Answer, *statuses: int) -> Answer | None:
    """Return an answer that is no refusal with one of these statuses."""
    return answer if is_answered(answer) or answer.status not in statuses else None


def is_paged(answer: Answer) -> bool:
    return answer.decoded is not None and answer.decoded.pagination is not None


def has_pages(name: str) -> Probe:
    async def probe(witness: Witness) -> Answer | str | None:
        answer = await versioned(witness, name)
        if not is_answered(answer):
            return answer
        return None if is_paged(answer) else "a list without pages"

    return probe


async def balances_are_a_list(witness: Witness) -> Answer | str | None:
    answer = await versioned(witness, "balances.list")
    if not is_answered(answer):
        return answer
    if answer.decoded is None:
        return "a body that cannot be read"
    raw = parse(answer.body)
    data = raw.get("data") if isinstance(raw, dict) else None
    return None if isinstance(data, dict) and "items" in data else "one object"


async def search_without_start(witness: Witness, version: str | None = VERSION) -> Answer:
    require_versions(witness)
    return await witness.get(f"/accounts/{await witness.account()}/orders", version=version, per_page=1)


async def order_searches_need_a_start(witness: Witness) -> Answer | None:
    return unless_refused(await search_without_start(witness), 400)


async def older_versions_get_a_406(witness: Witness) -> Answer | None:
    """Ask for a version that is long gone."""
    require_versions(witness)
    answer = await witness.send(OPERATIONS["market_time.equity_holidays"].bind(), version="20200101")
    return None if answer.status == 406 else answer


async def no_version_gets_the_oldest(witness: Witness) -> str | None:
    """Look for what only the newest version does: the pages of a customer's list, and the refusal of a search."""
    for version in ("20250813", None):
        live, search = await versioned(witness, "orders.live", version), await search_without_start(witness, version)
        is_answered(live)
        is_new = search.status == 400 or is_paged(live)
        if version is not None and (is_new or live.status == 406):
            raise NotAskedError("the versions cannot be told apart")
    return "a newer version" if is_new else None


async def pages_have_maxima(witness: Witness) -> Answer | None:
    """Ask for one row more than a page may have."""
    account, start = await witness.account(), witness.today.isoformat()
    version = VERSION if witness.in_production else None
    for name, most in (("orders", 200), ("transactions", 2_000)):
        answer = await witness.get(f"/accounts/{account}/{name}", version=version, per_page=most + 1, start_date=start)
        if unless_refused(answer, 400):
            return answer
    return None


async def order_searches_take_three_underlying_types(witness: Witness) -> Answer | None:
    """Search for the orders of warrants, which is refused."""
    bound = OPERATIONS["orders.list"].bind(
        account_number=await witness.account(), underlying_instrument_type=models.InstrumentType.WARRANT, per_page=1
    )
    return unless_refused(await witness.send(bound), 400, 422)


# Fields.


async def rows_of(witness: Witness, name: str) -> Sequence[Any]:
    rows = (await witness.ask(name)).rows
    if not rows:
        raise NotAskedError(f"{name} has no row")
    return rows


def some_row(name: str, has: Callable[[Any], bool], said: str) -> Probe:
    """Return the probe of a field that some row of an answer has."""

    async def probe(witness: Witness) -> str | None:
        return None if any(map(has, await rows_of(witness, name))) else said

    return probe


async def quote_token_level(witness: Witness) -> str | None:
    level = "api" if witness.in_production else "demo"
    token = await witness.fill(Row("market_data.quote_token"))
    return None if token.level == level else f"another level than {level}"


async def tick_tables_by_threshold(witness: Witness) -> str | None:
    """Look for exactly one row without a threshold in each table."""
    tables = [row.tick_sizes for row in await rows_of(witness, "instruments.equities") if row.tick_sizes]
    if not tables:
        raise NotAskedError("instruments.equities has no table of ticks")
    open_ended = {sum(each.threshold is None for each in table) for table in tables}
    return None if open_ended == {1} else "tables without exactly one row that has no threshold"


# Dry-runs.


def refused(terms: object, code: str | None = None, operation: str = "orders.dry_run") -> Probe:
    """Return the probe of a rule: a dry-run that breaks it is refused, with ``code`` if that is known."""

    async def probe(witness: Witness) -> Answer | None:
        answer = await witness.dry_run(terms, operation)
        codes = {each for each in answer.codes if each}
        if is_answered(answer):
            return answer
        if code in codes or (code is None and not codes & UNRELATED):
            return None
        if codes & UNRELATED:
            raise NotAskedError("the dry-run was refused for another reason")
        return answer

    return probe


def warnings_of(answer: Answer) -> set[str]:
    return {str(each.code) for placed in answer.rows for each in placed.warnings or ()}


async def warnings_when_closed(witness: Witness) -> set[str]:
    """Return the warnings of an order of the day that would wait for the next session, which its dry-run says."""
    warnings = warnings_of(await witness.ask("orders.dry_run"))
    if not warnings & CLOSED:
        raise NotAskedError("the market is open")
    return warnings


async def leg_when_closed(witness: Witness) -> object:
    await warnings_when_closed(witness)
    return BUY


async def legs_of_two_options(witness: Witness) -> object:
    return [{**OPTION, "symbol": each} for each in await witness.options()]


async def latest_future_option(witness: Witness) -> str:
    rows = await rows_of(witness, "instruments.future_options")
    return str(max(rows, key=lambda row: str(row.expiration_date)).symbol)


async def too_much_of_a_position(witness: Witness) -> object:
    """Return the leg that sells one share more than the account holds."""
    for held in (await witness.ask("positions.list")).rows:
        is_long = held.quantity_direction is models.QuantityDirection.LONG
        if held.instrument_type is models.InstrumentType.EQUITY and is_long and held.quantity is not None:
            return {**BUY, "symbol": held.symbol, "action": "Sell to Close", "quantity": str(int(held.quantity) + 1)}
    raise NotAskedError("the account holds no shares")


async def next_session_warning_is_dotted(witness: Witness) -> str | None:
    """Look which of two spellings the warning has."""
    is_dotted = models.PreflightCode.TIF_NEXT_VALID_SESSION in await warnings_when_closed(witness)
    return None if is_dotted else models.PreflightCode.TIF_NEXT_VALID_SESSSION.value


async def close_of_nothing(witness: Witness) -> tuple[bool, set[str]]:
    """Return whether the dry-run of a close without a position becomes one of an opening order, and its warnings."""
    answer = await witness.once("close of nothing", lambda: witness.dry_run(CLOSE))
    orders = [placed.order for placed in answer.rows if placed.order is not None]
    if not orders:
        raise NotAskedError("the dry-run was refused")
    actions = {str(each.action) for order in orders for each in order.legs or ()}
    return actions == {"Sell to Open"}, warnings_of(answer)


async def close_becomes_open(witness: Witness) -> str | None:
    becomes_open, _ = await close_of_nothing(witness)
    return None if becomes_open else "the leg stays a close"


async def closing_with_no_position(witness: Witness) -> str | None:
    becomes_open, warnings = await close_of_nothing(witness)
    if "closing_with_no_position" in warnings:
        return None
    if not becomes_open:
        raise NotAskedError("the close stays one")
    return "no such warning"


# One order, placed and cancelled.


async def external_identifier_echoed(witness: Witness) -> str | None:
    """Place an order, look whether the answer and the list show its identifier, and cancel it."""
    account, client = await witness.account(), witness.client
    order = limit(buy_to_open(await witness.symbol(), 1), price=PRICE)
    entry = client.order_entry(MemoryJournal())
    try:
        placed = await entry.place(account, order, allow_warnings=True)
        if placed.outcome is not Outcome.PLACED or placed.order is None:
            raise NotAskedError("the order was refused")
        listed = [each async for each in client.orders.list_live(account) if each.id == placed.order_id]
        shown = [each.external_identifier == placed.external_identifier for each in (placed.order, *listed)]
    except BrokerageError as error:
        raise NotAskedError(f"{type(error).__name__} while the order was placed") from None
    finally:
        leaving = asyncio.ensure_future(leave_nothing(entry, client, account))
        try:
            await asyncio.wait({leaving})
        finally:  # interrupted or not, the order is cancelled first
            await asyncio.wait({leaving})
            leaving.result()
    if len(shown) < 2:
        raise NotAskedError("the order is not in the live list")
    return None if all(shown) else f"not shown in the {'list' if shown[0] else 'answer'}"


async def leave_nothing(entry: OrderEntry, client: Client, account: str) -> None:
    """Cancel the order, also one whose answer was never read. Raise OrderOutcomeUnknownError if it may still work."""
    await entry.recover()
    for journaled in await entry.journal.entries():
        order_id = journaled.order_id or ""
        is_over, is_asked = journaled.state not in (EntryState.OPEN, EntryState.PLACED), False
        for _ in range(TRIES if order_id and not is_over else 0):
            with contextlib.suppress(BrokerageError):
                is_asked = is_asked or (await entry.cancel(account, order_id)).outcome is ChangeOutcome.APPLIED
                is_over = str((await client.orders.get(account, order_id)).status) in TERMINAL
            if is_over:
                break
            await asyncio.sleep(PAUSE)  # an order that is not live yet cannot be cancelled
        if not is_over:
            identifier = journaled.key.external_identifier
            raise OrderOutcomeUnknownError(
                f"order {order_id or identifier} of account {account} may still work: cancel it by hand",
                account_number=account,
                external_identifier=identifier,
            )


MARKET: Terms = {"order_type": "Market", "time_in_force": "Day", "legs": [BUY]}
OPTION: Terms = {**BUY, "symbol": Witness.option, "instrument_type": "Equity Option"}
COMPLEX = "complex_orders.dry_run"
PROBES: Mapping[str, Probe] = {
    each.__name__: each
    for each in (
        customer_is_me, close_becomes_open, closing_with_no_position, older_versions_get_a_406,
        no_version_gets_the_oldest, balances_are_a_list, order_searches_need_a_start, pages_have_maxima,
        order_searches_take_three_underlying_types, tick_tables_by_threshold, next_session_warning_is_dotted,
        quote_token_level,
    )
} | {
    "equity_options_in_pages": has_pages("instruments.equity_options"),
    "account_live_list_in_pages": has_pages("orders.list_live"),
    "customer_live_list_in_pages": has_pages("orders.live"),
    "day_trader_fields_still_arrive": some_row(
        "accounts.list", lambda row: row.account and row.account.day_trader_status is not None, "no such field"
    ),
    "metrics_have_two_spellings": some_row(
        "market_metrics.list", lambda row: row.implied_volatility_index_rank is not None, "neither spelling"
    ),
    "oco_orders_are_a_limit_and_a_stop": refused(
        {"type": "OCO", "orders": [PROFIT, PROFIT]}, "invalid_oco_order_type_combo", COMPLEX
    ),
    "cryptocurrency_orders_are_off": refused({
        **LIMIT,
        "legs": [{
            **BUY, "symbol": Row("instruments.cryptocurrencies", "symbol"), "quantity": "0.001",
            "instrument_type": "Cryptocurrency",
        }],
    }),
    "price_terms_by_order_type": refused({**LIMIT, "price_effect": None}),
    "market_orders_have_one_leg": refused({**MARKET, "legs": legs_of_two_options}),
    "stops_of_spreads_have_a_net_trigger": refused(
        {**MARKET, "order_type": "Stop", "stop_trigger": "9000", "legs": legs_of_two_options}
    ),
    "future_options_have_no_stops": refused({
        **MARKET, "order_type": "Stop", "stop_trigger": "9000", "legs": [{
            **BUY, "instrument_type": "Future Option", "symbol": latest_future_option,
        }],
    }),
    "market_orders_are_never_gtc": refused(
        {**MARKET, "order_type": "Stop", "time_in_force": "GTC", "stop_trigger": "9000"},
        "gtc_market_orders_not_supported",
    ),
    "opening_market_orders_need_an_open_market": refused(
        {**MARKET, "legs": [leg_when_closed]}, "tif_no_after_hours_opening_market_orders"
    ),
    "fractions_are_small_market_orders": refused({
        **MARKET, "order_type": "Notional Market", "value": "1", "value_effect": "Debit",
        "legs": [{**BUY, "quantity": None}],
    }),
    "extended_hours_are_for_equities": refused({**LIMIT, "time_in_force": "Ext", "legs": [OPTION]}),
    "buy_and_sell_are_for_futures": refused({
        **LIMIT,
        "legs": [{**BUY, "symbol": latest_future_option, "action": "Buy", "instrument_type": "Future Option"}],
    }),
    "conditions_are_complete": refused({
        **LIMIT, "rules": {"conditions": [{"action": "route", "comparator": "gte", "symbol": Witness.symbol}]},
    }),
    "legs_are_distinct_and_few": refused({**LIMIT, "legs": [OPTION, OPTION]}),
    "complex_orders_have_their_components": refused({"type": "OTOCO", "orders": [PROFIT, LOSS]}, operation=COMPLEX),
    "blast_orders_are_refused": refused({"type": "BLAST", "orders": [PROFIT, LOSS]}, operation=COMPLEX),
    "margin_orders_have_four_distinct_legs": refused({**MARGIN, "legs": [BUY, BUY]}, operation="margin.dry_run"),
    "no_account_holds_both_sides": refused(
        {**CLOSE, "legs": [too_much_of_a_position]}, "cannot_close_against_more_than_existing_position"
    ),
}  # fmt: skip
"""Probes by the entry of the list that they ask about."""
