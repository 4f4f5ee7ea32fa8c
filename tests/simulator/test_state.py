"""Initial state of an environment."""

from decimal import Decimal

from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.simulator.api.brokerage import HANDLERS
from tests.simulator.harness import Harness
from tests.tables import for_each


def test_initial_accounts_and_their_orders(harness: Harness) -> None:
    harness = Harness(cash=5_000)
    owned = harness.state.accounts.of(harness.state.owner)
    assert [account.kind for account in owned] == ["Margin", "Margin", "Cash"]
    assert [account.cash for account in (owned[0], owned[2])] == [Decimal(5_000)] * 2
    assert [len(account.positions) for account in owned] == [0, 2, 0]
    assert len(harness.state.accounts.of(harness.state.other_customer)) == 1
    account = harness.state.accounts.of(harness.state.owner)[1]
    shares, call = account.positions.values()
    assert (shares.quantity, call.quantity * call.instrument.multiplier) == (100, -100)
    price = harness.state.prices.price(shares.instrument, harness.now)
    required = harness.state.margin_calculator.total_required(account, harness.now)
    assert required == (shares.quantity * price / 2).quantize(Decimal("0.01"))
    assert set(harness.state.complex_order_ids) == {"OTOCO", "OCO", "PAIRS"}
    for kind, members in (("OTOCO", 3), ("OCO", 2), ("PAIRS", 2)):
        found = harness.state.complex_order_desk.get(
            harness.state.accounts.of(harness.state.owner)[1], harness.state.complex_order_ids[kind]
        )
        assert len(found.members) == members
    assert {name.partition(".")[0] for name in OPERATIONS} == set(HANDLERS)


@for_each("environment", ["sandbox", "production"])
def test_state_depends_on_the_seed_only(environment: str) -> None:
    def of(seed: int) -> tuple[object, ...]:
        state = Harness(environment=environment, seed=seed).state
        return state.owner, state.complex_order_ids, state.authorization_server.personal.refresh_token

    assert of(4) == of(4) != of(5)
