"""Secrets, and what is derived from them, do not show in a ``repr``."""

from __future__ import annotations

import copy
import io
import json
import pickle
import traceback
from collections.abc import Callable
from typing import Any

import pytest
from rich.console import Console
from rich.traceback import Traceback

from brokerage_async._secrets import Secret, SecretBytes

PLAIN = "zq81jfkd02mx" * 20
SECRET = Secret(PLAIN)
BYTES = SecretBytes(PLAIN.encode())

DERIVED: dict[str, Callable[[], object]] = {
    "slice": lambda: SECRET[:80],
    "letter": lambda: SECRET[0],
    "iteration": lambda: list(SECRET),
    "concatenation": lambda: SECRET + "x",
    "concatenation from the left": lambda: "Bearer " + SECRET,
    "repetition": lambda: (SECRET * 2, 2 * SECRET),
    "format": lambda: (format(SECRET), f"{SECRET}", format(SECRET, ".80")),
    "percent": lambda: Secret("Bearer %s") % SECRET,
    "join": lambda: Secret("-").join([PLAIN, PLAIN]),
    "case": lambda: (SECRET.upper(), SECRET.lower(), SECRET.title(), SECRET.swapcase(), SECRET.casefold()),
    "strip": lambda: (SECRET.strip("z"), SECRET.lstrip("z"), SECRET.rstrip("x")),
    "split": lambda: (SECRET.split("8"), SECRET.rsplit("8", 1), SECRET.partition("8"), SECRET.splitlines()),
    "prefix": lambda: (SECRET.removeprefix("zq"), SECRET.removesuffix("mx"), SECRET.replace("z", "y")),
    "padding": lambda: (SECRET.ljust(300), SECRET.rjust(300), SECRET.center(300), SECRET.zfill(300)),
    "bytes": lambda: (SECRET.encode(), SECRET.encode()[:80], BYTES[:80], BYTES + b"x", b"x" + BYTES, BYTES * 2),
    "str of bytes": lambda: (BYTES.decode(), BYTES.hex(), BYTES.split(b"8"), BYTES.strip(b"z")),
    "copies": lambda: (copy.deepcopy(SECRET), pickle.loads(pickle.dumps(SECRET)), pickle.loads(pickle.dumps(BYTES))),
}


@pytest.mark.parametrize("derive", DERIVED.values(), ids=DERIVED)
def test_derived_values_stay_secret(derive: Any) -> None:
    shown = repr(derive())
    assert "<secret>" in shown
    assert not set("zq81jfkd02mx".upper() + "zq81jfkd02mx") & set(shown.replace("<secret>", "").replace("b'", ""))


def test_secret_behaves_as_its_str() -> None:
    assert SECRET == PLAIN
    assert hash(SECRET) == hash(PLAIN)
    assert (SECRET[2:5], f"Bearer {SECRET}", "x" + SECRET) == (PLAIN[2:5], f"Bearer {PLAIN}", "x" + PLAIN)
    assert (SECRET.split("8"), SECRET.encode()) == (PLAIN.split("8"), PLAIN.encode())
    assert json.loads(json.dumps({"token": SECRET})) == {"token": PLAIN}
    assert (type(str(SECRET)), str(SECRET)) == (str, PLAIN)
    assert (type(bytes(BYTES)), bytes(BYTES)) == (bytes, PLAIN.encode())
    assert list(BYTES) == list(PLAIN.encode())


def fail_with(token: str, body: bytes) -> None:
    headers = {"Authorization": token}
    raise RuntimeError(f"{len(headers)} headers, {len(body)} bytes")


def shortened(value: object) -> str:
    """Show a local as structlog's tracebacks do: cut first, then ``repr``."""
    return repr(value[:80]) if isinstance(value, str | bytes) else repr(value)


def test_tracebacks_with_locals_show_no_letter() -> None:
    with pytest.raises(RuntimeError) as caught:
        fail_with(SECRET, BYTES)
    console = Console(file=io.StringIO(), width=400)
    console.print(Traceback.from_exception(RuntimeError, caught.value, caught.tb, show_locals=True))
    frames = [frame for frame, _ in traceback.walk_tb(caught.tb) if frame.f_code.co_name == "fail_with"]
    shown = console.file.getvalue() + "".join(shortened(value) for value in frames[0].f_locals.values())
    assert shown.count("<secret>") >= 6
    assert "zq8" not in shown
