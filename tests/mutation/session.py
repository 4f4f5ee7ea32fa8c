"""Mutants in turn: each in a fork that imports the mutated module and then collects the tests."""

from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType

import aiohttp.web  # noqa: F401 - imported once here, and not in every process that imports the package
import cattrs  # noqa: F401
import msgspec  # noqa: F401
import pytest

from .fork import in_fork
from .mutants import Mutant, SourceFile
from .reach import Reach, Recorder, Steady, file_of

PASSED = "passed"
SURVIVED = "survived"
OPTIONS = [
    *("-q", "--tb=no", "-p", "no:cacheprovider", "-p", "no:xdist", "--continue-on-collection-errors"),
    "--assert=plain",  # else pytest itself loads the package, as that of a plugin, and ignores the changed source
    *("-o", "timeout=0"),  # time is bounded here, and a busy machine is no failure
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),
    *("-m", "not slow and not postgres"),
]

Answer = Callable[[str], None]
Done = Callable[[Mutant, str, float], None]


class _Verdict(Steady):
    """Answers with the first test that fails, or that none did."""

    def __init__(self, answer: Answer, order: list[str]) -> None:
        self._answer = answer
        self._order = {name: index for index, name in enumerate(order)}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if item.nodeid in self._order]
        items.sort(key=lambda item: self._order[item.nodeid])

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._answer(f"not imported: {report.longreprtext[-300:]}")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._answer(f"caught: {report.nodeid}")


def limit(seconds: float) -> float:
    """Return the processor time within which tests must have passed that took this long before."""
    return 5 + 3 * seconds


def record(tests: list[str], folders: list[str], path: Path) -> None:
    """Run all tests once without a mutant, and record the lines that each test reaches."""

    def work(answer: Answer) -> None:
        recorder = Recorder(folders)
        status = pytest.main([*OPTIONS, *tests], plugins=[recorder])
        recorder.save(path)
        answer(f"{status} {recorder.failed}" if status else PASSED)

    answer, used = in_fork(work, 3600)
    if answer != PASSED:
        raise RuntimeError(f"the tests must pass without a mutant, got {answer}")
    print(f"recorded in {used:.0f} s of processor time")


def try_in_turn(mutants: list[Mutant], reach: Reach, files: dict[str, SourceFile], done: Done) -> None:
    for mutant in mutants:
        source = files[mutant.path].mutated(mutant)
        tests, seconds = reach.tests_of(mutant)

        def work(answer: Answer, mutant: Mutant = mutant, source: str = source, tests: list[str] = tests) -> None:
            load_instead(mutant.path, source)
            names = list(dict.fromkeys(map(file_of, tests)))
            if not names:
                answer(SURVIVED)
            status = pytest.main([*OPTIONS, "-x", *names], plugins=[_Verdict(answer, tests)])
            answer(SURVIVED if status == 0 else f"not imported: status {status}")

        done(mutant, *in_fork(work, limit(seconds) + 10))


def load_instead(path: str, source: str) -> None:
    """Give a module another source, when this process imports it."""
    real, original = str(Path(path).resolve()), SourceFileLoader.get_code

    def get_code(self: SourceFileLoader, name: str) -> CodeType | None:
        return compile(source, real, "exec") if self.path == real else original(self, name)

    SourceFileLoader.get_code = get_code  # type: ignore[method-assign]
