"""A user's own schema, as documented: generated, imported, and called through a client."""

import datetime as dt
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from importlib import import_module, invalidate_caches
from pathlib import Path
from types import ModuleType

import pytest

from brokerage_async import Client, errors, models
from brokerage_async._generated import converters
from brokerage_async.protocol.decoding.fields import wire_fields
from brokerage_async.protocol.response import Response
from codegen.__main__ import main
from tests.codegen.support import forget
from tests.documents import ROOT
from tests.fake_transport import FakeTransport, ok
from tests.http.calls import client_of, raised_by

PAGE = (ROOT / "docs" / "any-endpoint.md").read_text("utf-8")
FILES = dict(re.findall(r"^<!-- file: ([\w.]+) -->\n```\w+\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE))
ACCOUNT = "5WT00001"


def rows(number: int) -> Response:
    note = {
        "id": 7, "content": "Wait.", "instrument-type": "Equity", "price": 187.5,
        "created-at": "2026-06-12T14:30:00.000+00:00", "pinned": True,
    }  # fmt: skip
    return ok({"items": [note] * number})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the documented schema, the package generated from it, and the documented program."""
    assert list(FILES) == ["openapi.yaml", "notes.yaml", "program.py"]
    folder = tmp_path_factory.mktemp("project")
    (folder / "schema").mkdir()
    for name, content in FILES.items():
        (folder / ("schema" if name.endswith(".yaml") else ".") / name).write_text(content, "utf-8")
    assert main(["--schema", str(folder / "schema"), "--out", str(folder / "notes_api")]) == 0
    return folder


@pytest.fixture(scope="module")
def notes(folder: Path) -> Iterator[ModuleType]:
    sys.path.insert(0, str(folder))
    invalidate_caches()
    try:
        yield import_module("notes_api")
    finally:
        sys.path.remove(str(folder))
        forget("notes_api")


async def test_read_decodes_its_own_models(notes: ModuleType) -> None:
    transport = FakeTransport(rows(2))
    async with client_of(transport) as client:
        [first, second] = await notes.Endpoints(client.session).notes.list(ACCOUNT, symbol="BRK/B")
    assert transport.requests[0].method == "GET"
    assert transport.requests[0].url.endswith("/accounts/5WT00001/notes?symbol=BRK%2FB")
    assert isinstance(first, notes.models.Note)
    assert (first.id, first.price) == ("7", Decimal("187.5"))
    assert first.created_at == dt.datetime(2026, 6, 12, 14, 30, tzinfo=dt.UTC)
    assert first.instrument_type is notes.models.InstrumentType.EQUITY
    assert first.instrument_type is not models.InstrumentType.EQUITY
    assert first.extra == {"pinned": True}
    assert first == second


async def test_mutation_sends_its_own_models_once_they_are_valid(notes: ModuleType) -> None:
    transport = FakeTransport(Response(status=201, body=b'{"data": {"id": "8", "content": "Wait."}}'))
    async with client_of(transport) as client:
        create = notes.Endpoints(client.session).notes.create
        await raised_by(create(ACCOUNT, notes.models.NewNote(content=7)), errors.InvalidRequestError, "content")
        created = await create(ACCOUNT, notes.models.NewNote(content="Wait."))
    (request,) = transport.requests
    assert json.loads(request.body or b"") == {"content": "Wait."}
    assert created == notes.models.Note(id="8", content="Wait.")


def test_models_of_one_name_are_kept_apart_and_known_to_the_converter(notes: ModuleType) -> None:
    for module in (converters, notes.converters):
        assert wire_fields(module.ErrorBodyWire)["errors"].child is module.ErrorDetailWire
    note = models.converter.structure({"id": 7, "price": "1.25"}, notes.models.Note)
    assert note == notes.models.Note(id="7", price=Decimal("1.25"))
    assert models.converter.unstructure(note) == {"id": "7", "price": "1.25"}
    assert models.converter.structure([{"id": 7}], list[notes.models.Note]) == [notes.models.Note(id="7")]
    rows_schema = json.loads(notes.openapi())["components"]["schemas"]["NoteList"]["properties"]["items"]["items"]
    assert rows_schema == {"$ref": "#/components/schemas/Note"}


@pytest.mark.slow
def test_documented_program_passes_the_type_checker(folder: Path) -> None:
    command = [sys.executable, "-m", "mypy", "--strict", str(folder / "program.py")]
    environment = {**os.environ, "MYPYPATH": str(folder)}
    checked = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=110, check=False
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_documented_program_runs(
    notes: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    created = Response(status=201, body=b'{"data": {"id": 8}}')
    monkeypatch.setattr(Client, "from_env", lambda: client_of(FakeTransport(created, rows(1))))
    monkeypatch.setenv("BROKERAGE_ACCOUNT", ACCOUNT)
    exec(compile(FILES["program.py"], "program.py", "exec"), {})
    assert capsys.readouterr().out == "8\n2026-06-12 14:30:00+00:00 187.5 Wait.\n"
