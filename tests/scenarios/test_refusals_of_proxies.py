"""Only the service refuses: a proxy's answer after the request was processed causes neither a retry nor a refusal."""

from brokerage_async import Client, Environment, errors
from brokerage_async.protocol.response import Response
from brokerage_async.tickets import buy_to_open, limit
from tests.fake_transport import FakeTransport
from tests.loops import on_virtual_time
from tests.tables import for_each

PAGE = b"<html><body>Request rejected</body></html>"


class Provider:
    """A provider that always has a token, and may fail to renew it."""

    def __init__(self, failure: Exception | None) -> None:
        self.invalidated: list[str] = []
        self._failure = failure

    async def get_token(self) -> str:
        return "invented"

    def invalidate(self, token: str) -> bool:
        self.invalidated.append(token)
        if self._failure is not None:
            raise self._failure
        return True


@for_each("failure", [None, errors.TokenError("no more tokens")])
@on_virtual_time
async def test_submit_answered_by_a_401_page_renews_the_token_and_is_not_hidden_if_that_fails(
    failure: Exception | None,
) -> None:
    """A `TokenError` would say that nothing was sent."""
    provider, transport = Provider(failure), FakeTransport(Response(status=401, body=PAGE))
    caught: errors.APIError | None = None
    async with Client(Environment.sandbox("https://api.example"), provider, transport=transport) as client:
        try:
            await client.orders.submit("5WT1", limit(buy_to_open("AAPL", 1), price="1.00"))
        except errors.AuthenticationError as error:
            caught = error
    assert (caught is not None and caught.maybe_processed, provider.invalidated) == (True, ["invented"])
    assert len(transport.requests) == 1
