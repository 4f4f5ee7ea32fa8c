"""Tables of instruments whose rows are kept as rendered JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from ..._generated.converters import Wire
from ..api.wire import dumps

T = TypeVar("T")


class RowTable(Generic[T]):
    """Definitions by symbol, with JSON that is rendered at first use and kept.

    ``definitions`` are cheap values; ``render`` turns one into the wire struct that is sent, or its JSON.
    """

    def __init__(
        self, definitions: Sequence[T], symbol_of: Callable[[T], str], render: Callable[[T], Wire | msgspec.Raw]
    ) -> None:
        self.definitions = definitions
        self._render = render
        self._index = {symbol_of(definition): n for n, definition in enumerate(definitions)}
        self._rows: list[bytes | None] = [None] * len(definitions)

    def __len__(self) -> int:
        return len(self.definitions)

    def get(self, symbol: str) -> T | None:
        """Return the definition of ``symbol``, or None."""
        position = self._index.get(symbol)
        return None if position is None else self.definitions[position]

    def positions(self, symbols: Iterable[str] | None) -> Sequence[int]:
        """Return the positions of known symbols, each once, in the order of the table. All for None."""
        index = self._index
        if symbols is None:
            return range(len(self.definitions))
        return sorted({index[symbol] for symbol in symbols if symbol in index})

    def select(self, positions: Iterable[int], keep: Callable[[T], bool]) -> list[int]:
        """Return the positions whose definition passes ``keep``."""
        definitions = self.definitions
        return [position for position in positions if keep(definitions[position])]

    def wire(self, position: int) -> Any:
        """Return the wire struct of the row at a position, not kept."""
        return self._render(self.definitions[position])

    def rows(self, positions: Iterable[int]) -> list[bytes]:
        """Return the JSON of the rows at ``positions``."""
        rows = self._rows
        found: list[bytes] = []
        for position in positions:
            row = rows[position]
            if row is None:
                row = rows[position] = dumps(self._render(self.definitions[position]))
            found.append(row)
        return found
