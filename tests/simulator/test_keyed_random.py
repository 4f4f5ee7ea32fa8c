from hypothesis import given
from hypothesis import strategies as st

from brokerage_async.simulator.keyed_random import KeyedRandom, key_of


@given(st.integers(), st.lists(st.integers(), min_size=1, max_size=4))
def test_values_depend_on_seed_and_keys_only(seed: int, keys: list[int]) -> None:
    first, second = KeyedRandom(seed), KeyedRandom(seed)
    second.unit(1, 2, 3)
    assert first.unit(*keys) == second.unit(*keys)
    assert 0 <= first.unit(*keys) < 1
    assert 2.0 <= first.between(2.0, 3.0, *keys) < 3.0
    assert 0 <= first.below(7, *keys) < 7


def test_values_differ_by_seed_and_key_order_and_spread() -> None:
    assert KeyedRandom(1).bits(1) != KeyedRandom(2).bits(1)
    assert KeyedRandom(1).bits(1, 2) != KeyedRandom(1).bits(2, 1)
    assert len({KeyedRandom(1).hex_digits(32, n) for n in range(100)}) == 100
    assert len(KeyedRandom(1).hex_digits(40, 1)) == 40
    random = KeyedRandom(3)
    counts = [0] * 10
    for n in range(10_000):
        counts[random.below(10, n)] += 1
    assert max(counts) < 1_200
    assert min(counts) > 800
    assert key_of("AAPL") == 3_060_094_812
    assert key_of("AAPL") != key_of("MSFT")
