"""Results of the tools, and the lists that they must understand."""

from collections.abc import Callable, Iterable, Sequence

import attrs

from tests.schema.bundle import OPERATIONS, SCHEMAS, Body, row_components

#: The component of the rows of every answer that is or may be a list, by operation.
LISTS: dict[str, str] = {name: rows[0] for name in OPERATIONS if (rows := row_components(name))}


@attrs.frozen(kw_only=True)
class Result:
    """Result of one check of one tool: ``problems`` by operation, vector or place, out of ``total``."""

    tool: str
    check: str
    total: int
    problems: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        passed = self.total - min(len(self.problems), self.total)
        return f"{self.tool}: {self.check}: {passed} of {self.total}"


def judged(
    tool: str,
    check: str,
    is_typed: Callable[[str], bool],
    bodies: Sequence[Body],
    refusal: Callable[[Body], str | None],
) -> list[Result]:
    """Return whether the rows of each list are typed, and the bodies that a tool does not take, with its reasons."""
    untyped = tuple(name for name, component in LISTS.items() if not is_typed(component))
    refused = tuple(f"{body}: {reason}" for body in bodies if (reason := refusal(body)) is not None)
    return [
        Result(tool=tool, check="typed rows", total=len(LISTS), problems=untyped),
        Result(tool=tool, check=check, total=len(bodies), problems=refused),
    ]


def properties_of(component: str) -> list[str]:
    return list(SCHEMAS[component]["properties"])


def report(results: Iterable[Result]) -> int:
    code = 0
    for result in results:
        print(result.line, *result.problems, sep="\n  ")
        code = code or (1 if result.problems or not result.total else 0)
    return code
