"""Tickets of ours keep every rule of form, and each broken rule is refused with its code.

`python -m tests.simulator.tickets 10000` does the same for 10,000 of them.
"""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.simulator.harness import Harness
from tests.simulator.tickets import Tickets, misses

HARNESS = Harness(without=["cryptocurrency_orders_are_off"]).login()


@settings(max_examples=8)
@given(st.integers(0, 2**32))
def test_tickets_keep_the_form_and_broken_ones_are_refused_with_their_code(seed: int) -> None:
    assert list(misses(HARNESS, Tickets(Random(seed)), 4)) == []
