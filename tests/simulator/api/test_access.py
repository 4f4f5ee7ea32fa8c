"""Whose accounts may be seen."""

from tests.simulator.house import House


def test_accounts_of_others_and_of_nobody(house: House) -> None:
    assert house.ask("GET", f"/accounts/{house.sim.foreign_account_number}/orders").status == 403
    assert house.ask("GET", "/accounts/NOPE/orders").status == 404


def test_customers(house: House) -> None:
    accounts = f"account-numbers[]={house.account}"
    assert house.ask("GET", f"/customers/me/orders?{accounts}").status == 200
    assert house.ask("GET", f"/customers/{house.sim.customer_id}/orders?{accounts}").status == 200
    assert house.ask("GET", f"/customers/{house.sim.foreign_customer_id}/orders?{accounts}").status == 403
    for unknown in ("1", "nobody", "9" * 5000, "%D9%A1"):
        assert house.ask("GET", f"/customers/{unknown}/orders?{accounts}").status == 404
    assert house.ask("GET", f"/customers/me/orders?account-numbers[]={house.sim.foreign_account_number}").status == 403
    assert house.ask("GET", "/customers/me/orders").status == 422
