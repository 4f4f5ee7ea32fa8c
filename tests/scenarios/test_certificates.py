"""Private authorities and client certificates, over real TLS on loopback."""

import ssl
from pathlib import Path
from typing import Any

import pytest
import trustme

from brokerage_async import Client, Environment, RetryPolicy, StaticToken, errors
from tests.processes import run_program
from tests.raw_server import RawServer, answer

LIST = answer(b'{"data":{"items":[]}}')
AUTHORITY = trustme.CA()


def serving(*names: str, demanding: bool = False) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    AUTHORITY.issue_cert(*names).configure_cert(context)
    if demanding:
        context.verify_mode = ssl.CERT_REQUIRED
        AUTHORITY.configure_trust(context)
    return context


def trusting(*, presenting: trustme.LeafCert | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context()
    AUTHORITY.configure_trust(context)
    if presenting is not None:
        presenting.configure_cert(context)
    return context


def client_of(server: RawServer, context: ssl.SSLContext | None) -> Client:
    return Client(Environment.sandbox(server.url), StaticToken("made-up"), ssl=context, retry=RetryPolicy.none())


async def test_private_authority_is_trusted_with_a_context_of_it() -> None:
    async with RawServer(LIST, tls=serving("127.0.0.1")) as server, client_of(server, trusting()) as client:
        assert await client.watchlists.list() == []


@pytest.mark.parametrize(
    ("name", "context", "reason"),
    [
        ("127.0.0.1", None, "unable to get local issuer certificate"),
        ("other.example", trusting(), "certificate is not valid for '127.0.0.1'"),
    ],
    ids=["unknown authority", "wrong name"],
)
async def test_untrusted_certificate_is_named_and_nothing_was_sent(name: str, context: Any, reason: str) -> None:
    async with RawServer(LIST, tls=serving(name)) as server, client_of(server, context) as client:
        with pytest.raises(errors.RequestNotSentError) as caught:
            await client.watchlists.list()
        assert "the certificate of 127.0.0.1 is not trusted" in str(caught.value)
        assert reason in str(caught.value)
        assert "ssl.create_default_context(cafile=...)" in str(caught.value)
        assert server.requests == []


async def test_client_certificate_is_presented_where_it_is_demanded() -> None:
    presenting = trusting(presenting=AUTHORITY.issue_cert("me@example.com"))
    async with RawServer(LIST, tls=serving("127.0.0.1", demanding=True)) as server:
        async with client_of(server, presenting) as client:
            assert await client.watchlists.list() == []
        async with client_of(server, trusting()) as client:
            with pytest.raises(errors.TransportError):
                await client.watchlists.list()
    assert len(server.requests) == 1


PROGRAM = """
import asyncio, sys
from brokerage_async import Client, Environment, StaticToken

async def main():
    async with Client(Environment.sandbox(sys.argv[1]), StaticToken("made-up")) as client:
        print(await client.watchlists.list())

asyncio.run(main())
"""


async def test_private_authority_of_the_variable_that_openssl_reads(tmp_path: Path) -> None:
    file = tmp_path / "authority.pem"
    AUTHORITY.cert_pem.write_to_path(file)
    async with RawServer(LIST, tls=serving("127.0.0.1")) as server:
        assert await run_program("-c", PROGRAM, server.url, env={"SSL_CERT_FILE": str(file)}) == (0, "[]\n")
    assert server.lines == ["GET /watchlists HTTP/1.1"]
