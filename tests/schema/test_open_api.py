"""The schema matches the service's documentation: every field, type, value, parameter, status and rule.

`documented.yaml` is typed by hand from the documentation and says how to read it. Everything else in the schema has
another ``x-provenance``, on its own or on the component or operation that holds it. `undocumented.yaml` has the sources
and sizes of that, typed by hand from the recordings and the published reference.
"""

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import attrs

from brokerage_async import models
from brokerage_async._generated import operations as generated
from brokerage_async.protocol.decoding import codec
from brokerage_async.protocol.request import encode_body
from brokerage_async.protocol.validation.requests import check, problems_of
from codegen.read.document import parse
from tests.protocol.values import problems_in
from tests.schema.sources import FILES, OPERATIONS, ROOT, SCHEMAS, resolved
from tests.tables import for_each
from tests.vectors import EXCHANGES

DOCUMENTED = parse((Path(__file__).parent / "documented.yaml").read_text("utf-8"))
TABLES: dict[str, list[list[str]]] = {
    name: [row.split() for row in rows.split(", ") if row] for name, rows in DOCUMENTED["components"].items()
}
ENUMS: dict[str, str] = DOCUMENTED["enumerations"]
ENDPOINTS: dict[str, dict[str, Any]] = DOCUMENTED["endpoints"]
RULES: dict[str, list[dict[str, Any]]] = DOCUMENTED["rules"]

SECTIONS = {
    "Common conventions", "Order", "Complex order", "Placed-order response", "Watchlist", "Quote alert",
    "Equity instrument", "Equity option instrument", "Future option instrument", "Warrant", "Corporate-event items",
    "Holiday calendar", "Session timings", "Margin reports", "States and transitions", "Token", "Market time",
    "Market metrics", "Instruments", "Orders", "Transactions", "Margin", "Watchlists", "Quote alerts",
    "Pagination and sorting", "Authentication", "Errors",
}  # fmt: skip


WORDS = {"bool": "boolean", "int": "integer", "numeric": "decimal", "numeric-string": "string"}
READINGS = {"decimal", "date-time"}  # readings of a documented string, besides enumerations


def expected(word: str) -> str:
    word = word.removeprefix("?").rpartition(":")[2]
    return WORDS.get(word, word)


def actual(node: dict[str, Any]) -> str:
    """Return the type of a property or parameter, as written in the tables."""
    if "$ref" in node:
        return str(node["$ref"]).rpartition("/")[2]
    if node.get("type") == "array":
        return f"[{actual(node['items'])}]"
    kind = str(node.get("format") or node.get("type", "any"))
    return "string" if kind == "password" else kind


def is_documented(node: dict[str, Any], owner: dict[str, Any] | None = None) -> bool:
    """Return whether the documentation contains a node: by its own provenance, else by its owner's."""
    inherited = "documented" if owner is None else owner.get("x-provenance", "documented")
    return bool(node.get("x-provenance", inherited) == "documented")


def answer(schema: dict[str, Any]) -> str:
    """Return the content of a success body, as written in the endpoint table."""
    if "$ref" in schema or schema.get("type") == "array":
        return actual(schema)
    if "oneOf" in schema:
        return " or ".join(sorted(map(answer, schema["oneOf"]), key=lambda form: form.startswith("[")))
    envelope = actual(schema["allOf"][0])
    data = schema["properties"]["data"]
    if envelope == "ItemEnvelope":
        return actual(data)
    item = actual(data["properties"]["items"]["items"])
    return {"ListEnvelope": f"[{item}]", "PageEnvelope": f"pages of {item}"}[envelope]


