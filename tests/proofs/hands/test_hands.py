"""A sample of the ladders and of the sweeps."""

from tests.tables import for_each

from . import ladders, sweeps


@for_each("seed", range(30))
def test_one_order_of_a_ladder_works_at_a_time_and_never_more_is_filled(seed: int) -> None:
    ladders.play(seed)


@for_each("seed", range(3))
def test_each_order_of_a_sweep_is_told_as_the_books_have_it(seed: int) -> None:
    told, average, _ = sweeps.play(seed, 80)
    assert told["cancelled"] + told["filled"] >= 80
    assert average > 1
