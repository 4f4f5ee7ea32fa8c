"""Pydantic models fit every body of the vectors."""

import sys
from pathlib import Path

import attrs
import pytest

from tests.proofs.generators.pydantic_models import refusal, run
from tests.schema.bundle import SOURCE, answers


@pytest.mark.slow
def test_pydantic_models_fit_every_body(tmp_path: Path) -> None:
    bundle = tmp_path / "openapi.json"
    bundle.write_text(SOURCE, "utf-8")
    rows, bodies = run(bundle, tmp_path)
    assert (rows.problems, bodies.problems) == ((), ())
    assert rows.total > 40
    assert bodies.total > 170
    body = next(each for each in answers() if each.exchange.operation == "orders.get")
    wrong = attrs.evolve(body, source='{"data": {"id": "7", "legs": 7}}')
    models = sys.modules["generated_pydantic_models"]
    assert (refusal(models, body), refusal(models, wrong) is None) == (None, False)