def json_schema(content: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = content["content"]["application/json"]["schema"]
    return found


def test_documented_components_operations_rules_and_sections_are_those_of_the_tables() -> None:
    operations = {name: operation for name, (_, operation) in OPERATIONS.items()}
    assert {name for name, schema in SCHEMAS.items() if is_documented(schema)} == (set(TABLES) | set(ENUMS))
    assert {name for name, operation in operations.items() if is_documented(operation)} == set(ENDPOINTS)
    restricted = {name for name, operation in operations.items() if "x-environments" in operation}
    assert restricted & set(ENDPOINTS) == {"margin.dry_run", "margin.requirements"}
    holders = {**SCHEMAS, **operations}
    assert {name for name, holder in holders.items() if "x-rules" in holder and is_documented(holder)} == set(RULES)
    assert {holder["x-section"] for holder in holders.values() if "x-section" in holder} == SECTIONS


@for_each("name", TABLES)
def test_fields_their_order_types_and_readings(name: str) -> None:
    schema, rows = SCHEMAS[name], {field.rstrip("*"): word for field, word in TABLES[name]}
    fields = {field: actual(node) for field, node in schema["properties"].items() if is_documented(node, schema)}
    assert fields == {field: expected(word) for field, word in rows.items()}
    if name != "MarginDryRun":  # documented in prose, without an order
        assert list(fields) == list(rows)
    read_as = {word.partition(":")[2] for word in rows.values() if word.startswith("string:")}
    assert read_as <= READINGS | set(ENUMS)
    starred = [field[:-1] for field, _ in TABLES[name] if field.endswith("*")]
    assert sorted(schema.get("required", [])) == sorted(starred)
    assert len(fields) == DOCUMENTED["counts"].get(name, len(fields))


@for_each("name", ENUMS)
def test_documented_values(name: str) -> None:
    schema = SCHEMAS[name]
    assert [value for value in schema["enum"] if value not in schema.get("x-observed", ())] == ENUMS[name].split(", ")


@for_each("place, values", DOCUMENTED["request-values"].items())
def test_values_that_a_request_may_carry(place: str, values: str) -> None:
    name, field = place.split()
    holder = "NewOrderLeg" if field.startswith("legs[].") else name
    enum = SCHEMAS[actual(SCHEMAS[holder]["properties"][field.removeprefix("legs[].")])]["enum"]
    refusals = [rule["when"] for rule in rules_of(SCHEMAS[name]) if rule.get("forbid") == [field] and "when" in rule]
    refused = {value for when in refusals if list(when) == [field] for value in when[field]}
    assert set(enum) - refused == set(values.split(", "))


@for_each("name, row", ENDPOINTS.items())
def test_call_success_errors_body_and_parameters(name: str, row: dict[str, Any]) -> None:
    call, operation = OPERATIONS[name]
    responses = {int(status): content for status, content in operation["responses"].items()}
    (success,) = [status for status in responses if status // 100 == 2]
    body = json_schema(operation["requestBody"]) if "requestBody" in operation else None
    assert (call, success) == (row["call"], row["status"])
    assert answer(json_schema(responses.pop(success))) == row["answer"]
    assert (actual(body) if body else None) == row.get("body")
    errors = {status for status, content in responses.items() if is_documented(resolved(content))}
    assert errors == {int(status) for status in row["errors"].split()} | general_errors(name)
    kinds = {"['integer', 'string']": "integer"}  # documented as integers, any `str` is accepted too
    parameters = {
        each["name"] + "*" * each.get("required", False): kinds.get(actual(each["schema"]), actual(each["schema"]))
        for each in map(resolved, operation.get("parameters", ()))
        if is_documented(each)
    }
    assert parameters == dict(each.split(":") for each in row.get("parameters", "").split(", ") if each)


def general_errors(name: str) -> set[int]:
    """Return the errors that the documentation has for all endpoints, as far as they can occur at one."""
    _, operation = OPERATIONS[name]
    errors = {406}
    errors |= {403} if "x-scope" in operation else set()  # a token that does not cover the operation
    errors |= {404} if "{account_number}" in ENDPOINTS[name]["call"] else set()  # an unknown account
    query = [one for one in map(resolved, operation.get("parameters", ())) if one["in"] == "query"]
    kinds = {one["schema"].get("type") for one in query}
    errors |= {400} if kinds & {"integer", "boolean"} else set()  # a malformed page or filter value
    # A missing parameter, or parameters that contradict each other.
    errors |= {422} if any(one.get("required") for one in query) or "x-rules" in operation else set()
    return errors


def rules_of(holder: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rules of a body or an operation, with nested lists flattened."""
    return [rule for listed in holder["x-rules"] for rule in (listed if isinstance(listed, list) else [listed])]


@for_each("name", RULES)
def test_documented_rules(name: str) -> None:
    holder = OPERATIONS[name][1] if name in OPERATIONS else SCHEMAS[name]
    rules = [rule for rule in rules_of(holder) if rule.get("x-provenance", "documented") == "documented"]
    present = [{key: value for key, value in rule.items() if key != "message"} for rule in rules]
    assert sorted(present, key=str) == sorted(RULES[name], key=str)


UNDOCUMENTED = parse((Path(__file__).parent / "undocumented.yaml").read_text("utf-8"))


def test_undocumented_operations_fields_and_personal_data_are_those_of_the_tables() -> None:
    present = {}
    for name, (call, operation) in OPERATIONS.items():
        if not is_documented(operation):
            success, *others = [each for status, each in operation["responses"].items() if status.startswith("2")]
            assert [other.get("content") for other in others] in ([], [success.get("content")])
            body = answer(json_schema(success)) if "content" in success else None
            present[name] = [operation["x-provenance"], call, body]
    assert present == UNDOCUMENTED["operations"]
    counts = UNDOCUMENTED["counts"]
    assert {name: len(SCHEMAS[name]["properties"]) for name in counts} == counts
    assert {name for name, schema in SCHEMAS.items() if schema.get("x-personal")} == {
        "Address", "Customer", "CustomerSuitability", "Entity", "EntityOfficer", "EntitySuitability", "Person",
    }  # fmt: skip


def sent_by(operation: str, name: str) -> Any:
    (found,) = [each.arguments[-1] for each in EXCHANGES if (each.operation, each.name) == (operation, name)]
    return found


NEW = sent_by("backtests.create", "pending")
BRACKET = sent_by("complex_orders.submit", "a bracket: entry, profit and loss")
PAIRS = sent_by("complex_orders.dry_run", "a pair with a ratio, only checked")
BUY, THRESHOLD = BRACKET.trigger_order, "ratio-price-threshold"


def test_complex_order_that_cannot_be_intended_is_refused() -> None:
    """The service and the tickets check all other rules."""
    unpriced = attrs.evolve(BRACKET, trigger_order=attrs.evolve(BUY, price=None))
    free = attrs.evolve(PAIRS, ratio_price_threshold=Decimal(0))
    for order, problem in ((unpriced, ("required", "trigger-order.price")), (free, ("out_of_range", THRESHOLD))):
        assert [(each.code, each.domain) for each in problems_of(order)] == [problem]


def test_leg_of_a_backtest_without_its_terms_is_refused_by_the_service() -> None:
    (leg, *_) = NEW.legs
    backtest = attrs.evolve(NEW, legs=[models.BacktestLeg(), attrs.evolve(leg, quantity=101, side=None)])
    assert [problem.domain for problem in problems_of(backtest)] == ["legs[1].quantity"]
    assert [(problem.code, problem.domain) for problem in problems_of(backtest, service=True)] == [
        ("required", "legs[0].type"), ("required", "legs[0].direction"), ("required", "legs[0].quantity"),
        ("required", "legs[0].strikeSelection"), ("required", "legs[0].daysUntilExpiration"),
        ("out_of_range", "legs[1].quantity"), ("required", "legs[1].side"),
    ]  # fmt: skip


def test_query_that_breaks_a_documented_rule_is_refused_and_a_published_one_sent() -> None:
    refused: list[tuple[Any, dict[str, Any], tuple[str, str]]] = [
        (generated.MARKET_METRICS_LIST, {"symbols": ["A,B"]}, ("value_not_allowed", "symbols[0]")),
        (generated.MARKET_METRICS_LIST, {"symbols": []}, ("too_few_items", "symbols")),
        (generated.SEARCH_INSTRUMENTS, {"limit": 101}, ("out_of_range", "limit")),
    ]
    for operation, query, problem in refused:
        assert problems_in(check, operation, {}, query, None) == [problem]
    assert generated.ORDERS_LIST.service_rules
    check(generated.ORDERS_LIST, {"account_number": "5WT00001"}, {"underlying-instrument-type": "Warrant"}, None)


def test_published_fields_are_read() -> None:
    def read(operation: str, data: str) -> Any:
        return codec.decode(generated.OPERATIONS[operation], f'{{"data":{data}}}'.encode(), strict=True).value

    fees = read("orders.dry_run", '{"closing-fee-calculation":{"total-fees":"0.5"}}').closing_fee_calculation
    assert fees.total_fees == Decimal("0.5")
    assert read("orders.dry_run", '{"closing-fee-calculation":"0.12"}').closing_fee_calculation == "0.12"
    (row,) = read("market_data.by_type", '{"items":[{"dayOpen":"1","prevDayClose":"2","close-price-type":"Regular"}]}')
    assert (row.day_open, row.prev_day_close) == (1, 2)
    assert row.close_price_type is models.ClosePriceType.REGULAR
    (metrics,) = read("market_metrics.list", '{"items":[{"implied-volatility-rank":"0.3","liquidity":"4"}]}')
    assert (metrics.implied_volatility_index_rank, metrics.liquidity_value) == (Decimal("0.3"), 4)
    equity = read("instruments.equity", '{"symbol":"SPX","market-time-instrument-collection":"Equity Index"}')
    assert equity.market_time_instrument_collection == models.InstrumentCollection.EQUITY_INDEX
    (bar,) = read("balances.net_liq_history", '{"items":[{"time":"2026-03-02T09:30:00-05:00[America/New_York]"}]}')
    assert bar.time.utcoffset() == timedelta(hours=-5)
    (booking,) = read("transactions.list", '{"items":[{"id":1,"transaction-type":"Trade"}]}')
    assert booking.transaction_type is models.TransactionType.TRADE
    ticket = attrs.evolve(BUY, max_value_per_liquidity_allocation_fill=Decimal(100))
    assert b'"max-value-per-liquidity-allocation-fill":"100"' in encode_body(generated.ORDERS_DRY_RUN, ticket)


def refusing_rules(node: Any, grade: str = "documented") -> Iterator[tuple[str, str]]:
    """Yield the grade and the message of each rule that the client checks before it sends."""
    if isinstance(node, dict):
        grade = node.get("x-provenance", grade)
        for each in node.get("x-rules", ()):
            if isinstance(each, list):  # rules that other bodies share with `NewOrder`, which the document describes
                yield from ((rule.get("x-provenance", "documented"), rule["message"]) for rule in each)
            else:
                yield each.get("x-provenance", grade), each["message"]
        node = node.values()
    if not isinstance(node, str | int | float | None):
        for each in node:
            yield from refusing_rules(each, grade)


def test_client_refuses_only_what_the_service_document_forbids() -> None:
    """It also rejects requests that this library itself guards against. The service checks all other rules."""
    rules = list(refusing_rules([ROOT, *FILES.values()]))
    assert len(rules) > 20
    assert [rule for rule in rules if rule[0] not in ("documented", "library")] == []
