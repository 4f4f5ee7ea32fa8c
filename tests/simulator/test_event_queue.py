from hypothesis import given
from hypothesis import strategies as st

from brokerage_async.simulator.clock import EventQueue


@given(st.lists(st.floats(0, 100), max_size=30))
def test_events_run_in_order_of_time(times: list[float]) -> None:
    event_queue = EventQueue()
    seen: list[float] = []
    for time in times:
        event_queue.at(time, seen.append)
    event_queue.run(100)
    assert seen == sorted(times)
    assert event_queue.next_due is None


def test_events_run_at_their_time_with_what_they_schedule_unless_cancelled() -> None:
    event_queue = EventQueue()
    seen: list[float] = []
    event_queue.at(5, seen.append)
    event_queue.run(4.9)
    assert seen == []
    assert event_queue.next_due == 5
    event_queue = EventQueue()
    seen: list[float] = []
    event_queue.at(1, lambda now: event_queue.at(now + 1, seen.append) and None)
    event_queue.run(3)
    assert seen == [2]
    event_queue = EventQueue()
    seen: list[float] = []
    event = event_queue.at(1, seen.append)
    event.cancel()
    event.cancel()
    assert event_queue.next_due is None
    event_queue.run(2)
    assert seen == []
