"""Results of the tools, and the lists that they must understand."""

import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

import attrs

from tests.schema.bundle import OPERATIONS, SCHEMAS, row_components

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


def typed_rows(tool: str, is_typed: Callable[[str], bool]) -> Result:
    untyped = tuple(name for name, component in LISTS.items() if not is_typed(component))
    return Result(tool=tool, check="typed rows", total=len(LISTS), problems=untyped)


def run_npm(
    tools: Path, name: str, arguments: Iterable[str | Path], *, folder: Path | None = None, check: bool = True
) -> str:
    command = [tools / "node_modules" / ".bin" / name, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=check, timeout=300).stdout


def properties_of(component: str) -> list[str]:
    return list(SCHEMAS[component]["properties"])


def report(results: Iterable[Result]) -> int:
    code = 0
    for result in results:
        print(result.line, *result.problems, sep="\n  ")
        code = code or (1 if result.problems or not result.total else 0)
    return code
