"""Construction of a client."""

import inspect
import pydoc
import re
import subprocess
import sys
from typing import Any

import aiohttp
import pytest

import brokerage_async
from brokerage_async import Client, Environment, Limits, RefreshToken, RetryPolicy, StaticToken
from brokerage_async._generated.endpoints import Endpoints
from brokerage_async._version import __version__
from brokerage_async.client import PER_OPERATION
from brokerage_async.config import AuthorizationCode
from brokerage_async.errors import BrokerageError, ConfigurationError
from brokerage_async.protocol.response import Response
from tests.fake_transport import FakeTransport, fail
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
            *(({"environment": each}, "environment") for each in (None, "x", 5)),
            *(({"retry": each}, "retry") for each in (None, "x", 5)),
            *(({"limits": each}, "limits") for each in (None, "x", 5)),
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
        with pytest.raises(ConfigurationError, match=expected):
            Client(**({"environment": SANDBOX, "credentials": TOKEN} | wrong))

    def test_made_without_an_event_loop_it_has_its_features_and_shows_no_secret(self) -> None:
        client = Client(SANDBOX, RefreshToken(client_secret="s3cr3t", refresh_token="s3cr3t"))
        assert repr(client) == "<Client of sandbox at https://api.example.com>"
        assert "s3cr3t" not in repr(client) + repr(vars(client)) + str(client)
        assert client.bulk is client.bulk
        assert client.watch is client.watch


def test_from_env_takes_variables_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigurationError, match="BROKERAGE_BASE_URL"):
        Client.from_env()
    given = {"BASE_URL": "https://api.example.com", "CLIENT_SECRET": "cs", "REFRESH_TOKEN": "rt", "USER_AGENT": "env/1"}
    for name, value in given.items():
        monkeypatch.setenv(f"BROKERAGE_{name}", value)
    client = Client.from_env()
    assert client.environment == SANDBOX
    assert client.session.options.headers["User-Agent"] == "env/1"
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
        with pytest.raises(ConfigurationError):
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


def test_package_has_its_names_and_loads_what_decodes_before_the_first_call() -> None:
    for name in brokerage_async.__all__:
        assert getattr(brokerage_async, name) is not None
    assert set(brokerage_async.__all__) <= set(dir(brokerage_async))
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        brokerage_async.Nonsense  # noqa: B018
    made = "Client(Environment.sandbox('http://localhost'), StaticToken('t'))"
    code = f"from brokerage_async import Client, Environment, StaticToken; import sys; {made}; "
    code += "print('brokerage_async._generated.converters' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code]) == b"True\n"


@for_each("statement", ["import brokerage_async", "from brokerage_async import Client"])
def test_import_leaves_out_what_may_not_be_needed(statement: str) -> None:
    unneeded = ("aiohttp", "cattrs", "sqlite3", "brokerage_async._generated.converters", "brokerage_async.stream")
    code = f"{statement}; import sys; print([m for m in {unneeded} if m in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code]) == b"[]\n"


def test_every_namespace_is_listed_and_annotated() -> None:
    shown = pydoc.plain(pydoc.render_doc(Client)).partition("Attributes:")[2].partition("Raises:")[0]
    lines = re.findall(r"^ \|      ([a-z_, ]+): ", shown, re.MULTILINE)
    client = Client(SANDBOX, TOKEN, transport=FakeTransport())
    namespaces = {name: type(value).__name__ for name, value in vars(client).items() if name[0] != "_"}
    assert len(namespaces) == 17
    assert {name for names in lines for name in names.split(", ")} == namespaces.keys() | {"bulk", "watch", "stream"}
    assert inspect.get_annotations(Endpoints) == namespaces


async def test_error_of_a_call_names_it() -> None:
    async with Client(SANDBOX, TOKEN, transport=FakeTransport(fail(404, "record_not_found"))) as client:
        with pytest.raises(BrokerageError, match=r"instruments\.warrant") as caught:
            await client.instruments.warrant("NOPE")
    assert (caught.value.code, caught.value.method) == ("record_not_found", "GET")
