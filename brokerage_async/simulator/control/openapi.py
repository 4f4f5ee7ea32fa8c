"""OpenAPI description of the control API, derived from its routes and bodies."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import msgspec

from .api import CONTROL_ROUTES, Route

__all__ = ["description"]

_JSON = "application/json"
_ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {"code": {"type": "string"}, "message": {"type": "string"}},
        }
    },
}


@cache
def description() -> bytes:
    """Return the description as JSON."""
    types = [each for route in CONTROL_ROUTES for each in (route.body, route.answer) if each is not None]
    schemas, components = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    by_type = dict(zip(map(str, types), schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for route in CONTROL_ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, by_type)
    document = {
        "openapi": "3.1.0",
        "info": {
            "title": "Control API of the simulated brokerage",
            "version": "1",
            "description": "Steers a running simulator: clock, prices, faults, rate limit, orders, tokens, ledger.",
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": {**components, "Error": _ERROR},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }
    return msgspec.json.encode(document)


def _operation(route: Route, by_type: dict[str, Any]) -> dict[str, Any]:
    answer = {"type": "null"} if route.answer is None else by_type[str(route.answer)]
    operation: dict[str, Any] = {
        "operationId": route.name,
        "summary": route.summary,
        "parameters": [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
            for name in re.findall(r"\{(\w+)\}", route.path)
        ],
        "responses": {
            "200": {"description": "Done.", "content": {_JSON: {"schema": answer}}},
            **{status: _error_response(text) for status, text in _ERRORS.items()},
        },
    }
    if route.body is not None:
        operation["requestBody"] = {"required": True, "content": {_JSON: {"schema": by_type[str(route.body)]}}}
    return operation


_ERRORS = {
    "401": "The token is missing or wrong.",
    "403": "The request comes from a web page.",
    "404": "The order or underlying is unknown.",
    "422": "The body is not valid, or the state does not allow it.",
}


def _error_response(text: str) -> dict[str, Any]:
    return {"description": text, "content": {_JSON: {"schema": {"$ref": "#/components/schemas/Error"}}}}
