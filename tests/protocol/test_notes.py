"""The call that an error belongs to, as its note shows it."""

from datetime import date
from decimal import Decimal

from brokerage_async._generated.operations import (
    INSTRUMENTS_EQUITIES,
    INSTRUMENTS_WARRANT,
    OAUTH_TOKEN,
    ORDERS_DRY_RUN,
    TRANSACTIONS_LIST,
)
from brokerage_async.models import GrantType, InstrumentType, TokenRequest
from brokerage_async.protocol.notes import MAX_LENGTH, describe
from brokerage_async.tickets import buy_to_open, limit

WARRANT = INSTRUMENTS_WARRANT.bind(symbol="NOPE")


def test_describe_writes_a_call_as_in_python() -> None:
    call = TRANSACTIONS_LIST.bind(
        account_number="5WT1", start_date=date(2026, 6, 1), instrument_type=InstrumentType.EQUITY, per_page=5
    )
    assert describe(call) == (
        "transactions.list(account_number='5WT1', per_page=5, start_date=2026-06-01, instrument_type='Equity')"
    )
    symbols = INSTRUMENTS_EQUITIES.bind(symbols=("AAPL", "BRK/B"))
    assert describe(symbols) == "instruments.equities(symbols=['AAPL', 'BRK/B'])"


def test_describe_shows_the_body_without_its_secrets_and_is_cut() -> None:
    order = limit(buy_to_open("AAPL", 1), price=Decimal(100))
    shown = describe(ORDERS_DRY_RUN.bind(account_number="5WT1", body=order))
    assert shown.endswith(f"(account_number='5WT1', {order!r})")
    assert describe(ORDERS_DRY_RUN.bind(account_number="5WT1", body=b"{}")).endswith("'5WT1', <2 bytes>)")
    body = TokenRequest(grant_type=GrantType.REFRESH_TOKEN, client_secret="s3cr3t", refresh_token="s3cr3t")
    assert "s3cr3t" not in describe(OAUTH_TOKEN.bind(body=body))
    shown = describe(INSTRUMENTS_EQUITIES.bind(symbols=[f"S{number}" for number in range(10_000)]))
    assert (len(shown), shown[-1]) == (MAX_LENGTH, "…")
    assert describe(INSTRUMENTS_WARRANT.bind(symbol="eyJhbGciOi.x.y")) == "instruments.warrant(symbol='[redacted]')"
