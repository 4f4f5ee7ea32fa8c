"""Account stream of the simulator: the recorded session, replayed."""

import json
from typing import Any

import pytest

from brokerage_async.simulator.streams.server import ACCOUNT_PATH
from brokerage_async.simulator.streams.session import AccountSession
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


def test_connect_subscriptions_and_messages_before_them(peer: Peer) -> None:
    assert peer.send(action="heartbeat", request_id=1)["message"] == "not-implemented"
    assert peer.send(action="quote-alerts-subscribe", request_id=2)["message"] == "connect-not-completed"
    account = peer.harness.account
    answer = peer.send(action="connect", value=[account, "foreign"], request_id=3)
    assert (answer["status"], answer["value"], answer["request-id"]) == ("ok", [account], 3)
    assert peer.send(action="connect", value=peer.harness.accounts[1])["status"] == "ok"
    assert peer.send(action="quote-alerts-subscribe")["status"] == "ok"
    assert peer.send(action="heartbeat")["status"] == "ok"
    assert peer.send(action="dance")["message"] == "not-implemented"
    assert peer.session.accounts == {account, peer.harness.accounts[1]}


def test_refused_token_has_no_request_id(peer: Peer) -> None:
    for form, word in (("Bearer wrong", "failed"), ("", "Unknown domain"), (None, "Unknown domain")):
        answer = peer.send(action="connect", value=[peer.harness.account], request_id=1, auth_token=form)
        assert answer["message"] == word
        assert "request-id" not in answer


def test_words_of_the_account_stream() -> None:
    for without in ([], ["account_stream_unknown_domain", "account_stream_missing_value",
                         "account_stream_answer_without_value"]):  # fmt: skip
        peer = Peer(Harness(without=without))
        account = peer.harness.account
        raw = peer.send(action="connect", value=[account], auth_token=peer.token)
        empty = peer.send(action="connect", value=[])
        good = peer.send(action="connect", value=[account])
        found = raw.get("message"), empty.get("message"), good["status"], good.get("value")
        assert found == (
            (None, "failed", "ok", [account]) if without
            else ("Unknown domain", "value missing or not valid", "ok", None)
        )  # fmt: skip


def test_other_messages_are_ignored_and_a_silent_client_is_disconnected(peer: Peer) -> None:
    for text in ("", "[]", '{"action": 7}'):
        peer.session.receive(text, peer.harness.now)
    assert peer.received == []
    peer.session.check(peer.harness.now + 59)
    assert not peer.closed
    peer.session.hear(peer.harness.now + 50)
    peer.session.check(peer.harness.now + 70)
    assert not peer.closed
    peer.session.check(peer.harness.now + 110)
    assert peer.closed
