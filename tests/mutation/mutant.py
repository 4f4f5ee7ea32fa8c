"""A mutant: one change to one source file."""

import dataclasses
from typing import TypeAlias

#: Path, function, code before and after, and number among equal ones. It stays the same when lines move.
Key: TypeAlias = tuple[str, str, str, str, int]


@dataclasses.dataclass(frozen=True)
class Mutant:
    """One change to one source file."""

    path: str
    number: int  # among the mutants of the file
    line: int
    last_line: int
    first: int  # lines of the body of the function
    last: int
    function: str  # dotted name of the outermost function or method; "" outside of functions and in their signatures
    before: str
    after: str
    occurrence: int  # from 1, among equal changes to the function

    @property
    def name(self) -> str:
        return f"{self.path}:{self.line}#{self.number}"

    @property
    def key(self) -> Key:
        return self.path, self.function, self.before, self.after, self.occurrence
