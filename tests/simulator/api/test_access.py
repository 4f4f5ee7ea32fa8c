"""Whose accounts may be seen."""

from tests.simulator.harness import Harness


def test_accounts_of_others_and_of_nobody(harness: Harness) -> None:
    assert harness.ask("GET", f"/accounts/{harness.sim.foreign_account_number}/orders").status == 403
    assert harness.ask("GET", "/accounts/NOPE/orders").status == 404


def test_customers(harness: Harness) -> None:
    accounts = f"account-numbers[]={harness.account}"
    assert harness.ask("GET", f"/customers/me/orders?{accounts}").status == 200
    assert harness.ask("GET", f"/customers/{harness.sim.customer_id}/orders?{accounts}").status == 200
    assert harness.ask("GET", f"/customers/{harness.sim.foreign_customer_id}/orders?{accounts}").status == 403
    for unknown in ("1", "nobody", "9" * 5000, "%D9%A1"):
        assert harness.ask("GET", f"/customers/{unknown}/orders?{accounts}").status == 404
    assert (
        harness.ask("GET", f"/customers/me/orders?account-numbers[]={harness.sim.foreign_account_number}").status == 403
    )
    assert harness.ask("GET", "/customers/me/orders").status == 422
