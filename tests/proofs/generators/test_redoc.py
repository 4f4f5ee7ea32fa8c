"""Fields of answers in the definition that a page of Redoc shows."""

from __future__ import annotations

import copy
import json
from typing import Any

from tests.proofs.generators.redoc import DEFINITION, definition, shows_fields
from tests.schema.bundle import BUNDLE, OPERATIONS


def test_definition_is_read_from_the_page() -> None:
    page = f"<script>\n{DEFINITION}{json.dumps(BUNDLE)};\nconst more = {{}};"
    assert definition(page) == BUNDLE


def test_every_answer_shows_fields() -> None:
    assert [name for name, each in OPERATIONS.items() if not shows_fields(BUNDLE, name, each)] == []


def test_answer_without_fields_is_noticed() -> None:
    shown: dict[str, Any] = copy.deepcopy(BUNDLE)
    shown["components"]["schemas"]["OrderList"]["properties"]["items"]["items"] = {}
    shown["components"]["schemas"]["Warrant"]["properties"] = {}
    assert not shows_fields(shown, "orders.list", OPERATIONS["orders.list"])
    assert not shows_fields(shown, "instruments.warrant", OPERATIONS["instruments.warrant"])
    assert shows_fields(shown, "orders.get", OPERATIONS["orders.get"])
