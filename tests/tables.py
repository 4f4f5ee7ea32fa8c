"""Tests over a table: one test runs every row and reports all rows that fail."""

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
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

        def arguments() -> Iterator[tuple[dict[str, Any], list[Exception]]]:
            failures: list[Exception] = []
            for row in table:
                yield dict(zip(parameters, row, strict=True)), failures
            if failures:
                raise ExceptionGroup(f"{len(failures)} of {len(table)} rows failed", failures)

        @contextmanager
        def noted(row: dict[str, Any], failures: list[Exception]) -> Iterator[None]:
            try:
                yield
            except Exception as error:
                error.add_note(f"row: {', '.join(f'{name}={value!r:.200}' for name, value in row.items())}")
                failures.append(error)

        if inspect.iscoroutinefunction(test):

            @functools.wraps(test)
            async def run_async(*args: Any, **fixtures: Any) -> None:
                for row, failures in arguments():
                    with noted(row, failures):
                        await test(*args, **fixtures, **row)

            run_async.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
            return run_async

        @functools.wraps(test)
        def run(*args: Any, **fixtures: Any) -> None:
            for row, failures in arguments():
                with noted(row, failures):
                    test(*args, **fixtures, **row)

        run.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        return run

    return decorate
