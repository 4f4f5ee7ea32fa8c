"""Account stream of the simulator: the recorded session, replayed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from brokerage_async.simulator.streams.account_session import AccountSession
from brokerage_async.simulator.streams.server import ACCOUNT_PATH
from tests.simulator.harness import Harness


class Peer:
    """Client of one session."""

    def __init__(self, harness: Harness) -> None:
        self.harness = harness
        session = harness.brokerage.streams.open(ACCOUNT_PATH, harness.now)
        assert isinstance(session, AccountSession)
        self.session = session
        self.received: list[dict[str, Any]] = []
        self.closed = False
        session.connect(lambda text, _: self.received.append(json.loads(text)), self.close)
        self.token = json.loads(harness.token().body)["access_token"]

    def close(self) -> None:
        self.closed = True

    def send(self, **message: Any) -> dict[str, Any]:
        """Send a message and return the answer."""
        body = {
            "auth-token": f"Bearer {self.token}",
            **{key.replace("_", "-"): value for key, value in message.items()},
        }
        self.session.receive(json.dumps(body), self.harness.now)
        return self.received[-1]


@pytest.fixture
def peer() -> Peer:
    return Peer(Harness())


def test_nothing_works_before_connect(peer: Peer) -> None:
    assert peer.send(action="heartbeat", request_id=1)["message"] == "not-implemented"
    assert peer.send(action="quote-alerts-subscribe", request_id=2)["message"] == "connect-not-completed"


def test_connect_and_subscriptions(peer: Peer) -> None:
    account = peer.harness.account
    answer = peer.send(action="connect", value=[account, "foreign"], request_id=3)
    assert (answer["status"], answer["value"], answer["request-id"]) == ("ok", [account], 3)
    assert peer.send(action="connect", value=peer.harness.accounts[1])["value"] == [peer.harness.accounts[1]]
    assert peer.send(action="quote-alerts-subscribe")["status"] == "ok"
    assert peer.send(action="heartbeat")["status"] == "ok"
    assert peer.send(action="dance")["message"] == "not-implemented"
    assert peer.session.accounts == {account, peer.harness.accounts[1]}


@pytest.mark.parametrize(
    ("form", "word"), [("Bearer wrong", "failed"), ("", "Unknown domain"), (None, "Unknown domain")]
)
def test_refused_token_has_no_request_id(peer: Peer, form: Any, word: str) -> None:
    answer = peer.send(action="connect", value=[peer.harness.account], request_id=1, auth_token=form)
    assert answer["message"] == word
    assert "request-id" not in answer


def test_raw_token_is_taken_without_the_recorded_errors() -> None:
    peer = Peer(Harness(without=("account_stream_errors",)))
    assert peer.send(action="connect", value=[peer.harness.account], auth_token=peer.token)["status"] == "ok"


def test_silent_client_is_disconnected_after_a_minute(peer: Peer) -> None:
    peer.session.check(peer.harness.now + 59)
    assert not peer.closed
    peer.session.hear(peer.harness.now + 50)
    peer.session.check(peer.harness.now + 70)
    assert not peer.closed
    peer.session.check(peer.harness.now + 110)
    assert peer.closed


def test_other_messages_are_ignored(peer: Peer) -> None:
    for text in ("", "[]", '{"action": 7}'):
        peer.session.receive(text, peer.harness.now)
    assert peer.received == []


def test_errors_have_the_recorded_words_unless_switched_off() -> None:
    for without, words in (
        ((), ("Unknown domain", "value missing or not valid", "failed")),
        (("account_stream_errors",), (None, "failed", "failed")),  # a raw token serves
    ):
        peer = Peer(Harness(without=without))
        bare = peer.send(action="connect", value=[peer.harness.account], auth_token=peer.token)
        missing = [peer.send(action="connect", **value) for value in ({}, {"value": []}, {"value": None})]
        wrong = peer.send(action="connect", value=[peer.harness.account], auth_token="Bearer wrong")
        assert bare.get("message") == words[0], without
        assert {answer["message"] for answer in missing} == {words[1]}, without
        assert (wrong["message"], "request-id" in wrong) == (words[2], False), without
