"""Only the service refuses: a proxy's answer after the request was processed causes neither a retry nor a refusal."""

from brokerage_async import Client, Environment, RetryPolicy, errors
from brokerage_async.errors import TokenError
from brokerage_async.tickets import buy_to_open, limit
from tests.raw_server import RawServer, answer

ORDER = limit(buy_to_open("AAPL", 1), price="1.00")
PLACED = answer(b'{"data":{"order":{"id":"1"}}}', 201)
AT_ONCE = RetryPolicy(base_delay=0.0)


class FreshTokens:
    """A provider that always has another token."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.invalidated: list[str] = []
        self._failure = failure

    async def get_token(self) -> str:
        return f"invented-{len(self.invalidated)}"

    def invalidate(self, token: str) -> bool:
        self.invalidated.append(token)
        if self._failure is not None:
            raise self._failure
        return True


def page(status: int) -> bytes:
    return answer(b"<html><body>Request rejected</body></html>", status, "Content-Type: text/html")


async def submit(server: RawServer, tokens: FreshTokens | None = None) -> errors.APIError | None:
    async with Client(Environment.sandbox(server.url), tokens or FreshTokens(), retry=AT_ONCE) as client:
        try:
            await client.orders.submit("5WT1", ORDER)
        except errors.APIError as error:
            return error
    return None


async def test_submit_answered_by_a_401_page_renews_the_token_for_the_next_call() -> None:
    tokens = FreshTokens()
    async with RawServer(page(401), PLACED) as server:
        assert isinstance(await submit(server, tokens), errors.AuthenticationError)
    assert tokens.invalidated == ["invented-0"]


async def test_submit_answered_by_a_401_page_is_not_hidden_by_a_failing_provider() -> None:
    """A `TokenError` would say that nothing was sent."""
    async with RawServer(page(401), PLACED) as server:
        error = await submit(server, FreshTokens(TokenError("no more tokens")))
    assert isinstance(error, errors.AuthenticationError)
    assert error.maybe_processed


async def test_read_answered_by_a_401_page_is_repeated_with_a_fresh_token() -> None:
    async with (
        RawServer(page(401), answer(b'{"data":{"items":[]}}')) as server,
        Client(Environment.sandbox(server.url), FreshTokens(), retry=AT_ONCE) as client,
    ):
        assert await client.watchlists.list() == []
    assert len(server.requests) == 2
