"""Pydantic models generated from the bundled schema have typed rows and accept every body of the vectors."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest

from tests.proofs.generators.pydantic_models import generated, refusals, run
from tests.schema.bundle import SOURCE, answers


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """Return the file of the bundled schema."""
    path = tmp_path / "openapi.json"
    path.write_text(SOURCE, "utf-8")
    return path


@pytest.mark.slow
def test_pydantic_models_fit_every_body(bundle: Path, tmp_path: Path) -> None:
    rows, bodies = run(bundle, tmp_path)
    assert (rows.problems, bodies.problems) == ((), ())
    assert rows.total > 40
    assert bodies.total > 170
    body = next(each for each in answers() if each.exchange.operation == "orders.get")
    wrong = attrs.evolve(body, source='{"data": {"id": "7", "legs": 7}}')
    assert len(list(refusals(generated(bundle, tmp_path), [body, wrong]))) == 1
