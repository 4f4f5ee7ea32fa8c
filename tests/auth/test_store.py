"""Access tokens in a file: private, whole, and never more than that."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

from brokerage_async.auth.store import FileTokenStore, StoredToken, store_key
from brokerage_async.config import AuthorizationCode, Environment, RefreshToken
from tests.loops import on_real_time

TOKEN = StoredToken("s3cr3t", 100.0)
SANDBOX = Environment.sandbox("https://a.example")
REFRESH = RefreshToken(client_secret="cs", refresh_token="rt")


def test_a_stored_token_does_not_show() -> None:
    assert "s3cr3t" not in repr(TOKEN)
    assert StoredToken("s3cr3t", 100.0) == TOKEN


def test_the_end_of_a_stored_token_is_a_number() -> None:
    assert StoredToken("s3cr3t", "100").expires_at == 100.0
    for wrong in (None, "soon"):
        with pytest.raises((TypeError, ValueError)):
            StoredToken("s3cr3t", wrong)  # type: ignore[arg-type]


@on_real_time
async def test_what_is_saved_is_loaded_by_another_store(tmp_path: Path) -> None:
    path = tmp_path / "a" / "tokens.json"
    assert await FileTokenStore(path).load("k") is None
    await FileTokenStore(path).save("k", TOKEN)
    assert await FileTokenStore(str(path)).load("k") == TOKEN
    assert await FileTokenStore(path).load("other") is None


@pytest.mark.parametrize(
    "entry",
    [
        None,
        [],
        {},
        {"access_token": 5, "expires_at": 1},
        {"access_token": "a"},
        {"access_token": "a", "expires_at": "1"},
    ],
    ids=["null", "list", "empty", "number", "endless", "text"],
)
@on_real_time
async def test_an_entry_that_makes_no_sense_is_none(tmp_path: Path, entry: object) -> None:
    path = tmp_path / "tokens.json"
    path.write_text(json.dumps({"k": entry}))
    assert await FileTokenStore(path).load("k") is None


@on_real_time
async def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FileTokenStore(tmp_path / "tokens.json")
    await store.save("k", TOKEN)

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        await store.save("k", StoredToken("new", 200.0))
    assert await store.load("k") == TOKEN
    assert os.listdir(tmp_path) == ["tokens.json"]


@on_real_time
async def test_a_reader_never_sees_half_a_file(tmp_path: Path) -> None:
    store = FileTokenStore(tmp_path / "tokens.json")
    await store.save("k", TOKEN)
    writes = [store.save("k", StoredToken("x" * 10_000, float(number))) for number in range(20)]
    found = await asyncio.gather(*writes, *(store.load("k") for _ in range(50)))
    assert None not in found[20:]


def test_keys_tell_grants_apart_and_give_none_away() -> None:
    code = AuthorizationCode(client_id="id", client_secret="cs", redirect_uri="https://a.example", code="rt")
    keys = [
        store_key(SANDBOX, REFRESH),
        store_key(Environment.sandbox("https://b.example"), REFRESH),
        store_key(Environment.production("https://a.example"), REFRESH),
        store_key(SANDBOX, RefreshToken(client_secret="cs", refresh_token="rt", client_id="id")),
        store_key(SANDBOX, RefreshToken(client_secret="csrt", refresh_token="rt")),
        store_key(SANDBOX, RefreshToken(client_secret="cs", refresh_token="rt", scope="read")),
        store_key(SANDBOX, code),
    ]
    assert keys[0] == store_key(SANDBOX, RefreshToken(client_secret="cs", refresh_token="rt"))
    assert len({*keys[:6]}) == 6
    assert all(len(key) == 32 and key.isalnum() for key in keys)
