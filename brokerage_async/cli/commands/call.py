"""``brokerage-async call OPERATION --parameter value``."""

from __future__ import annotations

from typing import Annotated

import typer

from .options import Simulated, Yes

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("call", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(call)


def call(
    context: typer.Context,
    operation: Annotated[
        str,
        typer.Argument(help="such as market_metrics.dividends; `list` names them all, `list NAME` describes one"),
    ],
    body: Annotated[str | None, typer.Option(help="JSON of the request body, @FILE or - for standard input")] = None,
    max_items: Annotated[int | None, typer.Option(help="stop a paginated list after so many items")] = None,
    yes: Yes = False,
    simulated: Simulated = False,
) -> None:
    """Call any operation by its name and print the result as JSON.

    Parameters are given as `--name value`, repeated for lists: `--symbols AAPL --symbols MSFT`. An operation that
    changes something asks first; orders are placed with `brokerage-async orders`, which journals them.
    """
    from ..call import describe, perform
    from ..console import run

    if operation == "list":
        run(describe(context.args))
    else:
        run(perform(operation, context.args, body, max_items, yes=yes, simulated=simulated))
