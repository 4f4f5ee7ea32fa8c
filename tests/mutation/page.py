"""The page ``docs/reference/reports/mutation.md``, written from a sample and the reasons of its survivors."""

import json
import tomllib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from .mutants import Key, Mutant
from .session import TIMEOUT

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "reports" / "mutation.md"
REASONS = Path(__file__).with_name("survivors.toml")
MIN_SHARE = 0.85

Results: TypeAlias = Mapping[Key, str]

HEAD = """\
# Mutation testing

Written by `nox -s mutation`. A mutant is the library with one small change: a condition turned round, a number raised
by one, an argument left out, a string altered. If no test fails, the tests do not pin down what the changed code does.
The changes come from [mutmut](https://mutmut.readthedocs.io/) {version}; `tests/mutation` runs them.

Sample: {count} mutants, drawn with seed {seed} out of {total} from `auth/`, `journal/`, `order_entry/` and `protocol/`,
from each file according to its share. Left out by rule are annotations, docstrings, decorators, logging, `__repr__`,
and strings that contain a space: these are sentences for people, not keys or codes. So is the journal in
PostgreSQL, whose tests need a server. Only the unit tests of the four rooms and two scenarios of order entry are run,
for each mutant those that reach the changed line, up to {seconds:g} seconds of processor time.

| Room | Mutants | Caught by a failing test | Never ends | Survived | Caught |
| --- | ---: | ---: | ---: | ---: | ---: |
"""

MIDDLE = """
{invalid} further mutants of the sample cannot be imported, and count neither way; {untried} were not tried this time.
{since} of those caught had survived an earlier attempt, before tests were added: expect less of another sample.
`nox -s mutation` repeats it, and `nox -s mutation -- --seed 2` draws another sample.

## Survivors

A survivor that showed a gap was given a test, and is caught since. These are left, each with the reason why no test
was added; `open` means that it has not been looked into:

| Where | Change | Reason |
| --- | --- | --- |
"""


def key_of(said: Mapping[str, Any]) -> Key:
    """Return the key in a line of results or in an entry of reasons."""
    return said["path"], said["function"], said["before"], said["after"], said.get("occurrence", 1)


def reasons() -> dict[Key, str]:
    """Return why each known survivor needs no test."""
    listed = tomllib.loads(REASONS.read_text("utf-8"))["survivor"]
    return {key_of(each): each["reason"] for each in listed}


def load(path: Path) -> tuple[dict[Key, str], set[Key]]:
    """Return the last answer for each mutant that has been tried, and those that survived at least once."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else ()
    answers = [(key_of(each), each["answer"]) for each in map(json.loads, lines)]
    return dict(answers), {key for key, answer in answers if verdict(answer) == "survived"}


def verdict(answer: str) -> str:
    """Return ``caught``, ``timeout``, ``survived`` or ``not imported``."""
    return answer.partition(":")[0]


def is_caught(answer: str) -> bool:
    return verdict(answer) in ("caught", TIMEOUT, "crashed")


def share(sample: Iterable[Mutant], results: Results) -> float:
    """Return the share of the sample that is caught, not counting mutants that fail to import."""
    counted = [is_caught(results[each.key]) for each in sample if verdict(results[each.key]) != "not imported"]
    return sum(counted) / len(counted)


def page(sample: list[Mutant], results: Results, survived: Collection[Key], **facts: object) -> str:
    """Return the page; ``survived`` are those that did so at least once."""
    untried = sum(each.key not in results for each in sample)
    sample = [each for each in sample if each.key in results]
    rooms: dict[str, list[Mutant]] = {}
    for each in sample:
        rooms.setdefault(str(Path(each.path).parent.relative_to("brokerage_async")), []).append(each)
    rows = [row(f"`{room}/`", some, results) for room, some in sorted(rooms.items())]
    rows.append(row("**all**", sample, results))
    invalid = sum(verdict(results[each.key]) == "not imported" for each in sample)
    since = sum(each.key in survived and is_caught(results[each.key]) for each in sample)
    known = reasons()
    lines = [
        f"| `{each.path.removeprefix('brokerage_async/')}` {cell(each.function)} | {cell(each.before)} → "
        f"{cell(each.after)} | {known.get(each.key, 'open')} |"
        for each in sample
        if verdict(results[each.key]) == "survived"
    ]
    head = HEAD.format(count=len(sample) - invalid, **facts)
    middle = MIDDLE.format(invalid=invalid, untried=untried, since=since)
    return head + "\n".join(rows) + "\n" + middle + "\n".join(lines) + "\n"


def row(name: str, sample: list[Mutant], results: Results) -> str:
    counts = Counter(verdict(results[each.key]) for each in sample)
    counted = len(sample) - counts["not imported"]
    failing = counts["caught"] + counts["crashed"]
    numbers = (counted, failing, counts[TIMEOUT], counts["survived"], f"{share(sample, results):.1%}")
    return f"| {name} | {' | '.join(map(str, numbers))} |"


def cell(code: str) -> str:
    shown = code if len(code) <= 90 else code[:87] + "..."
    escaped = shown.replace("|", "\\|")
    return f"`{escaped}`" if shown and "`" not in shown else escaped
