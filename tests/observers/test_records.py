"""Records of every attempt, sent to the observers and to the log."""

import logging
from typing import Any

import pytest

from brokerage_async.observers import Attempt, ObserverList
from brokerage_async.operation import Effect

ATTEMPT = Attempt(
    operation="orders.submit",
    effect=Effect.MUTATE,
    number=2,
    method="POST",
    path="/accounts/{account_number}/orders",
    status=None,
    outcome="lost",
    code=None,
    request_bytes=10,
    response_bytes=0,
    waited=0.5,
    elapsed=1.25,
    pause=None,
)
LOG = "brokerage_async.session"


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    """Whatever an earlier test has set: the log takes no details unless a test asks for them."""
    logger = logging.getLogger(LOG)
    level = logger.level
    logger.setLevel(logging.INFO)
    yield
    logger.setLevel(level)


def test_nobody_is_active_until_somebody_listens(caplog: pytest.LogCaptureFixture) -> None:
    assert not ObserverList(()).active
    assert ObserverList([print]).active
    with caplog.at_level(logging.DEBUG, LOG):
        assert ObserverList(()).active


def test_observers_of_the_first_list_are_told_in_order() -> None:
    told: list[tuple[str, Attempt]] = []
    observers = [lambda each: told.append(("a", each)), lambda each: told.append(("b", each))]
    listed = ObserverList(observers)
    observers.clear()
    listed(ATTEMPT)
    assert told == [("a", ATTEMPT), ("b", ATTEMPT)]


def test_an_observer_that_fails_is_logged_and_the_next_one_is_told(caplog: pytest.LogCaptureFixture) -> None:
    def broken(attempt: Attempt) -> None:
        raise ZeroDivisionError

    told: list[Attempt] = []
    ObserverList([broken, told.append])(ATTEMPT)
    assert told == [ATTEMPT]
    assert caplog.messages == ["an observer failed on orders.submit"]
    assert caplog.records[0].exc_info is not None
