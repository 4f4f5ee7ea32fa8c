"""What the commands share."""

from __future__ import annotations

import pytest
import typer

from brokerage_async.cli import console
from brokerage_async.errors import NotFoundError


def test_one_of_our_errors_is_one_message_and_exit_code_1(capsys: pytest.CaptureFixture[str]) -> None:
    async def fail() -> None:
        raise NotFoundError("no such order [bold]", operation="orders.cancel")

    with pytest.raises(typer.Exit) as caught:
        console.run(fail())
    assert caught.value.exit_code == 1
    assert capsys.readouterr().err.strip() == "NotFoundError: orders.cancel: no such order [bold]"


def test_any_other_exception_is_a_bug_and_shows_itself() -> None:
    async def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        console.run(fail())


async def test_without_settings_a_simulator_of_its_own_is_used() -> None:
    assert not console.on_real_service()
    async with console.connect() as client:
        assert await client.watchlists.list() is not None
        assert "127.0.0.1" in client.environment.base_url
