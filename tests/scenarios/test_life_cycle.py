"""Beginning, end and interruption: of a client, of an event loop, of a process, of a call at any of its awaits."""

import asyncio
import gc
import os
import textwrap
import warnings

import aiohttp
import pytest

from brokerage_async import Client, Environment, RefreshToken, StaticToken
from brokerage_async._arguments import OTHER_LOOP
from brokerage_async.errors import ConfigurationError, TokenError, TransportError
from tests.fake_transport import LOST, FakeTransport
from tests.http.calls import raised_by
from tests.loops import on_virtual_time
from tests.processes import run_program
from tests.raw_server import answer

SANDBOX = Environment.sandbox("https://api.example.com")
REFRESH = RefreshToken(client_secret="cs", refresh_token="rt")
TOKEN = StaticToken("abc")
LIST = answer(b'{"data": {"items": []}}')


@on_virtual_time
async def test_client_used_after_closing_raises() -> None:
    client = Client(SANDBOX, TOKEN, transport=FakeTransport())
    async with client:
        pass
    for closed in (client, client.with_options(timeout=1)):
        await raised_by(closed.watchlists.list(), ConfigurationError, "closed")
    with pytest.raises(ConfigurationError, match="closed"):
        async with client:
            pass


@on_virtual_time
async def test_failed_call_is_not_repeated_on_a_closed_client() -> None:
    transport = FakeTransport(LOST, latency=1)
    client = Client(SANDBOX, TOKEN, transport=transport)
    call = asyncio.create_task(client.watchlists.list())
    await asyncio.sleep(0.5)
    await client.aclose()
    await raised_by(call, TransportError)
    assert len(transport.requests) == 1


async def test_borrowed_session_that_is_closed_is_named() -> None:
    async with aiohttp.ClientSession() as session:
        pass
    for credentials, kind in ((REFRESH, TokenError), (TOKEN, ConfigurationError)):
        async with Client(SANDBOX, credentials, http_session=session) as client:
            await raised_by(client.watchlists.list(), kind, "http_session of the client is closed")


def test_forgotten_unused_client_does_not_warn() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Client(SANDBOX, TOKEN)
        gc.collect()
    assert caught == []


async def printed_by(code: str) -> list[str]:
    """Run code in a new process, with every warning an error. Return the lines of its output."""
    status, output = await run_program("-X", "dev", "-W", "error", "-c", textwrap.dedent(code))
    # asyncio's debug mode logs slow steps, such as the import of aiohttp by the first client.
    lines = [line for line in output.splitlines() if not line.startswith("Executing ")]
    assert status == 0, lines
    return lines


async def test_process_exits_cleanly_after_success_and_after_errors() -> None:
    printed = await printed_by("""
        import asyncio
        from brokerage_async import Client, Environment, StaticToken, errors
        from tests.raw_server import RawServer, answer

        async def main():
            async with RawServer(answer(b'{"data": {"items": []}}'), None, "stall") as server:
                async with Client(Environment.sandbox(server.url), StaticToken("abc"), timeout=0.1) as client:
                    await client.watchlists.list()
                    try:
                        await client.orders.cancel("5WT1", "7")
                    except errors.ResponseLostError as error:
                        print(error.attempts)
                    await asyncio.gather(*(client.watchlists.list() for _ in range(3)))

        try:
            asyncio.run(main())
        except errors.ResponseLostError:
            print("stalled")
    """)
    assert printed == ["1", "stalled"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
async def test_client_after_a_fork_belongs_to_the_parent() -> None:
    printed = await printed_by("""
        import asyncio, os, sys
        from brokerage_async import Client, Environment, StaticToken, errors
        from tests.raw_server import RawServer, answer

        loop = asyncio.new_event_loop()
        server = loop.run_until_complete(RawServer(answer(b'{"data": {"items": []}}')).__aenter__())
        client = Client(Environment.sandbox(server.url), StaticToken("abc"))
        loop.run_until_complete(client.watchlists.list())
        child = os.fork()
        if child == 0:
            try:
                asyncio.new_event_loop().run_until_complete(client.watchlists.list())
            except errors.ConfigurationError as error:
                print("child:", error.message, flush=True)
            os._exit(0)
        print("child left with", os.waitpid(child, 0)[1])
        loop.run_until_complete(client.watchlists.list())
        print("parent:", len(server.requests), "requests,", server.connections, "connection")
        loop.run_until_complete(client.aclose())
        loop.run_until_complete(server.__aexit__(None, None, None))
        loop.close()
    """)
    assert printed == [f"child: {OTHER_LOOP}", "child left with 0", "parent: 2 requests, 1 connection"]
