"""The alert mailer sends one mail for each triggered alert, and tries again when the server is away."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from decimal import Decimal
from email.message import EmailMessage
from typing import Any

import pytest

from brokerage_async.models import AlertField, AlertOperator, NewQuoteAlert

from .conftest import Stage

pytestmark = pytest.mark.virtual_time


class MailServer:
    """Stands for `smtplib.SMTP`. Is away at first."""

    away = 2
    sent: list[EmailMessage]

    def __init__(self, host: str, port: int) -> None:
        type(self).away -= 1
        if self.away >= 0:
            raise ConnectionRefusedError(f"{host}:{port}")

    def __enter__(self) -> MailServer:
        return self

    def __exit__(self, *_: object) -> None: ...

    def send_message(self, mail: EmailMessage) -> None:
        self.sent.append(mail)


async def in_this_thread(function: Callable[..., Any], *arguments: Any) -> Any:
    return function(*arguments)


async def test_triggered_alert_is_mailed_once(stage: Stage) -> None:
    program = stage.load("alert_mailer")
    MailServer.sent = []
    stage.patch.setattr(program.smtplib, "SMTP", MailServer)
    stage.patch.setattr(asyncio, "to_thread", in_this_thread)
    stage.patch.setenv("MAIL_TO", "me@example.org")
    watching = asyncio.create_task(program.watch())
    async with stage.simulator.client() as client:
        await asyncio.sleep(10)
        high = NewQuoteAlert(
            symbol="AAPL", field=AlertField.LAST, operator=AlertOperator.GREATER_THAN, threshold=Decimal(500)
        )
        await client.quote_alerts.create(high)
        await asyncio.sleep(20)
        assert not MailServer.sent
        stage.simulator.set_price("AAPL", "501")
        await asyncio.sleep(120)
    watching.cancel()
    await asyncio.wait({watching})
    assert [mail["Subject"] for mail in MailServer.sent] == ["AAPL: Last > 500"]
    assert stage.shown().count("mail not sent") == 2
