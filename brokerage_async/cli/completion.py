"""Shell completion of commands and options, without importing more than the command tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["SCRIPTS", "VARIABLE", "complete"]

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


def complete(command: Any, words: Sequence[str]) -> list[str]:
    """Return the commands or options that the last of ``words`` may become.

    Args:
        command: root of the command tree.
        words: words of the line after the program, the unfinished one last.
    """
    *before, unfinished = words or [""]
    for word in before:
        command = getattr(command, "commands", {}).get(word, command)
    if unfinished.startswith("-"):
        found = ["--help", *(name for each in command.params for name in (*each.opts, *each.secondary_opts))]
    else:
        found = list(getattr(command, "commands", ()))
    return [name for name in found if name.startswith(unfinished)]
