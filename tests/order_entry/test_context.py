"""Context that all orders of an order entry share: origin, environment, journal, lease and clock."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from brokerage_async.config import Environment
from brokerage_async.errors import ConfigurationError, InvalidRequestError
from brokerage_async.journal import MemoryJournal
from brokerage_async.order_entry.context import context_of
from tests.tables import for_each

THERE = datetime(2026, 6, 10, 14, tzinfo=UTC)


def client_of(name: str = "sandbox", **session: Any) -> Any:
    environment = Environment.sandbox if name == "sandbox" else Environment.production
    return SimpleNamespace(session=SimpleNamespace(**session), environment=environment("https://api.example.com/v1"))


def test_context_has_key_time_and_lease() -> None:
    keys = {
        context_of(client_of(name), MemoryJournal(), 30.0).key_of("A1", "mine") for name in ("sandbox", "production")
    }
    assert {key.environment for key in keys} == {"sandbox", "production"}
    assert {key.origin for key in keys} == {"https://api.example.com"}
    assert {(key.account_number, key.external_identifier) for key in keys} == {("A1", "mine")}
    known: list[datetime | None] = [None, THERE]
    context = context_of(client_of(service_now=lambda: known[0]), MemoryJournal(), 30.0)
    assert abs(context.now() - datetime.now(UTC)) < timedelta(minutes=1)
    known.pop(0)
    assert context.now() == THERE
    context = context_of(client_of(), MemoryJournal(), 12.5)
    assert context.attempts.lease == 12.5
    with pytest.raises(ConfigurationError, match="a crashed worker would hold its claims forever"):
        context_of(client_of(), MemoryJournal(), None)  # type: ignore[arg-type]


@for_each("name", ["now", "open", "find", "entries", "claim", "renew", "release", "close", "abandon", "adopt"])
def test_journal_without_one_of_its_methods_is_rejected(name: str) -> None:
    """A method that is missed in the middle of placing an order would be missed too late."""
    journal = MemoryJournal()
    setattr(journal, name, None)
    with pytest.raises(ConfigurationError, match=rf"journal.*\b{name}\b"):
        context_of(client_of(), journal, 30.0)


class Streams:
    """Streams that ring for one account alone."""

    def check_account(self) -> None:
        pass

    def doorbell(self, account_numbers: Any, events: frozenset[str]) -> Any:
        if account_numbers != ("A1",):
            raise InvalidRequestError("no events of this account")
        return ("doorbell of A1", events)


def test_account_without_events_has_no_doorbell_and_raises_no_error() -> None:
    """An order may have been sent: its outcome is found by polling then."""
    client = client_of()
    client.stream = Streams()
    context = context_of(client, MemoryJournal(), 30.0, push=True)
    assert context.bell("A1") == ("doorbell of A1", {"Order", "ComplexOrder"})
    assert context.bell("") is None
    assert context_of(client, MemoryJournal(), 30.0).bell("A1") is None


class Session:
    """A session without an engine, such as a program's own executor."""


def test_memory_journal_is_shared_by_the_clients_of_a_session_without_an_engine() -> None:
    first, second = Session(), Session()
    environment = Environment.sandbox("https://api.example.com/v1")
    journals = [
        context_of(SimpleNamespace(session=session, environment=environment), None, 30.0).journal  # type: ignore[arg-type]
        for session in (first, first, second)
    ]
    assert journals[0] is journals[1]
    assert journals[0] is not journals[2]
