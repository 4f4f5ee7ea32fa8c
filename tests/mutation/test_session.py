"""Work in a fork returns its answer or the reason why it ended, and tests there meet the mutant."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.skipif(sys.platform == "win32", reason="no fork there")
def test_in_fork_returns_the_answer_or_what_ended_it() -> None:
    from tests.mutation.fork import TIMEOUT, in_fork

    def fail(answer: object) -> None:
        raise ValueError("no")

    def spin(answer: object) -> None:
        while True:
            pass

    assert in_fork(lambda answer: answer("caught: it"), 5)[0] == "caught: it"
    assert in_fork(fail, 5)[0] == "crashed: ValueError: no"
    assert in_fork(lambda answer: None, 5)[0] == "crashed: no answer"
    assert in_fork(spin, 0.1)[0] == TIMEOUT


def test_tests_meet_the_mutant_and_not_its_file() -> None:
    program = """if True:
        import pytest
        from tests.mutation.session import OPTIONS, load_instead
        load_instead("brokerage_async/_decimals.py", "from importlib import no_such_name")
        raise SystemExit(pytest.main([*OPTIONS, "tests/test_decimals.py"]))
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "no_such_name" in done.stdout + done.stderr
