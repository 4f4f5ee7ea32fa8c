"""Work in a fork returns its answer or the reason why it ended."""

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
