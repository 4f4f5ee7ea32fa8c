"""A client whose access tokens end early: calls go on while tokens serve, and no dead token is ever sent."""

from collections import Counter

import pytest

from brokerage_async import Client, Environment, RefreshToken
from brokerage_async.protocol.request import Request
from brokerage_async.protocol.response import Response
from tests.fake_transport import FakeTransport, fail, ok

pytestmark = pytest.mark.virtual_time

CREDENTIALS = RefreshToken(client_secret="cs", refresh_token="rt")


class Service(FakeTransport):
    """Accepts each token for its first ``uses`` requests only."""

    def __init__(self, uses: int) -> None:
        super().__init__(self._answer)
        self.uses = uses
        self.sent: Counter[str] = Counter()
        self.sent_dead = 0

    def _answer(self, request: Request) -> Response:
        token = str(request.headers["Authorization"])
        self.sent[token] += 1
        self.sent_dead += self.sent[token] > self.uses + 1  # the client learns of it from the first rejection
        return ok() if self.sent[token] <= self.uses else fail(401, "token_invalid")


def client_of(service: Service) -> Client:
    return Client(Environment.sandbox("https://api.example.com"), CREDENTIALS, transport=service)


async def test_tokens_that_end_after_use_are_replaced_without_a_failure() -> None:
    service = Service(uses=2)
    async with client_of(service) as client:
        for _ in range(200):
            await client.watchlists.list()
    assert len(service.token_requests) == pytest.approx(100, abs=1)
    assert service.sent_dead == 0
