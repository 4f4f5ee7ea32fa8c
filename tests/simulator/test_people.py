"""People of a simulated brokerage: names, accounts and credentials."""

from brokerage_async.simulator import Simulator
from tests.simulator.harness import Harness


def test_names_and_complex_orders_are_those_that_the_service_serves(harness: Harness) -> None:
    rows = harness.rows("/customers/me/accounts")
    assert tuple(row["account"]["account-number"] for row in rows) == harness.sim.account_numbers
    assert len(harness.sim.account_numbers) == 3
    assert harness.ask("GET", f"/customers/{harness.sim.customer_id}").status == 200
    assert harness.ask("GET", f"/accounts/{harness.sim.foreign_account_number}/balances").status == 403
    assert harness.ask("GET", f"/customers/{harness.sim.foreign_customer_id}").status == 403
    assert set(harness.sim.complex_order_ids) == {"OTOCO", "OCO", "PAIRS"}
    for kind, identifier in harness.sim.complex_order_ids.items():
        assert str(harness.complex_order(kind)["id"]) == identifier
    harness.sim.complex_order_ids.clear()
    assert harness.sim.complex_order_ids  # a copy was cleared


def test_names_and_secrets_follow_seed_and_environment() -> None:
    one, same, other = Simulator(seed=1), Simulator(seed=1), Simulator(seed=2)
    production = Simulator(seed=1, environment="production")
    for name in ("account_numbers", "customer_id", "client_id", "client_secret", "refresh_token"):
        assert getattr(one, name) == getattr(same, name)
    for others in (other, production):
        assert one.client_secret != others.client_secret
        assert one.refresh_token != others.refresh_token
