"""``brokerage-async conformance``: what a service does otherwise than the schema and the list of behaviour say."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from .command import Target, connect
from .console import complain, echo_json, show_items
from .lazy import errors

if TYPE_CHECKING:
    from ..observers import Attempt

NOT_ASKED = 2  # exit code if the service could not be asked


async def conformance(
    orders: Annotated[
        bool, typer.Option("--orders", help="in the sandbox: place one order far from the market, and cancel it")
    ] = False,
    *,
    target: Target,
) -> None:
    """Compare what a service does with what this library describes, for a report to the project.

    Asks every read operation and dry-run once, and for each recorded behaviour that can be asked for safely. Nothing is
    changed without --orders. The report has names of fields, types and codes: no token, name, number of an account,
    symbol or amount. Exit code: 0 nothing differs, 1 something does, 2 the service was not asked.
    """
    from ..config import Limits
    from ..conformance.probes import examine

    sent: list[Attempt] = []
    played: Literal["sandbox", "production"] = "sandbox" if orders else "production"
    options = {"limits": Limits.published(), "observers": [sent.append]}
    account = target.account or (None if target.simulated else os.environ.get("BROKERAGE_ACCOUNT"))
    try:
        async with connect(simulated=target.simulated, environment=played, **options) as service:
            client = service.client
            if orders and client.environment.is_production:
                raise errors.ConfigurationError("--orders places an order, and is refused outside of the sandbox")
            await client.authorize()
            report = await examine(client, account, orders=orders)
            environment_name = client.environment.name
    except (errors.BrokerageError, OSError) as error:
        complain(error, style="red")
        raise typer.Exit(NOT_ASKED) from None
    if target.as_json:
        echo_json(report)
        raise typer.Exit(exit_code_of(report))
    title = f"{environment_name}, {len(sent)} requests"
    show_items(report["findings"], dict, f"Findings: {title}", empty=f"Nothing differs: {title}.", folded=("expected",))
    for kind in ("operations", "behaviours"):
        versions = report["versions"] if kind == "operations" else {}
        rows = [{kind[:-1]: name, "state": state} for name, state in report[kind].items()]
        for row in rows if versions else ():
            row["version"] = versions.get(row["operation"], "")
        show_items(rows, dict, kind.capitalize(), folded=("state",))
    raise typer.Exit(exit_code_of(report))


def exit_code_of(report: dict[str, Any]) -> int:
    """Return 0 if nothing differs, 1 for findings, 2 if no operation was answered or refused but for the login."""
    asked = [state for state in report["operations"].values() if not state.startswith("not asked")]
    if not asked or all(state.startswith("refused (401") for state in asked):
        return NOT_ASKED
    return 1 if report["findings"] else 0
