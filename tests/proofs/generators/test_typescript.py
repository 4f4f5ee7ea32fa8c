"""Assertions for the TypeScript compiler, and its errors by operation."""

from __future__ import annotations

from tests.proofs.generators.results import LISTS
from tests.proofs.generators.typescript import HELPERS, assertions, problems


def test_assertions_cover_every_list_for_both_tools() -> None:
    source, lines = assertions()
    assert len(lines) == 2 * len(LISTS)
    number = next(number for number, each in lines.items() if each == ("@hey-api/openapi-ts", "watchlists.list"))
    line = source.splitlines()[number - 1]
    assert 'Typed<Rows<hey.WatchlistsListResponses[200]>, "name" | ' in line


def test_problems_are_those_of_the_operations() -> None:
    _, lines = assertions()
    first = HELPERS.count("\n") + 1
    output = f"check.ts({first + 1},14): error TS2322: Type 'true' is not assignable to type 'false'.\n  more\n"
    assert problems(output, lines) == {"@hey-api/openapi-ts": [lines[first + 1][1]]}
    assert problems("", lines) == {}


def test_any_other_error_is_a_problem_of_both_tools() -> None:
    _, lines = assertions()
    for error in ("check.ts(1,9): error TS2307: Cannot find module", "error TS18003: No inputs were found"):
        assert problems(error, lines) == {"openapi-typescript": [error], "@hey-api/openapi-ts": [error]}
