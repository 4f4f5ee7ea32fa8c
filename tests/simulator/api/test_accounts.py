"""Customer, accounts and trading status."""

from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.protocol.decoding import codec
from tests.simulator.harness import Harness


def decoded(harness: Harness, operation: str, target: str) -> object:
    """Return the decoded answer, which must hold nothing unexpected."""
    return codec.decode(OPERATIONS[operation], harness.ask("GET", target).body, strict=True).value


def test_customer_accounts_and_trading_status(harness: Harness) -> None:
    customer = decoded(harness, "accounts.customer", "/customers/me")
    assert getattr(customer, "id", None) == "me"
    stranger = harness.state.other_customer.number
    assert harness.ask("GET", f"/customers/{stranger}").status == 403
    assert harness.ask("GET", "/customers/1").status == 404
    accounts = decoded(harness, "accounts.list", "/customers/me/accounts")
    assert isinstance(accounts, list)
    assert [each.account.account_number for each in accounts] == [*harness.accounts]
    assert [each.account.margin_or_cash for each in accounts] == ["Margin", "Margin", "Cash"]
    assert {each.authority_level for each in accounts} == {"owner"}
    account = decoded(harness, "accounts.get", f"/customers/me/accounts/{harness.account}")
    assert getattr(account, "account_number", None) == harness.account
    assert harness.ask("GET", "/customers/me/accounts/5WT99999").status == 404
    margin, cash = (
        decoded(harness, "accounts.trading_status", f"/accounts/{number}/trading-status")
        for number in (harness.accounts[0], harness.accounts[2])
    )
    assert getattr(margin, "short_calls_enabled", None) is True
    assert getattr(cash, "short_calls_enabled", None) is False
    stranger = harness.state.accounts.of(harness.state.other_customer)[0].number
    assert harness.ask("GET", f"/accounts/{stranger}/trading-status").status == 403


def test_day_trader_fields_can_vanish() -> None:
    for without, arrive in (((), True), (["day_trader_fields_still_arrive"], False)):
        harness = Harness(without=without).login()
        account = f"/accounts/{harness.account}"
        rows = (
            (harness.get(f"{account}/trading-status")["data"], "is-pattern-day-trader"),
            (harness.get(f"{account}/trading-status")["data"], "day-trade-count"),
            (harness.get("/customers/me/accounts")["data"]["items"][0]["account"], "day-trader-status"),
            (harness.get(f"{account}/balances/USD")["data"], "day-trading-buying-power"),
        )
        assert [name for row, name in rows if (name in row) is not arrive] == []
