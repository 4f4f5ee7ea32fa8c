"""Foreign words made fit to be shown: secrets are left out, ordinary words stay, and everything has a bound."""

import json

from hypothesis import example, given
from hypothesis import strategies as st

from brokerage_async.config import Secret
from brokerage_async.protocol import redaction
from tests.tables import for_each

JWT = "eyJhbGciOiJFZERTQSJ9.eyJpc3MiOiJodHRwcyJ9.c2lnbmF0dXJl"
SECRETS = ("hunter2", JWT, "aHVudGVyMg", "0123456789abcdef", "c2lnbmF0dXJl")


@for_each(
    "text",
    [
        f"Authorization: Bearer {JWT}",
        f"bearer {JWT}",
        "Basic aHVudGVyMg==",
        f"expired: {JWT}",
        "client_secret=hunter2",
        '{"refresh_token":"hunter2"}',
        '"access_token": "hunter2", "x": 1',
        "password: hunter2",
        "Api-Key=hunter2",
        "https://example.com/?token=hunter2&x=1",
        "hunter2" * 10,
        "opaque 0123456789abcdef0123456789abcdef01234567 value",
        json.dumps({"password": 'hunter2, hunter2 and "hunter2"'}),
        json.dumps({"message": json.dumps({"refresh_token": "hunter2"})}),
        '{"client_secret": "hunter2 cut ',
    ],
)
def test_redact_shows_nothing_that_looks_like_a_secret(text: str) -> None:
    for shown in (redaction.redact(text), redaction.redact_body(text.encode()), redaction.excerpt(text.encode())):
        assert "[redacted]" in shown
        assert not [secret for secret in SECRETS if secret in shown]


@for_each(
    "text",
    [
        "Couldn't find Future Product with symbol NOPE", "The access token has expired",
        "You cannot buy for a credit", "tif_next_valid_sesssion", "AAPL 260612C00110000",
        "refused: account_is_restricted_to_closing_transactions_only",
        '{"error":{"code":"token_invalid","message":"no"}}',
    ],
)  # fmt: skip
def test_redact_ordinary_words_stay(text: str) -> None:
    assert redaction.redact(text) == redaction.redact_body(text.encode()) == text


def test_redact_body_keeps_its_lines_and_an_excerpt_one_without_controls_or_markup() -> None:
    assert redaction.redact("a\n  b\x00c") == "a b c"
    assert redaction.redact_body(b"a\n  b\x00c\x1b[31m\xe2\x80\xae") == "a\n  b c [31m "
    shown = redaction.redact_body(b"word " * 1_000_000)
    assert (len(shown), shown[-1]) == (redaction.MAX_BODY, "…")
    shown = redaction.excerpt(b"a\x00b\r\nc\x1b[31m\xff\xe2\x80\xae " + b"word " * 100_000)
    assert (shown[:10], shown[-1], shown.isprintable()) == ("a b c [31m", "…", True)
    assert len(shown) <= 200
    assert redaction.excerpt(b" \r\n <html><b>Bad gateway</b></html>") == "Bad gateway"
    assert redaction.excerpt(b"a < b and c > d") == "a < b and c > d"


@given(st.binary(max_size=300))
@example(b"<" * 4000)
@example(b"a-" * 4000)
@example(b"token" * 800 + b"=")
@example(b'"token' * 4000)
@example(b'"token":"' * 4000)
def test_any_body_can_be_shown(body: bytes) -> None:
    shown = redaction.excerpt(body)
    assert len(shown) <= 200
    assert shown == "" or shown.isprintable()
    assert len(redaction.redact_body(body)) <= redaction.MAX_BODY


def test_redact_headers_keeps_request_ids_and_no_secret() -> None:
    for name in ("Set-Cookie", "Authorization", "X-Auth", "X-CSRF-Token", "X-Api-Key", "x-session-id"):
        assert redaction.redact_headers({name: "hunter2"}) == {name.lower(): "[redacted]"}
    identifier = "7f9c24e8-3b12-4fef-91e0-56a2d5a73e10"
    shown = redaction.redact_headers({"X-Request-Id": identifier, "X-Other": identifier, "Date": "today"})
    assert shown == {"x-request-id": identifier, "x-other": "[redacted]", "date": "today"}
    shown = redaction.redact_headers({f"x-{number}": "word " * 1000 for number in range(1000)})
    assert len(shown) == redaction.MAX_HEADERS
    assert max(map(len, shown.values())) <= 500


def test_redact_name_and_mask_tokens_keep_everything_but_tokens() -> None:
    assert redaction.redact_name("a" * 99) == "a" * 99
    assert len(redaction.redact_name("a" * 101) or "") == 100
    assert redaction.redact_name(None) is None
    shown = redaction.mask_tokens(f"orders.get(id='{JWT}', note='Bearer x')")
    assert shown == "orders.get(id='[redacted]', note='Bearer [redacted]')"


@for_each("text", ["eyJabcdefghijkl", "it was eyJabcdefghijkl", f"it was {'eyJ' + 'a' * 40}"])
def test_redact_takes_a_web_token_without_digits_for_a_secret(text: str) -> None:
    """A long word of letters alone stays, unless it begins as these tokens do."""
    assert "[redacted]" in redaction.redact(text)
    assert "eyJ" not in redaction.redact(text)
    assert redaction.redact(text.replace("eyJ", "abc")) == text.replace("eyJ", "abc")


def test_token_of_the_request_is_left_out_wherever_it_comes_back() -> None:
    token = "T" * redaction.MIN_TOKEN
    assert redaction.without_token(f"no {token}.".encode(), Secret(f"Bearer {token}")) == b"no [redacted]."
    assert redaction.without_token(b"no TTT.", Secret("Bearer TTT")) == b"no TTT."
    headers = {"Location": f"/x?t={token}", "Date": "today"}
    shown = redaction.headers_without_token(headers, Secret(f"Bearer {token}"))
    assert shown == {"location": "/x?t=[redacted]", "date": "today"}
    assert redaction.headers_without_token(headers, Secret(f"Bearer {'S' * redaction.MIN_TOKEN}")) is headers
    assert redaction.headers_without_token({"a": "TTT"}, Secret("Bearer TTT")) == {"a": "TTT"}
