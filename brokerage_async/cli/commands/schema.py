"""``brokerage-async schema``."""

from __future__ import annotations

import importlib.resources

import typer

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("schema", short_help="Print the schema of the service for other tools.")(schema)


def schema() -> None:
    """Print the OpenAPI 3.1 document of the service as JSON, for generators, linters and documentation tools.

    One document without references to files: `brokerage-async schema > openapi.json`.
    """
    bundle = importlib.resources.files("brokerage_async._generated") / "openapi.json"
    typer.echo(bundle.read_text("utf-8"), nl=False)
