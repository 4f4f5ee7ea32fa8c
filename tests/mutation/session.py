"""Which tests run which lines, and mutants in turn: each in a fork that imports the mutated module, then its tests."""

import json
import os
import resource
import select
import signal
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType

import aiohttp.web  # noqa: F401 - imported once here, and not in every process that imports the package
import cattrs  # noqa: F401
import coverage
import hypothesis
import msgspec  # noqa: F401
import pytest

from .mutants import Mutant, SourceFile

Answer = Callable[[str], None]
Done = Callable[[Mutant, str, float], None]

MEMORY = 8 << 30
TIMEOUT = "timeout"


def in_fork(work: Callable[[Answer], None], seconds: float) -> tuple[str, float]:
    """Return the answer of ``work`` and its processor time. Work gives it by a call that ends the process."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        _run(work, writing, seconds)
    os.close(writing)
    answer = b""
    try:
        while select.select([reading], [], [], 10 * seconds)[0]:
            part = os.read(reading, 65536)
            if not part:
                break
            answer += part
        else:
            os.kill(process, signal.SIGKILL)
    finally:
        os.close(reading)
        _, status, used = os.wait4(process, 0)
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGKILL, signal.SIGXCPU)
    text = answer.decode() or (TIMEOUT if killed else f"crashed: status {status}")
    return text, used.ru_utime + used.ru_stime


def _run(work: Callable[[Answer], None], writing: int, seconds: float) -> None:
    def answer(text: str) -> None:
        os.write(writing, text.encode()[:65536])
        os._exit(0)

    limit = int(seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    try:
        work(answer)
    except BaseException as error:
        answer(f"crashed: {type(error).__name__}: {error}")
    answer("crashed: no answer")


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


PASSED = "passed"
SURVIVED = "survived"
OPTIONS = [
    *("-q", "--tb=no", "-p", "no:cacheprovider", "-p", "no:xdist", "--continue-on-collection-errors"),
    "--assert=plain",  # else pytest itself loads the package, for its plugin, and ignores the changed source
    *("-o", "timeout=0"),  # time is bounded here, and a busy machine is no failure
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),
    *("-m", "not slow and not postgres"),
]


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

        done(mutant, *in_fork(work, 15 + 3 * seconds))  # three times what these tests took before, and some to load


def load_instead(path: str, source: str) -> None:
    """Give a module another source, when this process imports it."""
    real, original = str(Path(path).resolve()), SourceFileLoader.get_code

    def get_code(self: SourceFileLoader, name: str) -> CodeType | None:
        return compile(source, real, "exec") if self.path == real else original(self, name)

    SourceFileLoader.get_code = get_code  # type: ignore[method-assign]
