"""``brokerage-async conformance``: what a service does otherwise than the schema and the list of behaviour say."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from .console import complain, echo_json
from .options import Account, AsJson, Simulated

if TYPE_CHECKING:
    from ..client import Client
    from ..observers import Attempt
    from ..order_entry import OrderEntry
    from .witness import Witness

__all__ = ["conformance", "examine", "exit_code_of"]

NOT_ASKED = 2
"""Exit code if the service could not be asked."""

PRICE = "10.00"
"""Limit of the order of ``--orders``: far below the market, and above the 3 dollars of old recipes for fills."""
TRIES, PAUSE = 60, 1.0
"""Number of attempts to cancel that order, and seconds between them."""


async def conformance(
    simulated: Simulated = False,
    orders: Annotated[
        bool, typer.Option("--orders", help="in the sandbox: place one order far from the market, and cancel it")
    ] = False,
    account: Account = None,
    as_json: AsJson = False,
) -> None:
    """Compare what a service does with what this library describes, for a report to the project.

    Asks every read operation and dry-run once, and for each recorded behaviour that can be asked for safely. Nothing is
    changed without --orders. The report has names of fields, types and codes: no token, name, number of an account,
    symbol or amount. Exit code: 0 nothing differs, 1 something does, 2 the service was not asked.
    """
    from ..config import Limits
    from ..errors import BrokerageError, ConfigurationError
    from .service import connect

    sent: list[Attempt] = []
    played: Literal["sandbox", "production"] = "sandbox" if orders else "production"
    options = {"limits": Limits.published(), "observers": [sent.append]}
    account = account or (None if simulated else os.environ.get("BROKERAGE_ACCOUNT"))
    try:
        async with connect(simulated=simulated, environment=played, **options) as service:
            client = service.client
            if orders and client.environment.is_production:
                raise ConfigurationError("--orders places an order, and is refused outside of the sandbox")
            await client.authorize()
            report = await examine(client, account, orders=orders)
            environment_name = client.environment.name
    except (BrokerageError, OSError) as error:
        complain(error, style="red")
        raise typer.Exit(NOT_ASKED) from None
    if as_json:
        echo_json(report)
    else:
        _show(report, f"{environment_name}, {len(sent)} requests")
    raise typer.Exit(exit_code_of(report))


def _show(report: dict[str, Any], title: str) -> None:
    """Print the findings, then everything that was asked."""
    from .console import show_items

    show_items(report["findings"], dict, f"Findings: {title}", empty=f"Nothing differs: {title}.", folded=("expected",))
    for kind in ("operations", "behaviours"):
        rows = [{kind[:-1]: name, "state": state} for name, state in report[kind].items()]
        show_items(rows, dict, kind.capitalize(), folded=("state",))


def exit_code_of(report: dict[str, Any]) -> int:
    """Return 0 if nothing differs, 1 for findings, 2 if no operation was answered or refused but for the login."""
    asked = [state for state in report["operations"].values() if not state.startswith("not asked")]
    if not asked or all(state.startswith("refused (401") for state in asked):
        return NOT_ASKED
    return 1 if report["findings"] else 0


async def examine(client: Client, account: str | None = None, *, orders: bool = False) -> dict[str, Any]:
    """Ask the service of a client and return the report; see `conformance`.

    Args:
        client: the client to ask with.
        account: account number, None for the first one of the customer.
        orders: also place one order and cancel it; in the sandbox only.

    Raises:
        OrderOutcomeUnknownError: the order of ``orders`` may still work.
    """
    from .probes import PROBES, unasked
    from .witness import Witness

    witness, probes = Witness(client, account), dict(PROBES)
    if orders:
        probes["external_identifier_echoed"] = _external_identifier_echoed
    return await witness.examine(probes, unasked)


async def _external_identifier_echoed(witness: Witness) -> str | None:
    """Place an order, look whether the answer and the list show its identifier, and cancel it."""
    import asyncio

    from ..errors import BrokerageError
    from ..journal import MemoryJournal
    from ..order_entry import Outcome
    from ..tickets import buy_to_open, limit
    from .witness import NotAskedError

    account, client, journal = await witness.account(), witness.client, MemoryJournal()
    order = limit(buy_to_open(await witness.symbol(), 1), price=PRICE)
    entry = client.order_entry(journal)
    try:
        placed = await entry.place(account, order, allow_warnings=True)
        if placed.outcome is not Outcome.PLACED or placed.order is None:
            raise NotAskedError("the order was refused")
        listed = [each async for each in client.orders.list_live(account) if each.id == placed.order_id]
        shown = [each.external_identifier == placed.external_identifier for each in (placed.order, *listed)]
    except BrokerageError as error:
        raise NotAskedError(f"{type(error).__name__} while the order was placed") from None
    finally:
        leaving = asyncio.ensure_future(_leave_nothing(entry, client, account))
        try:
            await asyncio.wait({leaving})
        except asyncio.CancelledError:  # interrupted: the order is cancelled first
            await asyncio.wait({leaving})
            leaving.result()
            raise
        leaving.result()
    if len(shown) < 2:
        raise NotAskedError("the order is not in the live list")
    return None if all(shown) else f"not shown in the {'list' if shown[0] else 'answer'}"


async def _leave_nothing(entry: OrderEntry, client: Client, account: str) -> None:
    """Cancel what was placed, also where nobody waited for the answer, and return when it is over.

    Raises:
        OrderOutcomeUnknownError: the order may still work.
    """
    import asyncio
    from contextlib import suppress

    from ..errors import BrokerageError, OrderOutcomeUnknownError
    from ..journal import EntryState
    from ..order_entry import ChangeOutcome
    from ..protocol.order_status import TERMINAL

    await entry.recover()
    for journaled in await entry.journal.entries():
        order_id = journaled.order_id or ""
        is_over, is_asked = journaled.state not in (EntryState.OPEN, EntryState.PLACED), False
        for _ in range(TRIES if order_id and not is_over else 0):
            with suppress(BrokerageError):
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
