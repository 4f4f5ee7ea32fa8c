"""Log of the servers: it reports a malformed request without its content."""

import asyncio

import pytest

from brokerage_async.simulator import Simulator
from tests.trading import SMALL


async def test_token_of_a_malformed_request_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    async with Simulator(control_port=0, **SMALL) as simulator:
        for address in (simulator.base_url, simulator.control_url or ""):
            reader, writer = await asyncio.open_connection("127.0.0.1", int(address.rpartition(":")[2]))
            writer.write(f"GET / HTTP/1.1\r\nAuthorization: Bearer {simulator.control_token}\0\r\n\r\n".encode())
            assert (await reader.readline()).startswith(b"HTTP/1.0 400")
            writer.close()
            await writer.wait_closed()
    assert [record.name for record in caplog.records] == ["brokerage_async.simulator.http"] * 2
    assert simulator.control_token not in caplog.text
    assert "Authorization" not in caplog.text
