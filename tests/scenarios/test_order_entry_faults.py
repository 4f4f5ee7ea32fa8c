"""Everything that can go wrong with a submit, against everything that looking for the order can show.

The brokerage's own books are the truth. ``python -m tests.scenarios.test_order_entry_faults`` writes the table
into the documentation. A test checks that it is up to date.
"""

import asyncio
import sys
from functools import cache
from pathlib import Path

import attrs
import pytest

from brokerage_async.errors import OrderOutcomeUnknownError
from brokerage_async.order_entry import Outcome, Placement
from brokerage_async.simulator import faults
from tests.loops import VirtualLoop, run_in
from tests.trading import COMPLEX, NOTHING_LISTED, POLICY, SINGLE, STATE_OF, TIMEOUT, Floor, Kind, floor

pytestmark = pytest.mark.virtual_time

DOCUMENT = Path(__file__).parents[2] / "docs" / "reference" / "reports" / "order-entry-faults.md"
NAME = "order-under-test"


@attrs.frozen
class Trouble:
    """Fault of the simulator that hits ``times`` submits or searches, or all of them if None. No action: no fault."""

    text: str
    action: faults.Fault | str | None
    times: int | None = 1


AN_ERROR = faults.body(b'{"data":{},"error":{"code":"preflight_check_failure","message":"No"}}')

FALSE_SUCCESSES = [
    Trouble("200 of a captive portal, not processed", faults.html(200)),
    Trouble("201 without an order, not processed", attrs.evolve(faults.body(b'{"data":{}}'), processed=False)),
    Trouble("201 that tells of an error, not processed", attrs.evolve(AN_ERROR, processed=False)),
]

TROUBLES = [
    Trouble("connection refused once", "refuse"),
    Trouble("connection refused every time", "refuse", None),
    Trouble("dropped before it was processed", "drop_before"),
    Trouble("dropped after it was processed", "drop_after"),
    Trouble("no answer, not processed", "hang"),
    Trouble("no answer, processed", "hang_after"),
    Trouble("no answer in time, processed later", faults.delay(TIMEOUT + 5)),
    Trouble("processed in time, answer too late", faults.delay_after(TIMEOUT + 5)),
    *(Trouble(f"{code}, not processed", faults.status(code)) for code in (500, 502, 503)),
    *(Trouble(f"{code}, processed", faults.after_status(code)) for code in (500, 502, 503)),
    Trouble("HTML page of a proxy, not processed", faults.html(502)),
    Trouble("HTML page of a proxy, processed", faults.after_html(502)),
    Trouble("429 once", "rate_limited"),
    Trouble("429 every time", "rate_limited", None),
    Trouble("401 once", "unauthorized"),
    Trouble("401 every time", "unauthorized", None),
    Trouble("201 with a truncated body", "truncate"),
    Trouble("201 with a body that is not JSON", "garbage"),
    Trouble("201 with an empty body", faults.body(b"")),
    Trouble("201 with JSON of something else", faults.body(b'{"maintenance": true}')),
    Trouble("201 that tells of an error, processed", AN_ERROR),
    *FALSE_SUCCESSES,
]


AT_ONCE = Trouble("listed at once", None)
LISTINGS = [
    AT_ONCE,
    Trouble("listed late", faults.body(NOTHING_LISTED), 10),
    Trouble("lists unreadable for a while", faults.status(503), 8),
    Trouble("lists never readable", faults.status(503), None),
    Trouble("lists refused", faults.status(403), None),
    Trouble("lists answered with other JSON", faults.body(b'{"maintenance": true}'), None),
]
"""Answers of the order lists to a search for the order."""


async def place(floor: Floor, *, resubmit: int = 0, kind: Kind = SINGLE) -> tuple[Placement, str]:
    """Place the order under test. Return its placement, even on an error, and the outcome in a few words."""
    try:
        placement = await kind.place(floor.entry, floor.account, NAME, resubmit=resubmit)
    except OrderOutcomeUnknownError as unknown:
        placement = Placement(
            outcome=Outcome.UNKNOWN,
            account_number=unknown.account_number or "",
            external_identifier=unknown.external_identifier or "",
            attempts=unknown.attempts,
        )
        return placement, f"unknown ({unknown.code})"
    assert placement.outcome is not Outcome.PLACED or (placement.order or placement.complex_order) is not None
    return placement, placement.outcome.value


async def play(trouble: Trouble, listing: Trouble, resubmit: int, kind: Kind = SINGLE) -> str:
    """One cell of the matrix, checked against the books of the brokerage."""
    async with floor() as here:
        for method, path, fault in (("POST", kind.submit, trouble), ("GET", kind.lists, listing)):
            if fault.action is not None:
                here.sim.faults.add(method, path, fault.action, times=fault.times)
        placement, words = await place(here, resubmit=resubmit, kind=kind)
        kind.check(here, placement)
        assert (placement.account_number, placement.external_identifier) == (here.account, NAME)
        (entry,) = await here.journaled()
        assert entry.state is STATE_OF[placement.outcome]
        assert (entry.owner, entry.attempts) == (None, placement.attempts)
        assert NAME.encode() in entry.body
        for request in ("dry_run", "submit"):  # exactly the journaled bytes were sent
            assert set(here.wire.bodies[f"{kind.namespace}.{request}"]) == {entry.body}
        if words == "unknown (absent)":
            assert not here.orders(NAME)
        here.sim.faults.clear()
        await check_recovery(here, placement, kind)
        return words


