"""``brokerage-async schema`` prints the bundled schema."""

from __future__ import annotations

import json

from typer.testing import CliRunner

from brokerage_async.cli.app import app
from tests.schema.bundle import SOURCE


def test_schema_prints_one_json_document() -> None:
    result = CliRunner().invoke(app, ["schema"])
    assert (result.exit_code, result.output) == (0, SOURCE)
    assert json.loads(result.output)["openapi"] == "3.1.0"
