from hypothesis import given
from hypothesis import strategies as st

from brokerage_async.simulator.event_queue import Agenda


@given(st.lists(st.floats(0, 100), max_size=30))
def test_appointments_come_in_the_order_of_their_times(times: list[float]) -> None:
    agenda = Agenda()
    seen: list[float] = []
    for time in times:
        agenda.at(time, seen.append)
    agenda.run(100)
    assert seen == sorted(times)
    assert agenda.next_due is None


def test_nothing_happens_early() -> None:
    agenda = Agenda()
    seen: list[float] = []
    agenda.at(5, seen.append)
    agenda.run(4.9)
    assert seen == []
    assert agenda.next_due == 5


def test_what_an_appointment_brings_about_is_done_as_well() -> None:
    agenda = Agenda()
    seen: list[float] = []
    agenda.at(1, lambda now: agenda.at(now + 1, seen.append) and None)
    agenda.run(3)
    assert seen == [2]


def test_cancelled_appointments_do_not_happen() -> None:
    agenda = Agenda()
    seen: list[float] = []
    appointment = agenda.at(1, seen.append)
    appointment.cancel()
    appointment.cancel()
    assert agenda.next_due is None
    agenda.run(2)
    assert seen == []
