"""An error keeps the locals of its frames alive, and they show no secret."""

import asyncio
import gc
import traceback
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any

import aiohttp
import pytest
from rich.traceback import Traceback

from brokerage_async import AuthorizationCode, Client, Environment, RefreshToken, RetryPolicy, StaticToken
from brokerage_async.errors import BrokerageError, TokenError
from brokerage_async.http.limiter import LaneName
from tests.fleet.engines import free_port
from tests.raw_server import RawServer, answer

MARK = "zq81jfkd02mx"
SECRETS = tuple(f"{MARK}{kind}" + 20 * "Ab3dE6" for kind in ("secret", "refresh", "code", "access"))
"""Longer than what tools print of a `str`: they cut it before they call its ``repr``."""
OF_THE_CODE = {"client_id": "id", "redirect_uri": "https://a.example", "code": SECRETS[2]}
CREDENTIALS = {
    "refresh": RefreshToken(client_secret=SECRETS[0], refresh_token=SECRETS[1]),
    "code": AuthorizationCode(client_secret=SECRETS[0], **OF_THE_CODE),
    "static": StaticToken(SECRETS[3]),
}
ECHO = '{{"error_code":{code},"error_description":"{0} {1} {2} {3}","refresh_token":"{1}"}}'
SILENCE = {"hanging": "stall", "dropped": None, "truncated": (answer(b"{", length=100), None)}
ANSWERS = {
    **SILENCE,
    "refused": answer(ECHO.format(*SECRETS, code='"invalid_grant"').encode(), 400),
    "echoed as a success": answer(ECHO.format(*SECRETS, code="5").encode(), 200),
    "unusable token": answer(b'{"access_token":"%s\\n"}' % SECRETS[3].encode(), 200),
    "redirected": answer(b"", 302, f"Location: http://127.0.0.1:1/{SECRETS[1]}"),
}


def shown(error: BaseException | None, seen: set[int]) -> Iterator[tuple[str, str]]:
    """Yield place and content of all that a tool prints of an error, its causes, and the locals of their frames."""
    if error is None or id(error) in seen:
        return
    seen.add(id(error))
    yield "error", "".join(traceback.format_exception(error))
    yield "attributes", repr(vars(error))
    for frame, line in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_filename != __file__:
            for name, value in frame.f_locals.items():
                yield f"{frame.f_code.co_filename}:{line} {name}", repr(value)
                if isinstance(value, str | bytes):
                    yield f"{frame.f_code.co_filename}:{line} {name}, cut", repr(value[:80])
    yield "rich", rendered(error)
    yield from shown(error.__cause__, seen)
    yield from shown(error.__context__, seen)


def rendered(error: BaseException) -> str:
    """Return what rich shows of ``error`` alone: its message, notes, and the locals of every frame but ours."""
    trace = Traceback.extract(type(error), error, error.__traceback__, show_locals=True, locals_max_length=100)
    lines = []
    for stack in trace.stacks:
        lines += [stack.exc_value, *stack.notes]
        for frame in stack.frames:
            if frame.filename != __file__:
                lines += [f"{name} = {node}" for name, node in (frame.locals or {}).items()]
    return "\n".join(lines)


async def failure_of(client: Client) -> BrokerageError:
    with pytest.raises(BrokerageError) as caught:
        await client.watchlists.list()
    await client.aclose()
    return caught.value


def assert_keeps_quiet(error: BrokerageError) -> None:
    told = [(where, text) for where, text in shown(error, set()) if MARK in text or "Ab3dE6" in text]
    assert not told


def client_at(url: str, kind: str) -> Client:
    return Client(Environment.sandbox(url), CREDENTIALS[kind], timeout=0.2, retry=RetryPolicy.none())


CASES = [(kind, case) for kind in ("refresh", "code") for case in ANSWERS] + [("static", case) for case in SILENCE]


@pytest.mark.parametrize(("kind", "case"), [*CASES, *((kind, "unreachable") for kind in CREDENTIALS)])
async def test_failed_call_shows_no_secret(kind: str, case: str) -> None:
    async with RawServer(ANSWERS.get(case)) as server:
        url = f"http://127.0.0.1:{free_port()}" if case == "unreachable" else server.url
        error = await failure_of(client_at(url, kind))
    assert isinstance(error, TokenError) is (kind != "static")
    assert_keeps_quiet(error)


TOKEN = b'{"access_token":"%s","expires_in":900}' % SECRETS[3].encode()
MAX_STEPS = 2000


