"""Secrets are never shown, whichever way a tool prints them."""

import copy
import io
import json
import pickle
import pprint
import traceback
from pathlib import Path

import pytest
from rich.console import Console
from rich.pretty import pretty_repr
from rich.traceback import Traceback

from brokerage_async._secrets import Secret, revealed
from brokerage_async.journal import SqliteJournal
from brokerage_async.simulator import Simulator
from tests.tables import lacks
from tests.trading import SMALL, order

PLAIN = "zq81jfkd02mx" * 20
SECRET = Secret(PLAIN)


def test_secret_reveals_its_string_and_nothing_else_does() -> None:
    assert (SECRET.reveal(), revealed(SECRET), revealed("plain")) == (PLAIN, PLAIN, "plain")
    assert not isinstance(SECRET, str | bytes)
    shown = [
        repr(SECRET), str(SECRET), f"{SECRET}", "%s" % SECRET, "{}".format(SECRET), ascii([SECRET]),  # noqa: UP031, UP032
        repr({"Authorization": SECRET}), pprint.pformat([SECRET]), pretty_repr(SECRET, max_string=4),
        repr(copy.deepcopy(SECRET)), repr(pickle.loads(pickle.dumps(SECRET))),
    ]  # fmt: skip
    assert [text for text in shown if "<secret>" not in text or "zq8" in text] == []
    attempts = {
        "slice": lambda: SECRET[:80], "iteration": lambda: [*SECRET], "length": lambda: len(SECRET),
        "sum": lambda: "Bearer " + SECRET, "join": lambda: "".join([SECRET]), "format": lambda: format(SECRET, ".80"),
        "json": lambda: json.dumps(SECRET), "bytes": lambda: bytes(SECRET), "vars": lambda: vars(SECRET),
    }  # type: ignore[index, misc, arg-type, operator, call-overload]  # fmt: skip
    for name, attempt in attempts.items():
        with pytest.raises(TypeError) as caught:
            attempt()
        assert "zq8" not in str(caught.value), name
    assert Secret(PLAIN) == SECRET
    assert (Secret("x") == SECRET, SECRET == PLAIN, bool(SECRET), bool(Secret())) == (False, False, True, False)
    assert hash(SECRET) == hash(Secret(PLAIN))
    for copied in (copy.copy(SECRET), copy.deepcopy(SECRET), pickle.loads(pickle.dumps(SECRET))):
        assert copied == SECRET
    assert SECRET.conceal_in(f"a {PLAIN} b {PLAIN}") == "a <secret> b <secret>"
    assert Secret().conceal_in("nothing") == "nothing"


def fail_with(token: Secret) -> None:
    headers = {"Authorization": token}
    raise RuntimeError(f"{len(headers)} headers")


def test_tracebacks_with_locals_show_no_letter() -> None:
    with pytest.raises(RuntimeError) as caught:
        fail_with(SECRET)
    console = Console(file=io.StringIO(), width=400)
    console.print(Traceback.from_exception(RuntimeError, caught.value, caught.tb, show_locals=True))
    frames = [frame for frame, _ in traceback.walk_tb(caught.tb) if frame.f_code.co_name == "fail_with"]
    shown = console.file.getvalue() + "".join(map(repr, frames[0].f_locals.values()))
    assert shown.count("<secret>") >= 4
    assert "zq8" not in shown


async def test_no_secret_is_in_the_journal_of_orders(tmp_path: Path) -> None:
    async with Simulator(**SMALL) as sim, sim.client() as client, SqliteJournal(tmp_path / "orders.journal") as journal:
        placement = await client.order_entry(journal).place(sim.account_numbers[0], order("mine"))
        token = await client.session.engine.tokens.get()
        written = b"".join(file.read_bytes() for file in tmp_path.iterdir())  # noqa: ASYNC240
    assert lacks(written, b"mine", placement.body) == []
    for secret in (sim.client_secret, sim.refresh_token, token.reveal().removeprefix("Bearer ")):
        assert len(secret) > 8
        assert secret.encode() not in written
