"""Every exchange typed by hand, replayed without I/O: the call gives exactly the request, the response the facts."""

import json
from typing import Any

import attrs
from hypothesis import given
from hypothesis import strategies as st

from brokerage_async import errors
from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.protocol.decoding import codec
from brokerage_async.protocol.request import build, encode_path, encode_query
from brokerage_async.protocol.response import Response, is_success, read_error
from tests.protocol.values import ANYTHING, raised
from tests.tables import for_each
from tests.vectors import EXCHANGES, REFUSALS
from tests.vectors.exchange import HEADERS, call_of, differences

BASE = "https://api.example.com"


@for_each("exchange", [*EXCHANGES, *REFUSALS])
def test_a_call_gives_exactly_the_request(exchange: Any) -> None:
    call = call_of(exchange)
    assert call.operation is OPERATIONS[exchange.operation]
    if exchange.unsent:
        error = raised(errors.InvalidRequestError, build, call, base_url=BASE, headers=HEADERS)
        assert [problem.domain for problem in error.errors] == [exchange.unsent]
        path, query = encode_path(call.operation.path, call.path), encode_query(call.operation.parameters, call.query)
        assert f"{path}?{query}" == exchange.target
        return
    request = build(call, base_url=BASE, headers=HEADERS)
    assert f"{request.method} {request.url}" == f"{exchange.method} {BASE}{exchange.target}"
    assert request.body == exchange.body
    assert request.headers == HEADERS


@for_each("exchange", EXCHANGES)
def test_a_success_gives_the_facts_and_as_documented_nothing_unexpected(exchange: Any) -> None:
    response = Response(status=exchange.status, headers=exchange.headers, body=exchange.answer.encode())
    assert is_success(response)
    decoded = codec.decode(exchange.data, response.body)
    assert differences(decoded.value, exchange.facts) == []
    answer = json.loads(exchange.answer or "{}")
    assert decoded.context == (answer.get("context") if isinstance(answer, dict) else None)
    if exchange.pagination is not None:
        assert differences(decoded.pagination, exchange.pagination) == []
    if not exchange.observed:
        codec.decode(exchange.data, response.body, strict=True)


@for_each("exchange", REFUSALS)
def test_a_refusal_gives_the_error(exchange: Any) -> None:
    response = Response(status=exchange.status, headers=exchange.headers, body=exchange.answer.encode())
    assert not is_success(response)
    error = read_error(exchange.data, response, attempts=1, now=0.0)
    assert type(error) is getattr(errors, exchange.error)
    assert differences(error, exchange.facts) == []
    assert (error.status, error.operation) == (exchange.status, exchange.operation)


@for_each("operation", OPERATIONS.values())
def test_every_operation_has_an_exchange_with_its_documented_status(operation: Any) -> None:
    found = {each.status for each in EXCHANGES if each.operation == operation.name}
    assert operation.status in found, f"tests/vectors needs an exchange of {operation.name}"


def test_every_error_class_of_the_service_is_met() -> None:
    classes = {name for name in errors.__all__ if issubclass(getattr(errors, name), errors.APIError)}
    assert {each.error for each in REFUSALS} == classes - {"APIError"}


WITHOUT_BODY = [each for each in EXCHANGES if each.data.body is None and (each.arguments or each.options)]


@given(st.data(), st.booleans())
def test_any_argument_of_any_endpoint_gives_a_request_or_one_of_our_errors(data: st.DataObject, strict: bool) -> None:
    exchange = data.draw(st.sampled_from(WITHOUT_BODY))
    places = [*range(len(exchange.arguments)), *exchange.options]
    odd = data.draw(st.dictionaries(st.sampled_from(places), ANYTHING, min_size=1))
    arguments = tuple(odd.get(index, value) for index, value in enumerate(exchange.arguments))
    options = {name: odd.get(name, value) for name, value in exchange.options.items()}
    call = call_of(attrs.evolve(exchange, arguments=arguments, options=options))
    try:
        request = build(call, base_url=BASE, headers=HEADERS, strict=strict)
    except errors.BrokerageError as error:
        assert error.errors  # noqa: PT017
    else:
        assert request.url.isascii()
        assert request.url.isprintable()
        assert " " not in request.url
        assert request.url.startswith(BASE)
        path = request.url.removeprefix(BASE).partition("?")[0]
        assert path.count("/") == call.operation.path.count("/")
        assert not {"", ".", ".."} & set(path.split("/")[1:])
