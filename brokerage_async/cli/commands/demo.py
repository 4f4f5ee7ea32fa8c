"""``brokerage-async demo``."""

from __future__ import annotations

import typer

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("demo", short_help="Show the main job, from a token to a filled order.")(demo)


def demo() -> None:
    """Get a token, page through all equities, fetch a 20,000-row chain, place an order and watch it fill.

    Runs on an embedded simulator. With BROKERAGE_BASE_URL set, the reading parts run against that service and no
    order is sent.
    """
    from ..console import run
    from ..demo import perform

    run(perform())
