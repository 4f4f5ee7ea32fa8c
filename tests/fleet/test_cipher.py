"""Tokens as the engine keeps them: sealed for one key and one place. `test_tokens.py` has what the engine sees."""

import base64
from importlib.util import find_spec

import pytest

from brokerage_async.config import Secret
from brokerage_async.errors import ConfigurationError
from brokerage_async.fleet.tokens import TokenCipher
from tests.tables import for_each

pytestmark = pytest.mark.skipif(find_spec("cryptography") is None, reason="cryptography is not installed")

KEY = base64.urlsafe_b64encode(bytes(range(32))).decode()
OTHER_KEY = base64.urlsafe_b64encode(bytes(range(1, 33))).decode()
TOKEN = "an-access-token"
DAMAGED = [b"", b"junk", b"\xff\x00", b"{}", b'{"context":"mine"}', b'{"context":1,"token":2}']


@for_each("key", [None, KEY])
def test_open_returns_what_was_sealed_for_one_place_alone_and_shows_nothing(key: str | None) -> None:
    cipher = TokenCipher(key)
    found = cipher.open(cipher.seal(Secret(TOKEN), "mine"), "mine")
    assert found == Secret(TOKEN)
    assert cipher.open(cipher.seal(Secret(TOKEN), "theirs"), "mine") is None
    assert [damaged for damaged in DAMAGED if cipher.open(damaged, "mine") is not None] == []
    assert repr(cipher) == ("TokenCipher(plain)" if key is None else "TokenCipher(encrypted)")
    shown = repr([cipher, found, *(getattr(cipher, name) for name in TokenCipher.__slots__)])
    assert TOKEN not in shown
    assert KEY[:8] not in shown


def test_open_with_another_key_is_none() -> None:
    sealed = TokenCipher(KEY).seal(Secret(TOKEN), "mine")
    assert TokenCipher(OTHER_KEY).open(sealed, "mine") is None
    assert TokenCipher(None).open(sealed, "mine") is None
    assert TokenCipher(KEY).open(TokenCipher(None).seal(Secret(TOKEN), "mine"), "mine") is None
    assert TokenCipher(KEY.encode()).open(sealed, "mine") == Secret(TOKEN)


def test_open_tampered_token_is_none() -> None:
    cipher = TokenCipher(KEY)
    sealed = base64.urlsafe_b64decode(cipher.seal(Secret(TOKEN), "mine"))
    for position in range(len(sealed)):
        tampered = bytearray(sealed)
        tampered[position] ^= 1
        assert cipher.open(base64.urlsafe_b64encode(tampered), "mine") is None, position


def test_seal_hides_token_and_context() -> None:
    cipher = TokenCipher(KEY)
    once, again = cipher.seal(Secret(TOKEN), "mine"), cipher.seal(Secret(TOKEN), "mine")
    assert once != again, "equal tokens do not show"
    content = once + base64.urlsafe_b64decode(once)
    assert TOKEN.encode() not in content
    assert b"mine" not in content


def test_key_id_and_digest_depend_on_the_key_and_show_nothing() -> None:
    ciphers = [TokenCipher(key) for key in (None, KEY, OTHER_KEY)]
    assert len({cipher.key_id for cipher in ciphers}) == 3
    assert len({cipher.digest(TOKEN) for cipher in ciphers}) == 3
    assert TokenCipher(KEY.encode()).key_id == TokenCipher(KEY).key_id
    for cipher in ciphers:
        assert cipher.digest(TOKEN) != cipher.digest(TOKEN + "2")
        assert TOKEN not in cipher.digest(TOKEN)
        assert KEY[:8] not in cipher.key_id


@for_each("key", ["short", b"\xff", "x" * 44, ""])
def test_invalid_key_is_refused_unseen(key: str | bytes) -> None:
    with pytest.raises(ConfigurationError, match="generate_key") as caught:
        TokenCipher(key)
    assert "xxx" not in str(caught.value)
    assert caught.value.__context__ is None
