"""The list of other clients and their requests, compared with the schema."""

import re
from pathlib import Path

import pytest

from codegen.__main__ import CLIENTS, ROOT
from codegen.read.clients import load_clients, request_of
from codegen.read.load import SchemaError, load
from codegen.spec import Spec
from tests.codegen.support import TOY, edit

WRITTEN = """
clients:
  spade: {registry: PyPI, version: 1.0.0, description: "a client of gardens"}
  "@rake/api": {registry: npm, version: 2.0.0, description: "another one"}
requests:
  GET /beds: [spade]
  GET /beds/{}/plants: [spade, "@rake/api"]
  POST /sheds: ["@rake/api"]
left_out:
  POST /sheds: Sheds have gone.
  GET /gnomes: Not described.
"""


@pytest.fixture
def written(tmp_path: Path) -> Path:
    file = tmp_path / "clients.yaml"
    file.write_text(WRITTEN)
    return file


@pytest.fixture(scope="module")
def toy_spec() -> Spec:
    return load(TOY)


def test_load_clients_gives_each_client_its_requests(written: Path, toy_spec: Spec) -> None:
    comparison = load_clients(written, toy_spec)
    assert [(each.name, each.version, each.requests) for each in comparison.clients] == [
        ("spade", "1.0.0", {"GET /beds", "GET /beds/{}/plants"}),
        ("@rake/api", "2.0.0", {"GET /beds/{}/plants", "POST /sheds"}),
    ]
    assert [(each.request, each.clients) for each in comparison.left_out] == [
        ("POST /sheds", ("@rake/api",)),
        ("GET /gnomes", ()),
    ]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("GET /beds:", "GET /seeds:", "GET /seeds: add the operation, or a reason to left_out"),
        ("GET /gnomes:", "GET /beds:", "GET /beds: remove it from left_out, the schema has it"),
        ("[spade]", "[hoe]", "GET /beds: client must be listed under clients, got 'hoe'"),
    ],
)
def test_load_clients_reports_what_does_not_agree(
    old: str, new: str, problem: str, written: Path, toy_spec: Spec
) -> None:
    edit(written, old, new)
    with pytest.raises(SchemaError) as caught:
        load_clients(written, toy_spec)
    assert caught.value.problems == [f"clients.yaml: {problem}"]


def test_requests_that_the_interop_run_saw_are_listed() -> None:
    spec = load(ROOT / "schema")
    requests = {operation.name: request_of(operation.method, operation.path) for operation in spec.operations}
    clients = {client.name: client for client in load_clients(CLIENTS, spec).clients}
    sections = re.split(
        r"^## (?:PyPI|npm) ",
        (ROOT / "docs" / "reference" / "reports" / "interop.md").read_text("utf-8"),
        flags=re.MULTILINE,
    )
    for section in sections[1:]:
        name, version = re.match(r"`([^`]+)` (\S+)", section).groups()  # type: ignore[union-attr]
        seen = {requests[word] for word in re.findall(r"`([a-z_]+\.[a-z_]+)`", section) if word in requests}
        assert len(seen) > 40
        assert seen <= clients[name].requests
        assert version == clients[name].version
