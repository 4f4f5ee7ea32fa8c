"""What an environment is born with."""

from __future__ import annotations

from decimal import Decimal

import pytest

from brokerage_async._generated.operations import OPERATIONS
from tests.simulator.house import House


def test_everything_is_answered_by_some_area(house: House) -> None:
    assert {name.partition(".")[0] for name in OPERATIONS} == set(house.world.areas())


def test_accounts() -> None:
    house = House(cash=5_000)
    owned = house.world.accounts.of(house.world.owner)
    assert [account.kind for account in owned] == ["Margin", "Margin", "Cash"]
    assert [account.cash for account in (owned[0], owned[2])] == [Decimal(5_000)] * 2
    assert [len(account.positions) for account in owned] == [0, 2, 0]
    assert len(house.world.accounts.of(house.world.stranger)) == 1


def test_the_call_that_was_sold_is_covered(house: House) -> None:
    account = house.world.accounts.of(house.world.owner)[1]
    shares, call = account.positions.values()
    assert (shares.quantity, call.quantity * call.instrument.multiplier) == (100, -100)
    price = house.world.market.price(shares.instrument, house.now)
    required = house.world.margin.total_required(account, house.now)
    assert required == (shares.quantity * price / 2).quantize(Decimal("0.01"))


def test_a_complex_order_of_each_kind(house: House) -> None:
    assert set(house.world.complex_order_ids) == {"OTOCO", "OCO", "PAIRS"}
    for kind, members in (("OTOCO", 3), ("OCO", 2), ("PAIRS", 2)):
        found = house.world.complex_desk.get(
            house.world.accounts.of(house.world.owner)[1], house.world.complex_order_ids[kind]
        )
        assert found is not None
        assert len(found.members) == members


@pytest.mark.parametrize("environment", ["sandbox", "production"])
def test_an_environment_is_a_function_of_its_seed(environment: str) -> None:
    def of(seed: int) -> tuple[object, ...]:
        world = House(environment=environment, seed=seed).world
        return world.owner, world.complex_order_ids, world.office.personal.refresh_token

    assert of(4) == of(4) != of(5)
