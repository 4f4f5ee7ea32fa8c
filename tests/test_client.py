"""Construction of a client, and the raw answers of its endpoints."""

import inspect
import json
import pydoc
import re
import subprocess
import sys
from functools import partial
from typing import Any

import aiohttp
import pytest

import brokerage_async
from brokerage_async import Client, Environment, Limits, RefreshToken, RetryPolicy, StaticToken, errors
from brokerage_async._generated.endpoints import Endpoints
from brokerage_async._version import __version__
from brokerage_async.client import PER_OPERATION
from brokerage_async.config import AuthorizationCode
from brokerage_async.models import NewWatchlist, NewWatchlistEntry
from brokerage_async.protocol.response import Response
from tests.fake_transport import LOST, FakeTransport, fail, ok
from tests.http.calls import client_of, failure
from tests.tables import for_each

pytestmark = pytest.mark.virtual_time

SANDBOX = Environment.sandbox("https://api.example.com")
TOKEN = StaticToken("s3cr3t")


async def observer_to_await(attempt: Any) -> None: ...


class TestArguments:
    def test_signature(self) -> None:
        found = inspect.signature(Client).parameters
        defaults = {name: p.default for name, p in found.items() if p.default is not p.empty}
        assert list(found)[:2] == ["environment", "credentials"]
        assert defaults == {
            "user_agent": f"brokerage-async/{__version__}", "accept_version": PER_OPERATION, "timeout": 30.0,
            "deadline": None, "retry": RetryPolicy(), "limits": Limits(), "read_only": False, "strict": False,
            "http_session": None, "trace_configs": (), "observers": (), "transport": None, "token_store": None,
            "proxy": None, "ssl": None, "trust_env": False, "allow_http": False, "market_data": None,
        }  # fmt: skip

    @for_each(
        "wrong, expected",
        [
            *(({"user_agent": each}, "user_agent") for each in ("", "nothing", "a b/1", "a/1\r\nX: y")),
            *(({"accept_version": each}, "accept_version") for each in ("", "1\n2")),
            *(({"timeout": each}, "timeout") for each in (0, -1, "30")),
            *(({"deadline": each}, "deadline") for each in (0.0, True)),
            *(({name: each}, name) for name in ("environment", "retry", "limits") for each in (None, "x", 5)),
            *(
                ({"credentials": each}, "credentials must be a RefreshToken, an AuthorizationCode, a StaticToken")
                for each in (None, "token", 5, object(), StaticToken)
            ),
            ({"transport": FakeTransport(), "trace_configs": [aiohttp.TraceConfig()]}, "aiohttp"),
            ({"observers": [observer_to_await]}, "every observer must be a plain function, not a coroutine"),
            ({"trace_configs": None}, "trace_configs must be a list or tuple, got NoneType"),
            ({"trace_configs": "x"}, "trace_configs must be a list"),
            ({"trace_configs": [print]}, "aiohttp.TraceConfig"),
            ({"observers": None}, "observers must be a list or tuple, got NoneType"),
            ({"observers": print}, "observers must be a list"),
            ({"observers": [5]}, "every observer must be a function, got 5"),
            ({"read_only": "false"}, "read_only must be True or False, got 'false'"),
            ({"read_only": None}, "read_only must be True or False"),
            ({"strict": 1}, "strict must be True or False"),
            ({"timeout": float("inf")}, "timeout must be a number of seconds"),
            ({"deadline": 10**400}, "deadline must be a number of seconds"),
            (
                {"limits": Limits(per_operation={"orders.lives": 1})},
                "unknown operation in Limits.per_operation: 'orders.lives'",
            ),
            ({"transport": 5}, "transport must be an object with send and close, got 5"),
            ({"transport": FakeTransport}, "transport must be an object with send and close"),
            ({"token_store": "tokens.json"}, "token_store must be an object with load and save, got 'tokens.json'"),
            ({"http_session": 5}, "http_session must be an aiohttp.ClientSession, or None, not int"),
            ({"http_session": aiohttp.ClientSession}, "http_session must be an aiohttp.ClientSession"),
        ],
    )
    def test_wrong_arguments_are_told_what_is_expected(self, wrong: Any, expected: str) -> None:
        with pytest.raises(errors.ConfigurationError, match=expected):
            Client(**({"environment": SANDBOX, "credentials": TOKEN} | wrong))

    def test_made_without_an_event_loop_it_has_its_features_and_shows_no_secret(self) -> None:
        client = Client(SANDBOX, RefreshToken(client_secret="s3cr3t", refresh_token="s3cr3t"))
        assert repr(client) == "<Client of sandbox at https://api.example.com>"
        assert "s3cr3t" not in repr(client) + repr(vars(client)) + str(client)
        assert client.bulk is client.bulk
        assert client.watch is client.watch


