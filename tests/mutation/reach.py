"""Which tests run which lines, and how long each takes: a mutant meets only tests that can see it."""

import json
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import coverage
import hypothesis
import pytest

from .mutants import Mutant

#: Most processor time that tests may take for one mutant. A mutant that outlives them counts as survived.
MAX_SECONDS = 10.0


class Steady:
    """Pytest plugin that draws the same examples each time, and does not look for smaller ones."""

    def pytest_collection(self) -> None:
        phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
        hypothesis.settings.register_profile("mutation", deadline=None, derandomize=True, database=None, phases=phases)
        hypothesis.settings.load_profile("mutation")


class Recorder(Steady):
    """Pytest plugin that records the lines of each test as contexts of coverage.py."""

    def __init__(self, folders: list[str]) -> None:
        self.failed: list[str] = []
        self._seconds: dict[str, float] = {}
        self._coverage = coverage.Coverage(data_file=None, config_file=False, include=[f"{name}/*" for name in folders])
        self._coverage.start()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._coverage.switch_context(item.nodeid)
        began = time.process_time()
        try:
            return (yield)
        finally:
            self._seconds[item.nodeid] = time.process_time() - began

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)

    def save(self, path: Path) -> None:
        """Write the record as JSON. Lines that run at import stand under the test ""."""
        self._coverage.stop()
        tests = ["", *self._seconds]
        number = {name: index for index, name in enumerate(tests)}
        data = self._coverage.get_data()
        lines = {
            str(Path(name).relative_to(Path.cwd())): {
                line: [number[context] for context in contexts]
                for line, contexts in data.contexts_by_lineno(name).items()
            }
            for name in data.measured_files()
        }
        path.write_text(json.dumps({"tests": [[name, self._seconds.get(name, 0)] for name in tests], "lines": lines}))


class Reach:
    """A record, and the tests that a mutant has to pass."""

    def __init__(self, path: Path) -> None:
        read = json.loads(path.read_text())
        self._tests: list[tuple[str, float]] = [(name, seconds) for name, seconds in read["tests"]]
        self._lines: dict[str, dict[int, set[int]]] = {
            name: {int(line): set(tests) for line, tests in lines.items()} for name, lines in read["lines"].items()
        }
        self._per_file: defaultdict[str, float] = defaultdict(float)
        for name, seconds in self._tests:
            self._per_file[file_of(name)] += seconds

    def tests_of(self, mutant: Mutant) -> tuple[list[str], float]:
        """Return the tests in the order they run, the module's own first, and their total seconds."""
        lines = self._lines.get(mutant.path, {})
        found: set[int] = set()
        for first, last in ((mutant.line, mutant.last_line), (mutant.first, mutant.last)):
            found = found or set().union(*(lines.get(line, ()) for line in range(first, last + 1)))
        inside = Path(mutant.path).relative_to("brokerage_async")
        own = str(Path("tests") / inside.parent / f"test_{inside.name}")
        if not mutant.function:  # code of a module runs once, at import, and shows in tests that run no line of it
            found = set().union(*lines.values(), (i for i, (name, _) in enumerate(self._tests) if file_of(name) == own))
        tests = [self._tests[index] for index in found - {0}]
        tests.sort(
            key=lambda test: (file_of(test[0]) != own, self._per_file[file_of(test[0])], file_of(test[0]), test[1])
        )
        chosen: list[str] = []
        total = 0.0
        for name, seconds in tests:
            if total + seconds <= MAX_SECONDS:
                chosen.append(name)
                total += seconds
        return chosen, total


def file_of(test: str) -> str:
    return test.partition("::")[0]
