"""``brokerage-async orders halt | resume | status``: the switch of a journal, without a service."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .console import echo_json, say
from .journals import JournalAt, open_journal
from .options import AsJson
from .tables import moment

if TYPE_CHECKING:
    from ..journal import Halt, JournalEntry, PostgresJournal, SqliteJournal

Scope = Annotated[str | None, typer.Option("--account", help="this account only, instead of every one")]
Label = Annotated[str | None, typer.Option(help="orders of this strategy only, instead of every one")]


async def halt(
    reason: Annotated[str, typer.Argument(help="the reason, for those who see orders stopped")],
    account: Scope = None,
    label: Label = None,
    journal: JournalAt = None,
    as_json: AsJson = False,
) -> None:
    """Stop every new order on a journal, in all processes, and show the orders that are open. Asks nothing.

    Cancellations still go out. An order that is open was recorded before: it may still be sent.
    """
    async with opened(journal) as switch:
        entries = await switch.halt(reason, **scope_of(account, label))
        halts = await switch.halts()
    show_state(halts, entries, as_json=as_json)


async def resume(
    account: Scope = None, label: Label = None, journal: JournalAt = None, as_json: AsJson = False
) -> None:
    """Lift the halt of exactly this account and label, and show those that remain."""
    async with opened(journal) as switch:
        lifted = await switch.resume(**scope_of(account, label))
        halts = await switch.halts()
    if not lifted:
        say("no halt of this account and label was in effect", style="yellow", err=True)
    show_state(halts, None, as_json=as_json)
    if not lifted:
        raise typer.Exit(1)


async def status(journal: JournalAt = None, as_json: AsJson = False) -> None:
    """Show the halts of a journal and its open entries."""
    from ..journal import EntryState

    async with opened(journal) as switch:
        halts = await switch.halts()
        entries = await switch.entries(state=EntryState.OPEN)
    show_state(halts, entries, as_json=as_json)


def scope_of(account: str | None, label: str | None) -> dict[str, str | None]:
    """Return the scope of a halt. A name that is empty, as an unset variable of a shell is, must not stand for all.

    Raises:
        ConfigurationError: a name is empty.
    """
    from ..errors import ConfigurationError

    for name, given in (("--account", account), ("--label", label)):
        if given == "":
            raise ConfigurationError(f"{name} must not be empty: leave it out to mean every one")
    return {"account_number": account, "label": label}


@contextlib.asynccontextmanager
async def opened(journal: str | None) -> AsyncIterator[SqliteJournal | PostgresJournal]:
    """Open the journal that was named, or the default one."""
    switch = open_journal(journal)
    try:
        yield switch
    finally:
        await switch.aclose()


def show_state(halts: list[Halt], entries: list[JournalEntry] | None, *, as_json: bool) -> None:
    """Print the halts in effect, and the open entries if they were read."""
    if as_json:
        state: dict[str, Any] = {"halts": [halt_json(each) for each in halts]}
        if entries is not None:
            state["open"] = [entry_json(each) for each in entries]
        echo_json(state)
        return
    for each in halts:
        scope = [f"account {each.account_number}"] if each.account_number else []
        scope += [f"label {each.label}"] if each.label else []
        what = " and ".join(scope) or "all orders"
        say(f"halted since {moment(each.halted_at)}: {what} ({each.reason})", style="red")
    if not halts:
        say("orders are not halted")
    for entry in entries or ():
        since, account = moment(entry.opened_at), entry.key.account_number
        what = f"replacement of order {entry.replaces}" if entry.replaces else f"order {entry.key.external_identifier}"
        say(f"open since {since}: {what} of account {account}, attempt {entry.attempts}")
    if entries == []:
        say("no order is open")


def halt_json(halt: Halt) -> dict[str, Any]:
    """Return a halt as JSON values."""
    return {
        "account-number": halt.account_number,
        "label": halt.label,
        "reason": halt.reason,
        "halted-at": halt.halted_at.isoformat(),
    }


def entry_json(entry: JournalEntry) -> dict[str, Any]:
    """Return an open entry as JSON values."""
    return {
        "account-number": entry.key.account_number,
        "external-identifier": entry.key.external_identifier,
        "label": entry.label,
        "replaces": entry.replaces or None,
        "attempts": entry.attempts,
        "opened-at": entry.opened_at.isoformat(),
    }
