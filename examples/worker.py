"""Place the orders that other programs put into a folder, each once, from any number of workers.

    python examples/worker.py inbox/

A file ``NAME.json`` holds one order in the form of the wire. NAME becomes its external identifier, and must never be
used for another order. Start as many workers as you like, and start them again after a crash: they share a journal, and
a name that it knows is never sent a second time. Workers on several machines share one in PostgreSQL: set
``BROKERAGE_JOURNAL=postgresql://...``. Finished files move to ``done/`` or ``refused/``. Unknown ones stay, and are
looked for again.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import suppress
from pathlib import Path

from brokerage_async import Client, errors, models
from brokerage_async.journal import PostgresJournal, SqliteJournal
from brokerage_async.order_entry import OrderEntry, Outcome

PAUSE = 1.0  # seconds between two looks into the folder


def journal() -> SqliteJournal | PostgresJournal:
    place = os.environ.get("BROKERAGE_JOURNAL", "orders.journal")
    return PostgresJournal(place) if place.startswith("postgresql://") else SqliteJournal(place)


def order_of(file: Path) -> models.NewOrder:
    """Return the order in a file, under the name of the file. A misspelt key makes it invalid."""
    form = json.loads(file.read_bytes(), parse_float=str)
    if not isinstance(form, dict):
        raise ValueError("not a JSON object")
    order = models.converter.structure({**form, "external-identifier": file.stem}, models.NewOrder)
    if unknown := [*order.extra, *(key for leg in order.legs or () for key in leg.extra)]:
        raise ValueError(f"unknown keys {', '.join(unknown)}")
    return order


def move(file: Path, folder: str) -> None:
    target = file.parent / folder
    target.mkdir(exist_ok=True)
    with suppress(FileNotFoundError):  # another worker has moved it
        file.rename(target / file.name)


async def handle(entry: OrderEntry, account: str, file: Path) -> None:
    """Place one order, and move its file when the outcome is known."""
    try:
        placement = await entry.place(
            account, order_of(file), allow_warnings=[models.PreflightCode.TIF_NEXT_VALID_SESSION]
        )
    except errors.OrderOutcomeUnknownError as unknown:  # also: another worker has it at the moment
        print(file.name, "unknown:", unknown.code)
        return
    except FileNotFoundError:  # another worker has moved it
        return
    except (ValueError, errors.InvalidRequestError) as error:
        print(file.name, "invalid:", error)
        move(file, "refused")
        return
    print(file.name, placement.outcome, placement.order_id or placement.note)
    if placement.outcome is not Outcome.NOT_SENT:  # that one stays, and is tried again
        move(file, "done" if placement.outcome is Outcome.PLACED else "refused")


async def main(arguments: list[str]) -> None:
    inbox, once = Path(arguments[0]), "--once" in arguments
    account = os.environ["BROKERAGE_ACCOUNT"]
    async with Client.from_env() as client, journal() as records:
        entry = client.order_entry(records)
        for left in await entry.recover():
            print("recovered:", left.external_identifier, left.outcome)
        while True:
            for file in sorted(inbox.glob("*.json")):
                await handle(entry, account, file)
            if once:
                return
            await asyncio.sleep(PAUSE)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
