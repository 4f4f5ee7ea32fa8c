"""The bundled schema as the package has it, and the bodies of the vectors with the schemas that describe them."""

import json
from collections.abc import Iterator
from typing import Any

import attrs

from brokerage_async._generated import openapi
from tests.vectors import EXCHANGES, REFUSALS
from tests.vectors.exchange import Exchange

SOURCE: str = openapi()
BUNDLE: dict[str, Any] = json.loads(SOURCE)
SCHEMAS: dict[str, dict[str, Any]] = BUNDLE["components"]["schemas"]
OPERATIONS: dict[str, dict[str, Any]] = {
    operation["operationId"]: operation for item in BUNDLE["paths"].values() for operation in item.values()
}


def resolved(node: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in node:
        _, _, section, name = node["$ref"].split("/")
        node = BUNDLE["components"][section][name]
    return node


def name_of(reference: dict[str, Any]) -> str:
    return str(reference["$ref"]).rpartition("/")[2]


def alternatives(schema: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = schema.get("anyOf", [schema])
    return found


def response_schema(operation: str, status: int) -> dict[str, Any] | None:
    """Return the schema of the JSON body of a response, None if it has no body."""
    responses = OPERATIONS[operation]["responses"]
    found = resolved(responses.get(str(status)) or responses[f"{status // 100}XX"])
    return found["content"]["application/json"]["schema"] if "content" in found else None


def success_schema(operation: str) -> dict[str, Any] | None:
    status = next(int(status) for status in OPERATIONS[operation]["responses"] if status[0] == "2")
    return response_schema(operation, status)


def row_components(operation: str) -> list[str]:
    """Return the component of the rows of an answer that is or may be a list. None for any other answer."""
    found = []
    for schema in alternatives(success_schema(operation) or {}):
        if "$ref" in schema and name_of(schema).endswith(("ListEnvelope", "PageEnvelope")):
            found.append(resolved(resolved(schema)["properties"]["data"])["properties"]["items"])
        elif schema.get("type") == "array":
            found.append(schema)
    return [name_of(rows["items"]) for rows in found if "$ref" in rows["items"]]


@attrs.frozen
class Body:
    """JSON body of a vector, with its schema."""

    exchange: Exchange
    source: str
    schema: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.exchange} ({self.exchange.status})"


def answers() -> Iterator[Body]:
    """Yield every JSON answer of the vectors. Pages of HTML and answers that are undocumented bodies have no schema."""
    for exchange in (*EXCHANGES, *REFUSALS):
        schema = response_schema(exchange.operation, exchange.status)
        if schema is not None and exchange.answer and not exchange.answer.lstrip().startswith("<"):
            yield Body(exchange, exchange.answer, schema)


def requests() -> Iterator[Body]:
    for exchange in (*EXCHANGES, *REFUSALS):
        if exchange.sent:
            schema = OPERATIONS[exchange.operation]["requestBody"]["content"]["application/json"]["schema"]
            yield Body(exchange, exchange.sent, schema)
