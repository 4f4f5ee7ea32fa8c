"""Tests over a table: one test runs every row and reports all rows that fail, or all parts that an output lacks."""

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any


def for_each(names: str, rows: Iterable[Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Run a test for every row of a table, and fail with the failures of all rows.

    ``names`` are its parameters, separated by commas. A row is the value of one, or a tuple of the values of several.
    All rows share the fixtures of the test.
    """
    parameters = [name.strip() for name in names.split(",")]
    table = [row if len(parameters) > 1 else (row,) for row in rows]

    def decorate(test: Callable[..., Any]) -> Callable[..., Any]:
        assert table, f"{test.__name__} has an empty table"
        signature = inspect.signature(test)
        left = [each for name, each in signature.parameters.items() if name not in parameters]

        async def run(*args: Any, **fixtures: Any) -> None:
            failures: list[Exception] = []
            for row in table:
                given = dict(zip(parameters, row, strict=True))
                try:
                    result = test(*args, **fixtures, **given)
                    if inspect.isawaitable(result):
                        await result
                except Exception as error:
                    error.add_note(f"row: {', '.join(f'{name}={value!r:.200}' for name, value in given.items())}")
                    failures.append(error)
            if failures:
                raise ExceptionGroup(f"{len(failures)} of {len(table)} rows failed", failures)

        def run_at_once(*args: Any, **fixtures: Any) -> None:
            with suppress(StopIteration):
                run(*args, **fixtures).send(None)

        made = functools.wraps(test)(run if inspect.iscoroutinefunction(test) else run_at_once)
        made.__signature__ = signature.replace(parameters=left)
        return made

    return decorate


def misses(table: Mapping[Any, Any], output: Callable[[Any], Any]) -> dict[Any, Any]:
    """Return the outputs that lack what a table expects in them, by the key of their row."""
    outputs = {key: output(key) for key in table}
    return {key: found for key, found in outputs.items() if table[key] not in found}


def lacks(output: Any, *expected: Any) -> list[Any]:
    """Return what an output is to hold and does not."""
    return [each for each in expected if each not in output]