def test_from_env_takes_variables_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(errors.ConfigurationError, match="BROKERAGE_BASE_URL"):
        Client.from_env()
    given = {"BASE_URL": "https://api.example.com", "CLIENT_SECRET": "cs", "REFRESH_TOKEN": "rt", "USER_AGENT": "env/1"}
    for name, value in given.items():
        monkeypatch.setenv(f"BROKERAGE_{name}", value)
    client = Client.from_env()
    assert (client.environment, client.session.options.headers["User-Agent"]) == (SANDBOX, "env/1")
    assert Client.from_env(user_agent="me/2").session.options.headers["User-Agent"] == "me/2"
    assert Client.from_env(read_only=True).session.options.read_only


async def test_views_share_everything_but_the_options() -> None:
    transport = FakeTransport()
    async with Client(SANDBOX, TOKEN, transport=transport) as client:
        view = client.with_options(timeout=5, deadline=9, accept_version="20261012", retry=RetryPolicy.none())
        async with view:  # closing one does nothing
            await view.watchlists.list()
        await client.watchlists.list()
        assert transport.closed == 0
        assert view.session.engine is client.session.engine
        assert type(view) is Client
    assert transport.closed == 1
    changed, plain = transport.requests
    assert (changed.timeout, changed.headers["Accept-Version"]) == (5, "20261012")
    assert (plain.timeout, "Accept-Version" in plain.headers) == (30.0, False)


def test_views_build_on_each_other_and_can_take_back() -> None:
    client = Client(SANDBOX, TOKEN, transport=FakeTransport(), accept_version="1", deadline=3)
    options = client.with_options(timeout=5).with_options(deadline=None, accept_version=None).session.options
    assert (options.timeout, options.deadline) == (5, None)
    assert "Accept-Version" not in options.headers
    assert client.session.options.deadline == 3
    for wrong in ({"timeout": -1}, {"deadline": 0}, {"accept_version": ""}):
        with pytest.raises(errors.ConfigurationError):
            client.with_options(**wrong)


async def test_authorize_returns_the_refresh_token_to_keep() -> None:
    body = b'{"access_token":"a","refresh_token":"keep-me","token_type":"Bearer","expires_in":900}'
    code = AuthorizationCode(client_id="id", client_secret="cs", redirect_uri="https://a.example", code="c")
    transport = FakeTransport(token_script=(Response(status=200, body=body),))
    async with Client(SANDBOX, code, transport=transport) as client:
        kept = await client.authorize()
        assert kept == RefreshToken(client_secret="cs", refresh_token="keep-me", client_id="id")
        await client.watchlists.list()
        assert await client.authorize() == kept
    assert len(transport.token_requests) == 1
    async with Client(SANDBOX, TOKEN, transport=FakeTransport()) as client:
        assert await client.authorize() is None


async def test_odd_answers_are_read() -> None:
    twice = Response(status=200, body=b'{"data": {"items": [{"name": "a", "name": "b"}]}}')
    plain = {"content-type": "text/plain"}
    as_text = Response(status=200, headers=plain, body=b'{"data": {"items": [{"name": "b"}]}}')
    async with Client(SANDBOX, TOKEN, transport=FakeTransport(twice, as_text)) as client:
        assert [(await client.watchlists.list())[0].name for _ in range(2)] == ["b", "b"]


def test_package_has_its_names_and_loads_what_is_needed_when_it_is_needed() -> None:
    for name in brokerage_async.__all__:
        assert getattr(brokerage_async, name) is not None
    assert set(brokerage_async.__all__) <= set(dir(brokerage_async))
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        brokerage_async.Nonsense  # noqa: B018
    made = "Client(Environment.sandbox('http://localhost'), StaticToken('t'))"
    code = f"from brokerage_async import Client, Environment, StaticToken; import sys; {made}; "
    code += "print('brokerage_async._generated.converters' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code]) == b"True\n"
    unneeded = ("aiohttp", "cattrs", "sqlite3", "brokerage_async._generated.converters", "brokerage_async.stream")
    for statement in ("import brokerage_async", "from brokerage_async import Client"):
        code = f"{statement}; import sys; print([m for m in {unneeded} if m in sys.modules])"
        assert subprocess.check_output([sys.executable, "-c", code]) == b"[]\n", statement


def test_every_namespace_is_listed_and_annotated() -> None:
    shown = pydoc.plain(pydoc.render_doc(Client)).partition("Attributes:")[2].partition("Raises:")[0]
    lines = re.findall(r"^ \|      ([a-z_, ]+): ", shown, re.MULTILINE)
    client = Client(SANDBOX, TOKEN, transport=FakeTransport())
    namespaces = {name: type(value).__name__ for name, value in vars(client).items() if name[0] != "_"}
    assert len(namespaces) == 17
    assert {name for names in lines for name in names.split(", ")} == namespaces.keys() | {"bulk", "watch", "stream"}
    assert inspect.get_annotations(Endpoints) == namespaces


