"""Page of all operations."""

from __future__ import annotations

from codegen.read.load import load
from codegen.render.reference import render
from tests.codegen.support import TOY


def test_render_lists_every_operation_with_its_source() -> None:
    lines = render(load(TOY)).splitlines()
    assert lines[0] == "# Operations"
    assert lines[lines.index("## client.garden") :] == [
        "## client.garden",
        "",
        "Plants and beds.",
        "",
        "| Operation | Request | Result | Source | Environments |",
        "|---|---|---|---|---|",
        "| `plants` | `GET /beds/{bed_number}/plants` | pages of `Plant` | documented | both |",
        "| **`plant`** | `POST /beds/{bed_number}/plants` | `Plant` | documented | production |",
        "| **`edit_bed`** | `PATCH /beds/{bed_number}` | `Bed` | recorded | both |",
        "| **`remove`** | `DELETE /beds/{bed_number}` | nothing | documented | both |",
        "| `list` | `GET /beds` | list of `Bed` | documented | both |",
    ]
