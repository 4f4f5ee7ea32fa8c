"""``brokerage-async completion SHELL``."""

from __future__ import annotations

import enum
from typing import Annotated

import typer

__all__ = ["register"]


class Shell(enum.StrEnum):
    """Shells that completion is available for."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("completion", short_help="Print the completion script of a shell.")(completion)


def completion(shell: Annotated[Shell, typer.Argument(help="shell to print the script for")]) -> None:
    """Print a script that completes commands and options.

    Run it where the shell starts: `source <(brokerage-async completion bash)` in ~/.bashrc, the same with zsh in
    ~/.zshrc after compinit, or `brokerage-async completion fish | source` in ~/.config/fish/config.fish.
    """
    from ..completion import SCRIPTS

    typer.echo(SCRIPTS[shell.value], nl=False)
