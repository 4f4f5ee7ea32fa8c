"""``brokerage-async accounts | positions | balances``."""

from __future__ import annotations

from typing import Annotated

import typer

from .options import Account, AsJson, Customer, Simulated

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (accounts, positions, balances):
        app.command(command.__name__)(command)


def accounts(customer: Customer = "me", as_json: AsJson = False, simulated: Simulated = False) -> None:
    """List the accounts of a customer."""
    from ..accounts import Reading, list_accounts
    from ..console import run

    run(list_accounts(Reading(as_json=as_json, simulated=simulated), customer))


def positions(
    account: Account = None,
    closed: Annotated[bool, typer.Option("--closed", help="also positions that were closed today")] = False,
    as_json: AsJson = False,
    simulated: Simulated = False,
) -> None:
    """Show the positions of an account with their value and gain."""
    from ..accounts import Reading, show_positions
    from ..console import run

    run(show_positions(Reading(account=account, as_json=as_json, simulated=simulated), closed=closed))


def balances(account: Account = None, as_json: AsJson = False, simulated: Simulated = False) -> None:
    """Show cash, buying power and requirements of an account."""
    from ..accounts import Reading, show_balances
    from ..console import run

    run(show_balances(Reading(account=account, as_json=as_json, simulated=simulated)))