def waiting_in(task: asyncio.Task[Any]) -> Iterator[FrameType]:
    """Yield the frame of each coroutine that a task waits in, even in aiohttp, whose frames the error drops."""
    waiting: Any = task.get_coro()
    while waiting is not None:
        if type(waiting).__name__ == "coroutine_wrapper":  # of an ``__await__``, as aiohttp's requests have it
            waiting = gc.get_referents(waiting)[0]
        if (frame := getattr(waiting, "cr_frame", None)) is not None:
            yield frame
        waiting = getattr(waiting, "cr_await", None)


@pytest.mark.parametrize("kind", ["refresh", "code", "static"])
async def test_cancelled_at_every_await(kind: Any) -> None:
    """Every frame that a call waits in, the refresh of the token included, is shown by its `CancelledError`."""
    script = [answer(b'{"data":{"items":[]}}')] if kind == "static" else [answer(TOKEN), answer(b"{}")]
    places: set[tuple[tuple[CodeType, int], ...]] = set()
    for steps in range(MAX_STEPS):
        async with RawServer(*script) as server:
            client = client_at(server.url, kind)
            task = asyncio.ensure_future(client.watchlists.list())
            for _ in range(steps):
                await asyncio.sleep(0)
            if task.done():
                await asyncio.gather(task, return_exceptions=True)
                await client.aclose()
                break
            place = tuple((frame.f_code, frame.f_lineno) for frame in waiting_in(task))
            task.cancel()
            with pytest.raises(asyncio.CancelledError) as caught:
                await task
            await client.aclose()
            assert [client.session.engine.limiter[lane].in_flight for lane in LaneName] == [0, 0, 0]
        if place not in places:
            places.add(place)
            assert_keeps_quiet(caught.value)
    assert steps < MAX_STEPS - 1
    assert len(places) >= 3


async def test_bytes_of_the_headers_do_not_hang_behind_the_error() -> None:
    """Where a connection drops while they are written, the frames of aiohttp hold them."""

    def drop(writer: aiohttp.http_writer.StreamWriter, chunk: bytes) -> None:
        assert SECRETS[3].encode() in chunk
        raise aiohttp.ClientConnectionResetError("Cannot write to closing transport")

    async with RawServer() as server:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(aiohttp.http_writer.StreamWriter, "_write", drop)
            error = await failure_of(client_at(server.url, "static"))
    assert isinstance(error.__cause__, aiohttp.ClientConnectionResetError)
    assert error.__cause__.__traceback__ is None
    assert_keeps_quiet(error)


class Talkative:
    """A provider whose exceptions, and tokens of no use, hold the token."""

    def __init__(self, *, get: object = None, invalidate: Exception | None = None) -> None:
        self._get, self._invalidate = get, invalidate

    async def get_token(self) -> object:
        if isinstance(self._get, Exception):
            raise self._get
        return SECRETS[3] if self._get is None else self._get

    def invalidate(self, token: str) -> bool:
        assert token == SECRETS[3]
        if self._invalidate is not None:
            raise self._invalidate
        return True


@pytest.mark.parametrize(
    ("provider", "text"),
    [
        (Talkative(get=RuntimeError(SECRETS[3])), "get_token failed with RuntimeError"),
        (Talkative(get=f"{SECRETS[3]}\n"), "unusable token"),
        (Talkative(get=[SECRETS[3]]), "unusable token"),
        (Talkative(invalidate=KeyError(SECRETS[3])), "invalidate failed with KeyError"),
        (Talkative(get=TokenError("mine")), None),  # errors of the library are raised as they are
        (Talkative(invalidate=TokenError("mine")), None),
    ],
)
async def test_failing_token_provider_shows_no_secret(provider: Any, text: str | None) -> None:
    async with RawServer(answer(b"", 401)) as server:
        error = await failure_of(Client(Environment.sandbox(server.url), provider))
    assert isinstance(error, TokenError)
    if text is None:
        assert str(error) == "mine"
        return
    assert not error.transient
    assert text in str(error)
    assert error.__context__ is None
    assert_keeps_quiet(error)


async def test_refresh_token_that_comes_back_as_a_code_is_not_shown() -> None:
    refresh = "RTOKENzq81jfkd02mxyy45678901234567890123456"
    credentials = RefreshToken(client_secret=SECRETS[0], refresh_token=refresh)
    async with RawServer(answer(b'{"error_code":"%s"}' % refresh.encode(), 400)) as server:
        error = await failure_of(Client(Environment.sandbox(server.url), credentials))
    assert error.code is None
    assert refresh not in str(error)