WARRANT = {"symbol": "AAPLW"}
TECH = NewWatchlist(name="tech", watchlist_entries=(NewWatchlistEntry(symbol="AAPL"),))


async def plain(client: Client, symbol: str = "A") -> Any:
    return await client.instruments.warrant(symbol)


async def by_name(client: Client, symbol: str = "A") -> Any:
    return await client.with_raw_response.instruments.warrant(symbol)


async def by_method(client: Client, symbol: str = "A") -> Any:
    return await client.with_raw_response(client.instruments.warrant)(symbol)


both_forms = for_each("form", [by_name, by_method])
BOTH = b'{"data": {}, "error": {"code": "record_not_found", "message": "no"}}'


@both_forms
async def test_answer_has_status_headers_body_and_result(form: Any) -> None:
    body = json.dumps({"data": WARRANT}).encode()
    transport = FakeTransport(Response(status=203, headers={"etag": "7"}, body=body))
    async with client_of(transport) as client:
        raw = await form(client, "BRK/B")
        assert (raw.status, raw.headers, raw.body) == (203, {"etag": "7"}, body)
        assert raw.parse() == await client.instruments.warrant("BRK/B")
    first, second = transport.requests
    assert (first.url, first.headers) == (second.url, second.headers)


@for_each("form", [plain, by_name, by_method])
async def test_errors_are_those_of_an_ordinary_call(form: Any) -> None:
    for refusal in (fail(404, "record_not_found"), Response(status=200, body=BOTH)):  # at once, if also a success
        error = await failure(errors.NotFoundError, FakeTransport(refusal), call=form, match=r"instruments\.warrant")
        assert (error.operation, error.code, error.method) == ("instruments.warrant", "record_not_found", "GET")
        assert (error.attempts, error.__notes__) == (1, ["called as instruments.warrant(symbol='A')"])
    transport = FakeTransport()
    await failure(errors.InvalidRequestError, transport, call=partial(form, symbol=".."))
    assert not transport.requests
    async with client_of(FakeTransport(10.0)) as client:
        with pytest.raises(errors.DeadlineExceededError):
            await form(client.with_options(deadline=1.0))


@both_forms
async def test_body_is_parsed_only_when_asked_and_as_strictly_as_the_client(form: Any) -> None:
    async with client_of(FakeTransport(Response(status=200, body=b"<html>"))) as client:
        raw = await form(client)
    assert raw.body == b"<html>"
    with pytest.raises(errors.ResponseDecodeError):
        raw.parse()
    async with client_of(FakeTransport(ok({"symbol": ["A"]}))) as client:
        assert (await form(client)).parse().extra == {"symbol": ["A"]}
    async with client_of(FakeTransport(ok({"symbol": ["A"]})), strict=True) as client:
        raw = await form(client)
    with pytest.raises(errors.ResponseDecodeError):
        raw.parse()


async def test_paginated_list_is_one_page() -> None:
    body = {"data": {"items": [{"symbol": "A"}]}, "pagination": {"total-pages": 9, "page-offset": 3}}
    transport = FakeTransport(Response(status=200, body=json.dumps(body).encode()))
    async with client_of(transport) as client:
        raw = await client.with_raw_response.instruments.equities(is_etf=True, page_offset=3)
        same = await client.with_raw_response(client.instruments.equities)(is_etf=True, page_offset=3)
    assert [equity.symbol for equity in raw.parse()] == ["A"]
    assert same.body == raw.body
    assert ["page-offset=3" in request.url for request in transport.requests] == [True, True]


async def test_read_is_repeated_and_a_mutation_sent_once_if_at_all() -> None:
    transport = FakeTransport(LOST, ok(WARRANT), LOST)
    async with client_of(transport) as client:
        assert (await client.with_raw_response.instruments.warrant("A")).status == 200
        with pytest.raises(errors.ResponseLostError):
            await client.with_raw_response.watchlists.create(TECH)
    assert len(transport.requests) == 3
    async with client_of(transport, read_only=True) as client:
        with pytest.raises(errors.ConfigurationError, match="read-only"):
            await client.with_raw_response.watchlists.create(TECH)
    assert len(transport.requests) == 3


async def test_names_are_those_of_this_client() -> None:
    """A method of another client could send to another environment."""
    async with client_of(FakeTransport()) as client, client_of(FakeTransport()) as other:
        assert {"instruments", "orders"} <= set(dir(client.with_raw_response))
        for name in ("session", "nope", "__wrapped__"):
            assert not hasattr(client.with_raw_response, name)
        assert not hasattr(client.with_raw_response.orders, "nope")
        for wrong in (other.instruments.warrant, client.request, client.authorize, print, None):
            anything: Any = wrong
            with pytest.raises(errors.ConfigurationError, match="method of this client"):
                client.with_raw_response(anything)