async def check_recovery(here: Floor, placement: Placement, kind: Kind) -> None:
    """Check that a later process finds the true outcome without a submit, once the lists can be read."""
    submits = len(here.wire.bodies[f"{kind.namespace}.submit"])
    recovered = await here.another_entry().recover()
    assert len(recovered) == (placement.outcome is Outcome.UNKNOWN)
    for found in recovered:
        kind.check(here, found)
        exists = bool(here.orders(NAME))
        assert found.outcome is (Outcome.PLACED if exists else Outcome.UNKNOWN)
        assert (found.external_identifier, found.body, found.opened_at is None) == (NAME, found.body, False)
    assert len(here.wire.bodies[f"{kind.namespace}.submit"]) == submits


def played_row(trouble: Trouble, resubmit: int, kind: Kind = SINGLE) -> dict[str, str]:
    """Play a trouble against every listing. Return the outcomes in words, and fail with all cells that broke."""
    words, broken = dict[str, str](), list[str]()
    for listing in LISTINGS:
        try:
            words[listing.text] = run_in(VirtualLoop(), play(trouble, listing, resubmit, kind))
        except AssertionError as error:
            broken.append(f"{listing.text}: {error}")
    assert broken == []
    return words


@pytest.mark.parametrize("trouble", TROUBLES, ids=lambda trouble: trouble.text)
def test_order_is_never_doubled_and_its_outcome_is_true(trouble: Trouble) -> None:
    words = played_row(trouble, 0)
    assert [words[each.text] for each in SHOWN] == [documented()[trouble.text, each.text] for each in SHOWN]


@pytest.mark.parametrize("trouble", TROUBLES, ids=lambda trouble: trouble.text)
def test_order_that_may_be_sent_again_is_never_doubled(trouble: Trouble) -> None:
    words = played_row(trouble, 1)
    assert words[AT_ONCE.text] == documented()[trouble.text, RESUBMITTED]
    assert "unknown (absent)" not in words.values() or trouble in FALSE_SUCCESSES


@pytest.mark.parametrize("trouble", TROUBLES, ids=lambda trouble: trouble.text)
def test_complex_order_that_may_be_sent_again_is_never_doubled(trouble: Trouble) -> None:
    words = played_row(trouble, 1, COMPLEX)
    assert "unknown (absent)" not in words.values() or trouble in FALSE_SUCCESSES


async def test_an_order_that_arrives_after_the_settling_time_is_unknown_and_recovered_later(here: Floor) -> None:
    here.sim.faults.add("POST", SINGLE.submit, faults.delay(POLICY.visibility_delay * 10))
    _, words = await place(here)
    assert words == "unknown (absent)"
    await asyncio.sleep(POLICY.visibility_delay * 10)
    (found,) = await here.another_entry().recover()
    assert (found.outcome, len(here.orders(NAME))) == (Outcome.PLACED, 1)


Cells = dict[tuple[str, str], str]
"""Outcome by trouble and heading."""

SHOWN = LISTINGS[:4]
RESUBMITTED = "`resubmit=1`, listed at once"
HEADINGS = [*(listing.text for listing in SHOWN), RESUBMITTED]


def played() -> Cells:
    cells = {
        (trouble.text, listing.text): run_in(VirtualLoop(), play(trouble, listing, 0))
        for trouble in TROUBLES
        for listing in SHOWN
    }
    again = {(each.text, RESUBMITTED): run_in(VirtualLoop(), play(each, AT_ONCE, 1)) for each in TROUBLES}
    return cells | again


@cache
def documented() -> Cells:
    """Return the cells that the page shows. The tests that play them compare."""
    rows = [line.strip("| ").split(" | ") for line in DOCUMENT.read_text("utf-8").splitlines() if line.startswith("|")]
    head, _, *rows = rows
    return {(row[0], heading): words for row in rows for heading, words in zip(head[1:], row[1:], strict=True)}


def table(cells: Cells) -> str:
    lines = [f"| {' | '.join(['What happens to the submit', *HEADINGS])} |", "|" + " --- |" * (1 + len(HEADINGS))]
    for trouble in TROUBLES:
        lines.append(f"| {trouble.text} | {' | '.join(cells[trouble.text, heading] for heading in HEADINGS)} |")
    return "\n".join(lines)


def document(cells: Cells) -> str:
    return f"""# What becomes of an order when things go wrong

Written by `python -m tests.scenarios.test_order_entry_faults`, which plays every cell against the simulated brokerage
and checks it with the books: never more than one order, and the outcome reported is the truth. How to read the
outcomes, and what to do with an unknown one, is described in
[order entry](../../order-entry.md). Complex orders are played through the same cells.

*Unknown (absent)* means that the order was not listed in repeated polls until after the visibility delay of
{POLICY.visibility_delay:g} seconds. *Unknown (undetermined)* means that the lists could not be read.

{table(cells)}
"""


def test_the_documented_table_has_every_cell() -> None:
    assert DOCUMENT.read_text("utf-8") == document(documented())


if __name__ == "__main__":
    sys.stdout.write(f"{DOCUMENT}: {DOCUMENT.write_text(document(played()), 'utf-8')} characters\n")
