"""Tokens as the engine keeps them: sealed for one key and one place, and shown nowhere."""

import base64
from importlib.util import find_spec

import pytest

from brokerage_async.config import Secret
from brokerage_async.errors import ConfigurationError
from brokerage_async.fleet.tokens import TokenCipher
from tests.tables import for_each

encrypted = pytest.mark.skipif(
    find_spec("cryptography") is None, reason="cryptography is not installed (extra [redis])"
)

KEY = base64.urlsafe_b64encode(bytes(range(32))).decode()
OTHER_KEY = base64.urlsafe_b64encode(bytes(range(1, 33))).decode()
TOKEN = "an-access-token"


@pytest.fixture(params=[None, pytest.param(KEY, marks=encrypted)], ids=["plain", "encrypted"])
def cipher(request: pytest.FixtureRequest) -> TokenCipher:
    return TokenCipher(request.param)


def test_open_returns_what_was_sealed(cipher: TokenCipher) -> None:
    assert cipher.open(cipher.seal(Secret(TOKEN), "mine"), "mine") == Secret(TOKEN)


def test_open_token_of_other_credentials_is_none(cipher: TokenCipher) -> None:
    assert cipher.open(cipher.seal(Secret(TOKEN), "theirs"), "mine") is None


@for_each("damaged", [b"", b"junk", b"\xff\x00", b"{}", b'{"context":"mine"}', b'{"context":1,"token":2}'])
def test_open_damaged_token_is_none(cipher: TokenCipher, damaged: bytes) -> None:
    assert cipher.open(damaged, "mine") is None


@encrypted
def test_open_with_another_key_is_none() -> None:
    sealed = TokenCipher(KEY).seal(Secret(TOKEN), "mine")
    assert TokenCipher(OTHER_KEY).open(sealed, "mine") is None
    assert TokenCipher(None).open(sealed, "mine") is None
    assert TokenCipher(KEY).open(TokenCipher(None).seal(Secret(TOKEN), "mine"), "mine") is None


@encrypted
def test_open_tampered_token_is_none() -> None:
    cipher = TokenCipher(KEY)
    sealed = base64.urlsafe_b64decode(cipher.seal(Secret(TOKEN), "mine"))
    for position in range(len(sealed)):
        tampered = bytearray(sealed)
        tampered[position] ^= 1
        assert cipher.open(base64.urlsafe_b64encode(tampered), "mine") is None, position


@encrypted
def test_seal_hides_token_and_context() -> None:
    cipher = TokenCipher(KEY)
    once, again = cipher.seal(Secret(TOKEN), "mine"), cipher.seal(Secret(TOKEN), "mine")
    assert once != again, "equal tokens do not show"
    for sealed in (once, again):
        content = sealed + base64.urlsafe_b64decode(sealed)
        assert TOKEN.encode() not in content
        assert b"mine" not in content


@encrypted
def test_key_is_the_same_as_str_and_bytes() -> None:
    one, other = TokenCipher(KEY), TokenCipher(KEY.encode())
    assert one.key_id == other.key_id
    assert other.open(one.seal(Secret(TOKEN), "mine"), "mine") == Secret(TOKEN)


@encrypted
def test_key_id_and_digest_depend_on_the_key_and_show_nothing() -> None:
    ciphers = [TokenCipher(key) for key in (None, KEY, OTHER_KEY)]
    assert len({cipher.key_id for cipher in ciphers}) == 3
    assert len({cipher.digest(TOKEN) for cipher in ciphers}) == 3
    for cipher in ciphers:
        assert cipher.digest(TOKEN) != cipher.digest(TOKEN + "2")
        assert TOKEN not in cipher.digest(TOKEN)
        assert KEY[:8] not in cipher.key_id


def test_repr_shows_neither_key_nor_token(cipher: TokenCipher) -> None:
    found = cipher.open(cipher.seal(Secret(TOKEN), "mine"), "mine")
    assert repr(cipher) in ("TokenCipher(plain)", "TokenCipher(encrypted)")
    shown = repr([cipher, found, *(getattr(cipher, name) for name in TokenCipher.__slots__)])
    assert TOKEN not in shown
    assert KEY[:8] not in shown


@encrypted
@pytest.mark.parametrize("key", ["short", b"\xff", "x" * 44, ""])
def test_invalid_key_is_refused_unseen(key: str | bytes) -> None:
    with pytest.raises(ConfigurationError, match="generate_key") as caught:
        TokenCipher(key)
    assert "xxx" not in str(caught.value)
    assert caught.value.__context__ is None
