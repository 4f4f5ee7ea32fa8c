"""Access tokens in a file: private, written completely, and without other content."""

import asyncio
import json
import os
import stat
from pathlib import Path
from unittest.mock import Mock

import attrs
import pytest

from brokerage_async.auth.store import FileTokenStore, RefusalStore, StoredRefusal, StoredToken, store_key
from brokerage_async.config import AuthorizationCode, Environment, RefreshToken
from tests.http.calls import raised_by
from tests.loops import on_real_time
from tests.processes import run_program
from tests.protocol.values import raised
from tests.tables import for_each

TOKEN = StoredToken("s3cr3t", 100.0)
SANDBOX = Environment.sandbox("https://a.example")
REFRESH = RefreshToken(client_secret="cs", refresh_token="rt")


def test_stored_token_is_hidden_in_repr_and_its_expiry_a_number() -> None:
    assert "s3cr3t" not in repr(TOKEN)
    assert StoredToken("s3cr3t", 100.0) == TOKEN
    assert StoredToken("s3cr3t", "100").expires_at == 100.0
    for wrong in (None, "soon"):
        raised((TypeError, ValueError), StoredToken, "s3cr3t", wrong)


async def test_concurrent_and_failing_saves_leave_whole_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = FileTokenStore(tmp_path / "tokens.json")
    await store.save("k", TOKEN)
    writes = [store.save("k", StoredToken("x" * 10_000, float(number))) for number in range(20)]
    found = await asyncio.gather(*writes, *(store.load("k") for _ in range(50)))
    assert None not in found[20:]
    await store.save("k", TOKEN)
    monkeypatch.setattr(os, "fsync", Mock(side_effect=OSError(28, "No space left on device")))
    await raised_by(store.save("k", StoredToken("new", 200.0)), OSError, "No space left")
    assert await store.load("k") == TOKEN
    assert os.listdir(tmp_path) == ["tokens.json"]


def test_store_key_distinguishes_grants_and_hides_them() -> None:
    code = AuthorizationCode(client_id="id", client_secret="cs", redirect_uri="https://a.example", code="rt")
    again, changes = RefreshToken(client_secret="cs", refresh_token="rt"), ("client_id", "client_secret", "scope")
    others = (Environment.sandbox("https://b.example"), Environment.production("https://a.example"))
    keys = [store_key(environment, REFRESH) for environment in (SANDBOX, *others)]
    keys += [store_key(SANDBOX, attrs.evolve(again, **{name: "csrt"})) for name in changes]
    assert keys[0] == store_key(SANDBOX, again)
    assert len({*keys}) == 6
    assert all(len(key) == 32 and key.isalnum() for key in (*keys, store_key(SANDBOX, code)))


async def test_file_is_private_atomic_and_holds_only_access_tokens(tmp_path: Path) -> None:
    path = tmp_path / "new" / "tokens.json"
    store = FileTokenStore(path)
    assert await store.load("k") is None
    await store.save("k", StoredToken("abc", 12.5))
    await store.save("other", StoredToken("def", 13.5))
    assert await FileTokenStore(str(path)).load("k") == StoredToken("abc", 12.5)
    assert await store.load("third") is None
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    first, second = {"access_token": "abc", "expires_at": 12.5}, {"access_token": "def", "expires_at": 13.5}
    assert json.loads(path.read_text()) == {"k": first, "other": second}
    assert os.listdir(path.parent) == ["tokens.json"]


FILES = [b"", b"[]", b"nonsense", b"\xff", b"[" * 100_000]
FILES += [
    json.dumps({"k": entry}).encode()
    for entry in (
        5, None, [], {}, {"access_token": 5, "expires_at": 1}, {"access_token": "a"},
        {"access_token": "a", "expires_at": "1"}, {"access_token": "", "expires_at": 1},
    )
]  # fmt: skip


@for_each("content", FILES)
@on_real_time
async def test_invalid_file_or_entry_is_replaced(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "tokens.json"
    path.write_bytes(content)
    assert await FileTokenStore(path).load("k") is None
    await FileTokenStore(path).save("k", StoredToken("abc", 1.0))
    assert await FileTokenStore(path).load("k") == StoredToken("abc", 1.0)


KILLED = """
import asyncio, os, sys
from brokerage_async.auth.store import FileTokenStore, StoredToken
os.fsync = lambda descriptor: os._exit(9)
asyncio.run(FileTokenStore(sys.argv[1]).save("k", StoredToken("s3cr3t", 100.0)))
"""


async def test_a_process_killed_while_saving_leaves_a_private_file_that_a_later_save_removes(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    code, _ = await run_program("-c", f"import os; os.umask(0)\n{KILLED}", path)
    assert code == 9
    (name,) = os.listdir(tmp_path)
    left = tmp_path / name
    assert left.name.startswith(".tokens.json.")
    assert left.name.endswith(".saving")
    assert stat.S_IMODE(left.stat().st_mode) == 0o600
    (other := tmp_path / ".tokens.json.bak").touch()
    await FileTokenStore(path).save("k", TOKEN)
    # Another process may be writing it at this moment.
    assert {left.name, other.name, path.name} == set(os.listdir(tmp_path))
    os.utime(left, (0, 0))
    os.utime(other, (0, 0))
    await FileTokenStore(path).save("k", TOKEN)
    assert {other.name, path.name} == set(os.listdir(tmp_path))


async def test_refusal_is_kept_in_the_file_beside_the_tokens_of_others(tmp_path: Path) -> None:
    path, refusal = tmp_path / "tokens.json", StoredRefusal(400, "invalid_grant", 100.0)
    await FileTokenStore(path).save("other", TOKEN)
    await FileTokenStore(path).save_refusal("k", refusal)
    store = FileTokenStore(path)
    assert [await store.load_refusal(key) for key in ("k", "other")] == [refusal, None]
    assert [await store.load(key) for key in ("k", "other")] == [None, TOKEN]
    assert isinstance(store, RefusalStore)
