"""Search for equities."""

from typing import Any

from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.protocol.decoding import codec
from tests.simulator.harness import Harness
from tests.tables import for_each


def decoded(harness: Harness, operation: str, target: str) -> Any:
    return codec.decode(OPERATIONS[operation], harness.ask("GET", target).body, strict=True).value


@for_each(
    "query, count",
    [
        ("query=aapl", 1),
        ("query=holdings", 25),
        ("query=holdings&limit=100", 100),
        ("query=zzzzzz", 0),
        ("query=aapl&type=Equity,Future", 1),
        ("query=aapl&type=Future", 0),
        ("query=aapl&category=Sports", 0),
    ],
)
def test_instruments_are_found_by_symbol_or_name(harness: Harness, query: str, count: int) -> None:
    assert len(decoded(harness, "search.instruments", f"/instruments/search?{query}")) == count


def test_symbols_are_found_by_their_beginning(production: Harness) -> None:
    hits = decoded(production, "search.symbols", "/symbols/search/BRK%2F")
    assert [hit.symbol for hit in hits] == ["BRK/B", "BRK/A"]
    assert production.rows("/symbols/search/zz") == []
