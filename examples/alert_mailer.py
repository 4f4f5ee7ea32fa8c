"""Send a mail when a quote alert is triggered.

    MAIL_HOST=localhost MAIL_PORT=25 MAIL_TO=me@example.org python examples/alert_mailer.py

Alerts are made in the broker's application, or with ``client.quote_alerts.create``. A mail that cannot be sent is tried
again later. The watcher goes on in the meantime. Ctrl-C or SIGTERM ends the program.
"""

from __future__ import annotations

import asyncio
import os
import signal
import smtplib
from contextlib import suppress
from email.message import EmailMessage

from brokerage_async import Client
from brokerage_async.models import QuoteAlert
from brokerage_async.watch import AlertKind

PAUSES = (1, 10, 60, 600)  # seconds between tries to send a mail


def mail_of(alert: QuoteAlert) -> EmailMessage:
    mail = EmailMessage()
    mail["Subject"] = f"{alert.symbol}: {alert.field} {alert.operator} {alert.threshold}"
    mail["From"] = mail["To"] = os.environ["MAIL_TO"]
    mail.set_content(f"{alert.symbol} triggered its alert at {alert.triggered_at:%Y-%m-%d %H:%M:%S} UTC.\n")
    return mail


def deliver(mail: EmailMessage) -> None:
    with smtplib.SMTP(os.environ.get("MAIL_HOST", "localhost"), int(os.environ.get("MAIL_PORT", "25"))) as server:
        server.send_message(mail)


async def send(mail: EmailMessage) -> None:
    """Send a mail in a thread, because smtplib waits. Try again after a failure."""
    for pause in PAUSES:
        try:
            await asyncio.to_thread(deliver, mail)
        except OSError as error:  # smtplib's errors are OSErrors
            print(f"mail not sent, next try in {pause} s: {error}")
            await asyncio.sleep(pause)
        else:
            print("sent:", mail["Subject"])
            return
    print("given up:", mail["Subject"])


async def watch() -> None:
    """Send a mail for each alert that is triggered from now on."""
    async with (
        Client.from_env(read_only=True) as client,
        asyncio.TaskGroup() as mails,
        client.watch.quote_alerts(initial=False) as changes,
    ):
        async for change in changes:
            if change.kind is AlertKind.TRIGGERED and change.after is not None:
                mails.create_task(send(mail_of(change.after)))


async def main() -> None:
    watching = asyncio.create_task(watch())
    with suppress(NotImplementedError):  # on Windows only Ctrl-C ends it
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, watching.cancel)
    await watching


if __name__ == "__main__":
    with suppress(KeyboardInterrupt, asyncio.CancelledError):
        asyncio.run(main())
