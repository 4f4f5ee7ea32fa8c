"""The consoles of stdout and stderr: strings of the service and of users are shown, never obeyed."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from .tables import printable


class PlainConsole(Console):
    """Console for strings of others: none of them is markup, or reaches the terminal as a control sequence."""

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """Render a string: all that is printed passes here, cells and titles of tables as well."""
        return super().render_str(printable(text), **options)


out: Console = PlainConsole()
err: Console = PlainConsole(stderr=True)
