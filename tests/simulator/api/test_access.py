"""Access to accounts by customer."""

from tests.simulator.harness import Harness


def test_foreign_account_is_403_and_unknown_account_404(harness: Harness) -> None:
    assert harness.ask("GET", f"/accounts/{harness.sim.foreign_account_number}/orders").status == 403
    assert harness.ask("GET", "/accounts/NOPE/orders").status == 404


def test_customer_in_the_path_is_checked(harness: Harness) -> None:
    accounts = f"account-numbers[]={harness.account}"
    assert harness.ask("GET", f"/customers/me/orders?{accounts}").status == 200
    assert harness.ask("GET", f"/customers/{harness.sim.foreign_customer_id}/orders?{accounts}").status == 403
    for unknown in ("1", "nobody", "9" * 5000, "%D9%A1"):
        assert harness.ask("GET", f"/customers/{unknown}/orders?{accounts}").status == 404
    assert (
        harness.ask("GET", f"/customers/me/orders?account-numbers[]={harness.sim.foreign_account_number}").status == 403
    )
    assert harness.ask("GET", "/customers/me/orders").status == 422


def test_customer_number_is_unknown_unless_switched_off() -> None:
    found = []
    for without in ([], ["customer_is_me"]):
        harness = Harness(without=without).login()
        number = harness.sim.brokerage.state.owner.number
        path = f"/customers/{number}/orders?account-numbers[]={harness.account}"
        found.append((harness.sim.customer_id, harness.ask("GET", path).status))
    assert found == [("me", 404), (str(number), 200)]
