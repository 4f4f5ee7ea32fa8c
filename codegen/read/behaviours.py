"""Reader of ``schema/behaviours.yaml``: the list of recorded behaviour."""

from __future__ import annotations

import re

from ..spec import RecordedBehaviour
from .document import Document, Node

__all__ = ["GRADES", "read_behaviours"]

GRADES = ("documented", "recorded", "published", "client", "invented")
FILE = "behaviours.yaml"
_KEYS = ("statement", "grade", "source", "switch", "facts", "test")
_ID = re.compile(r"[a-z][a-z0-9_]*\Z")


def read_behaviours(document: Document) -> tuple[RecordedBehaviour, ...]:
    """Return the entries in their order; problems are recorded in the document."""
    if FILE not in document.files:
        return ()
    listed = document.root(FILE).get("behaviours")
    return tuple(_entry(name, node) for name, node in listed.items()) if listed else ()


def _entry(name: str, node: Node) -> RecordedBehaviour:
    if not _ID.match(name):
        node.problem(f"id must be lower-case words joined by underscores, got {name!r}")
    for key in node.members:
        if key not in _KEYS:
            node.problem(f"unknown key {key!r}: the keys are {', '.join(_KEYS)}")
    for key in ("statement", "source", "test"):
        if not node.string(key):
            node.problem(f"{key} is missing")
    if node.members.get("grade") not in GRADES:
        node.problem(f"grade must be one of {', '.join(GRADES)}, got {node.members.get('grade')!r}")
    if not (node.document.folder.parent / node.string("test").partition("::")[0]).is_file():
        node.problem(f"test must name a file and, after '::', a function, got {node.string('test')!r}")
    return RecordedBehaviour(
        id=name,
        statement=node.string("statement"),
        grade=node.string("grade"),
        source=node.string("source"),
        test=node.string("test"),
        switch=node.members.get("switch", True) is True,
        facts=tuple(map(str, node.members.get("facts", ()))),
    )
