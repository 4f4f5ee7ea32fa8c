"""``brokerage-async completion``: commands, options and their values in a shell.

typer's own completion imports pydantic and rich for each candidate list, which takes twice as long.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

VARIABLE = "_BROKERAGE_ASYNC_COMPLETE"
"""When it is set, the console script prints the candidates for its last argument, and nothing else is done."""

SCRIPTS: Mapping[str, str] = {
    "bash": """\
_brokerage_async() {
    local IFS=$'\\n'
    COMPREPLY=($(_BROKERAGE_ASYNC_COMPLETE=1 "$1" "${COMP_WORDS[@]:1:COMP_CWORD}"))
}
complete -o default -F _brokerage_async brokerage-async
""",
    "zsh": """\
#compdef brokerage-async
_brokerage_async() {
    local -a found
    found=(${(f)"$(_BROKERAGE_ASYNC_COMPLETE=1 ${words[1]} ${words[2,CURRENT]})"})
    if (( ${#found} )); then compadd -a found; else _files; fi
}
compdef _brokerage_async brokerage-async
""",
    "fish": """\
complete -c brokerage-async -a '(_BROKERAGE_ASYNC_COMPLETE=1 brokerage-async (commandline -opc)[2..] (commandline -ct))'
""",
}
"""Completion scripts by name of the shell."""


class Shell(enum.StrEnum):
    """Shells that completion is available for."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(shell: Annotated[Shell, typer.Argument(help="shell to print the script for")]) -> None:
    """Print a script that completes commands, options and their values.

    Run it where the shell starts: `source <(brokerage-async completion bash)` in ~/.bashrc, the same with zsh in
    ~/.zshrc after compinit, or `brokerage-async completion fish | source` in ~/.config/fish/config.fish.
    """
    typer.echo(SCRIPTS[shell], nl=False)


def complete(command: Any, words: Sequence[str]) -> list[str]:
    """Return the commands, options or values that the last of ``words`` may become, from the root of the commands."""
    *before, unfinished = words or [""]
    option, positional = None, 0
    for word in before:
        within = getattr(command, "commands", {})
        if option is not None:
            option = None  # the word is its value
        elif word in within:
            command, positional = within[word], 0
        elif word.startswith("-"):
            option = next((each for each in command.params if word in each.opts and not each.is_flag), None)
        else:
            positional += 1
    if option is None and unfinished.startswith("-"):
        found = ["--help", *(name for each in command.params for name in (*each.opts, *each.secondary_opts))]
        return [name for name in dict.fromkeys(found) if name.startswith(unfinished)]
    found = list(getattr(command, "commands", ()))
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    asked = option or next((each for each in arguments[positional:]), None)
    if asked is not None:
        context = command.context_class(command)
        found += [each.value for each in asked.shell_complete(context, unfinished)]
    return [name for name in found if name.startswith(unfinished)]
