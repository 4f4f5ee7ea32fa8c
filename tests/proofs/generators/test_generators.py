"""The lists that the tools must type; pydantic models fit every body of the vectors."""

import copy
import json
import sys
from pathlib import Path
from typing import Any

import attrs
import pytest

from tests.proofs.generators.pydantic_models import refusals, run
from tests.proofs.generators.redoc import DEFINITION, definition, shows_fields
from tests.proofs.generators.results import LISTS
from tests.proofs.generators.typescript import HELPERS, assertions, problems
from tests.schema.bundle import BUNDLE, OPERATIONS, SOURCE, answers


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
    assert len(list(refusals(sys.modules["generated_pydantic_models"], [body, wrong]))) == 1


def test_page_of_redoc_shows_fields_of_every_answer_and_one_without_is_noticed() -> None:
    page = f"<script>\n{DEFINITION}{json.dumps(BUNDLE)};\nconst more = {{}};"
    assert definition(page) == BUNDLE
    assert [name for name, each in OPERATIONS.items() if not shows_fields(BUNDLE, name, each)] == []
    shown: dict[str, Any] = copy.deepcopy(BUNDLE)
    shown["components"]["schemas"]["OrderList"]["properties"]["items"]["items"] = {}
    shown["components"]["schemas"]["Warrant"]["properties"] = {}
    found = [
        shows_fields(shown, name, OPERATIONS[name]) for name in ("orders.list", "instruments.warrant", "orders.get")
    ]
    assert found == [False, False, True]


def test_assertions_of_typescript_cover_every_list_and_problems_name_the_operation() -> None:
    source, lines = assertions()
    assert len(lines) == 2 * len(LISTS) > 80
    number = next(number for number, each in lines.items() if each == ("@hey-api/openapi-ts", "watchlists.list"))
    assert 'Typed<Rows<hey.WatchlistsListResponses[200]>, "name" | ' in source.splitlines()[number - 1]
    first = HELPERS.count("\n") + 1
    output = f"check.ts({first + 1},14): error TS2322: Type 'true' is not assignable to type 'false'.\n  more\n"
    assert problems(output, lines) == {"@hey-api/openapi-ts": [lines[first + 1][1]]}
    assert problems("", lines) == {}
    for error in ("check.ts(1,9): error TS2307: Cannot find module", "error TS18003: No inputs were found"):
        assert problems(error, lines) == {"openapi-typescript": [error], "@hey-api/openapi-ts": [error]}
