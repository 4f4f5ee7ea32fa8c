"""Mutants in turn: each in a fork of a process that has collected all tests, or that imports the package first."""

from __future__ import annotations

import gc
import io
import itertools
from collections.abc import Callable
from pathlib import Path

import aiohttp.web  # noqa: F401 - imported once here, and not in every process that imports the package
import cattrs  # noqa: F401
import hypothesis
import msgspec  # noqa: F401
import pytest

from .fork import in_fork
from .mutant import Mutant
from .mutants import SourceFile
from .reach import Reach, Recorder, file_of
from .swap import Finder, live_functions, swap

PASSED = "passed"
SURVIVED = "survived"
AGAIN = "again"  # in a process of its own, from the import on
OPTIONS = [
    "-q",
    "--tb=no",
    "-o",
    "timeout=0",  # time is bounded here, and a busy machine is no failure
    "-W",
    "ignore::pytest.PytestAssertRewriteWarning",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:xdist",
    "-m",
    "not slow and not postgres",
    "--continue-on-collection-errors",
]

Answer = Callable[[str], None]
Done = Callable[[Mutant, str, float], None]


class _Base:
    """Pytest plugin with what all of these sessions share."""

    def pytest_collection(self) -> None:
        """Draw the same examples each time, and do not look for smaller ones."""
        phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
        hypothesis.settings.register_profile("mutation", deadline=None, derandomize=True, database=None, phases=phases)
        hypothesis.settings.load_profile("mutation")


class _Verdict(_Base):
    """Answers with the first test that fails, or that none did."""

    def __init__(self, answer: Answer, order: list[str], is_new: Callable[[str], bool]) -> None:
        self._answer = answer
        self._order = {name: index for index, name in enumerate(order)}
        self._is_new = is_new

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if item.nodeid in self._order or self._is_new(item.nodeid)]
        items.sort(key=lambda item: self._order.get(item.nodeid, -1))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._answer(f"not imported: {report.longreprtext[-300:]}")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._answer(f"caught: {report.nodeid}")


class _Swapping(_Base):
    """Collects all tests, and instead of running them tries each mutant in a fork."""

    def __init__(self, mutants: list[Mutant], reach: Reach, files: dict[str, SourceFile], done: Done) -> None:
        self._mutants, self._reach, self._files, self._done = mutants, reach, files, done

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        live = live_functions()
        gc.freeze()
        for mutant in self._mutants:
            source = self._files[mutant.path].mutated(mutant)
            tests, seconds = self._reach.tests_of(mutant)
            new = [name for name in items if self._reach.is_new(name, mutant)]
            chosen = [items[name] for name in new + tests if name in items]

            def work(
                answer: Answer, mutant: Mutant = mutant, source: str = source, chosen: list[pytest.Item] = chosen
            ) -> None:
                if not swap(mutant, source, live):
                    answer(AGAIN)
                run(chosen, answer)

            self._done(mutant, *in_fork(work, limit(seconds)))
        return True


def run(chosen: list[pytest.Item], answer: Answer) -> None:
    """Run tests that have been collected."""
    if chosen:
        config = chosen[0].config
        config.get_terminal_writer()._file = io.StringIO()
        config.pluginmanager.register(_Verdict(answer, [], lambda name: False))
    for item, following in itertools.zip_longest(chosen, chosen[1:]):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
    answer(SURVIVED)


def limit(seconds: float) -> float:
    """Return the processor time within which tests must have passed that took this long before."""
    return 5 + 3 * seconds


def record(tests: list[str], folders: list[str], path: Path) -> None:
    """Run all tests once without a mutant, and write down what each reaches."""

    def work(answer: Answer) -> None:
        recorder = Recorder(folders)

        class Both(_Base, Recorder):
            pass

        recorder.__class__ = Both
        status = pytest.main([*OPTIONS, *tests], plugins=[recorder])
        recorder.save(path)
        answer(f"{status} {recorder.failed}" if status else PASSED)

    answer, used = in_fork(work, 3600)
    if answer != PASSED:
        raise RuntimeError(f"the tests must pass without a mutant, got {answer}")
    print(f"recorded in {used:.0f} s of processor time")


def swap_in_turn(
    tests: list[str], mutants: list[Mutant], reach: Reach, files: dict[str, SourceFile], done: Done
) -> None:
    """Try mutants in forks of one session that has collected all tests."""
    pytest.main([*OPTIONS, *tests], plugins=[_Swapping(mutants, reach, files, done)])


def import_in_turn(mutants: list[Mutant], reach: Reach, files: dict[str, SourceFile], done: Done) -> None:
    """Try mutants in forks that import the mutated module and then collect the tests."""
    for mutant in mutants:
        source = files[mutant.path].mutated(mutant)
        tests, seconds = reach.tests_of(mutant)

        def work(answer: Answer, mutant: Mutant = mutant, source: str = source, tests: list[str] = tests) -> None:
            def is_new(test: str) -> bool:
                return reach.is_new(test, mutant)

            Finder(mutant.path, source).install()
            names = list(dict.fromkeys(map(file_of, tests)))
            if not names:
                answer(SURVIVED)
            status = pytest.main([*OPTIONS, "-x", *names], plugins=[_Verdict(answer, tests, is_new)])
            answer(SURVIVED if status == 0 else f"not imported: status {status}")

        done(mutant, *in_fork(work, limit(seconds) + 10))
