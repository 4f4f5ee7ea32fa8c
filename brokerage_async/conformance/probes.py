"""Questions of `conformance` about recorded behaviour, one for each entry of the list that can be asked for safely.

A probe returns None if the service behaves as described, else the behaviour seen: a short description, or the answer. A
switch of the simulator that is turned off makes exactly its own probe differ.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from .._generated.behaviours import BEHAVIOURS, UNASKED
from .._generated.models import InstrumentType, PreflightCode, QuantityDirection
from .._generated.operations import OPERATIONS
from ..errors import BrokerageError, OrderOutcomeUnknownError
from ..journal import EntryState, MemoryJournal
from ..order_entry import ChangeOutcome, Outcome
from ..protocol.conformance import Finding, Words
from ..protocol.decoding.lenient import parse
from ..protocol.order_status import TERMINAL
from ..tickets import buy_to_open, limit
from .witness import BUY, CLOSE, LIMIT, LOSS, MARGIN, PROFIT, Answer, NotAskedError, Row, Terms, Witness, outcome_of

if TYPE_CHECKING:
    from ..client import Client
    from ..order_entry import OrderEntry

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

CLOSED = frozenset({PreflightCode.TIF_NEXT_VALID_SESSION.value, PreflightCode.TIF_NEXT_VALID_SESSSION.value})


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
        account_number=await witness.account(), underlying_instrument_type=InstrumentType.WARRANT, per_page=1
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
        is_long = held.quantity_direction is QuantityDirection.LONG
        if held.instrument_type is InstrumentType.EQUITY and is_long and held.quantity is not None:
            return {**BUY, "symbol": held.symbol, "action": "Sell to Close", "quantity": str(int(held.quantity) + 1)}
    raise NotAskedError("the account holds no shares")


async def next_session_warning_is_dotted(witness: Witness) -> str | None:
    """Look which of two spellings the warning has."""
    is_dotted = PreflightCode.TIF_NEXT_VALID_SESSION in await warnings_when_closed(witness)
    return None if is_dotted else PreflightCode.TIF_NEXT_VALID_SESSSION.value


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
