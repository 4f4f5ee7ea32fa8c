"""Page of all operations."""

from codegen.read.clients import Comparison, LeftOut, OtherClient
from codegen.read.load import load
from codegen.render.reference import render
from tests.codegen.support import TOY

USED = frozenset({"GET /beds", "GET /beds/{}/plants", "POST /sheds"})
SPADE = OtherClient(name="spade", registry="PyPI", version="1.0.0", description="a client of gardens", requests=USED)
SHEDS = LeftOut(request="POST /sheds", reason="Sheds have gone.", clients=("spade",))


def test_render_lists_every_operation_with_its_source_and_its_clients() -> None:
    lines = render(load(TOY), Comparison(clients=(SPADE,), left_out=(SHEDS,)))["operations.md"].splitlines()
    assert lines[0] == "# Operations"
    assert "- `spade` 1.0.0 (PyPI), a client of gardens: 2 of these 5 operations" in lines
    assert lines[lines.index("## client.garden") : lines.index("## Left out") - 1] == [
        "## client.garden",
        "",
        "Plants and beds.",
        "",
        "| Operation | Request | Result | Source | Also in |",
        "| --- | --- | --- | --- | --- |",
        "| `plants` | `GET /beds/{bed_number}/plants` | pages of `Plant` | documented | `spade` |",
        "| **`plant`** | `POST /beds/{bed_number}/plants` | `Plant` | documented, production only |  |",
        "| **`edit_bed`** | `PATCH /beds/{bed_number}` | `Bed` | recorded |  |",
        "| **`remove`** | `DELETE /beds/{bed_number}` | nothing | documented |  |",
        "| `list` | `GET /beds` | list of `Bed` | documented | `spade` |",
    ]
    assert lines[-3:] == [
        "| Request | Clients | Reason |",
        "| --- | --- | --- |",
        "| `POST /sheds` | `spade` | Sheds have gone. |",
    ]
