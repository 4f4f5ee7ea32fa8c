"""Tables whose rows are rendered once."""

from __future__ import annotations

from brokerage_async._generated.converters import WarrantWire
from brokerage_async.simulator.market.row_table import RowTable

SYMBOLS = ["b", "a", "c"]


def table(written: list[str]) -> RowTable[str]:
    def render(symbol: str) -> WarrantWire:
        written.append(symbol)
        return WarrantWire(symbol=symbol)

    return RowTable(SYMBOLS, str, render)


def test_rows_are_rendered_once_and_found_by_symbol_and_filter() -> None:
    written: list[str] = []
    rows = table(written)
    assert written == []
    assert rows.rows([1, 1]) == [b'{"symbol":"a"}'] * 2
    assert rows.rows(range(3))[1] is rows.rows([1])[0]
    assert written == ["a", "b", "c"]
    rows = table([])
    assert (len(rows), rows.get("c"), rows.get("d")) == (3, "c", None)
    assert rows.positions(["c", "d", "b", "c"]) == [0, 2]
    assert rows.positions([]) == []
    rows = table([])
    assert rows.select(range(3), lambda symbol: symbol > "a") == [0, 2]
    assert rows.select([1], lambda symbol: symbol > "a") == []
