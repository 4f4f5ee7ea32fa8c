"""Defects to plant: each takes one protection out again. An explorer that does not find them proves nothing.

Each is a small change of the library while it lasts, with the scope that it is hunted in and the most histories
that finding it may take.
"""

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import attrs

from . import internals
from .scopes import EXHAUSTED, Scope
from .search import Found, exhaust

__all__ = ["PLANTS", "Plant", "hunt", "planted"]

Patches = list[Any]


@attrs.frozen
class Plant:
    """A defect, where it is hunted, and the number of the last history that may find it."""

    name: str
    text: str
    scope: str
    within: int
    patches: Callable[[], Patches]
    kinds: frozenset[str]
    faults: int

    @property
    def hunted_in(self) -> Scope:
        """Return the scope, with those faults only that the plant needs."""
        scope = EXHAUSTED[self.scope]
        return attrs.evolve(scope, kinds=self.kinds or scope.kinds, faults=min(self.faults, scope.faults))


PLANTS: dict[str, Plant] = {}


def plant(
    scope: str, within: int, *kinds: str, faults: int = 1
) -> Callable[[Callable[[], Patches]], Callable[[], Patches]]:
    """List a defect under the name of its function, described by its docstring.

    This number of ``faults`` of these ``kinds`` (default: the scope's) in one history is enough to show it.
    """

    def listed(function: Callable[[], Patches]) -> Callable[[], Patches]:
        name = function.__name__
        PLANTS[name] = Plant(name, (function.__doc__ or "").strip(), scope, within, function, frozenset(kinds), faults)
        return function

    return listed


@contextmanager
def planted(name: str | None) -> Iterator[None]:
    """Run the library with that defect, or unchanged."""
    patches = PLANTS[name].patches() if name is not None else []
    for one in patches:
        one.start()
    try:
        yield
    finally:
        for one in reversed(patches):
            one.stop()


def hunt(name: str) -> Found | None:
    """Play the scope of a plant until a history shows it. None when none does in time."""
    with planted(name):
        found = exhaust(PLANTS[name].hunted_in, stop=lambda _: True, limit=PLANTS[name].within).found
    return found[0] if found else None


@plant("fences", 2000, "repeated", "turned-away", faults=2)
def outcome_unfenced() -> Patches:
    """An outcome is recorded by a worker that no longer holds the entry."""
    unfenced = internals.sql.CLOSE.replace(" AND owner = :owner", "")
    return [patch.object(internals.sql, "CLOSE", unfenced)]


@plant("machines", 2000)
def sent_without_claim() -> Patches:
    """An order is sent by a worker whose claim has ended."""
    return [patch.object(internals.Attempt, "objection", lambda self: None)]


@plant("machines", 2000)
def claim_judged_by_one_clock() -> Patches:
    """A claim is judged by a clock that stands still while the machine is suspended."""
    return [patch.object(internals.Instant, "age", internals.age_by_loop)]


@plant("cancel-alone", 500)
def cancellation_swallowed() -> Patches:
    """A cancellation that meets the end of a helper task is lost."""
    return [patch.object(internals.place, "close", internals.close_with_waiting)]


@plant("one-place", 500, "html-403")
def proxy_page_taken_for_refusal() -> Patches:
    """Any answer with a status of 4xx counts as a refusal of the service."""
    judged = property(lambda error: not 400 <= (error.status or 0) < 500 or error.status in {408, 409, 425, 499})
    return [patch.object(internals.APIError, "maybe_processed", judged)]


@plant("one-place", 500, "json-409")
def repeated_by_code() -> Patches:
    """An answer of any status with the code of a rejected token is repeated with a new token."""
    return [patch.object(internals.call, "outcome_of", internals.outcome_by_code)]


@plant("one-place", 1000, "vanished", "absurd-past", faults=2)
def absurd_time_crashes() -> Patches:
    """A time in the year 1 in a list of orders raises OverflowError."""
    return [patch.object(internals.lists.Window, "is_past", internals.is_past_as_datetime)]


@plant("recover-barred", 1000)
def inconclusive_look_counts() -> Patches:
    """A worker that could not read the lists marks the entry as looked at."""
    return [patch.object(internals.place, "_release", internals.release_as_looked)]


@plant("cancel-alone", 500)
def cancelled_caller_misled() -> Patches:
    """A caller that is cancelled while its outcome is recorded is referred to recover()."""
    return [patch.object(internals.place, "close", internals.close_hastily)]


@plant("foreign", 500)
def older_order_taken() -> Patches:
    """An order that was received before the entry was opened is taken for ours."""
    return [patch.object(internals.search.IdentifierSearch, "_predates", lambda *_: False)]


@plant("moved", 500)
def moved_journal_unnoticed() -> Patches:
    """A journal goes on in a file that was moved away from its path."""
    return [patch.object(internals.SqliteFile, "_check_files", lambda self: None)]


@plant("push", 500, "listed-late", "lost", faults=2)
def early_look_counts() -> Patches:
    """An early look counts towards absence, as the poll that it comes before."""
    return [patch.object(internals.search, "poll_until", internals.poll_counting_early_looks)]


@plant("one-place", 500, "html-502")
def server_error_taken_for_refusal() -> Patches:
    """A 5xx answer counts as a refusal."""
    return [patch.object(internals.place, "delivery_of", internals.trusting)]


@plant("one-place", 500, "lost")
def resubmitted_without_searching() -> Patches:
    """An order of unknown outcome is sent again before it was searched for."""
    return [patch.object(internals.place, "decide", internals.hasty)]


@plant("heirs", 2000, "freeze")
def resubmitted_without_claim() -> Patches:
    """An order is sent again without renewing the claim."""
    return [patch.object(internals.place.Submission, "_journal_attempt", internals.attempt_unclaimed)]


@plant("one-place", 500, "lost")
def lost_answer_repeated() -> Patches:
    """The session repeats a submit whose answer was lost."""
    return [internals.table_with("LOST")]


@plant("complex-shared", 500, "vanished")
def complex_order_matched_by_one_component() -> Patches:
    """A complex order that shares one component with ours is taken for it."""
    return [patch.object(internals.orders, "complex_differs_in", lambda asked, seen: None)]


@plant("complex-alone", 500, "half-listed")
def complex_list_unread() -> Patches:
    """A complex order that only the list of complex orders shows is sent again."""
    return [patch.object(internals.lists.OrderLists, "poll", internals.read_orders_only)]


@plant("complex-alone", 500, "half-listed")
def order_lists_unread() -> Patches:
    """A complex order whose components only the lists of orders show is sent again."""
    return [patch.object(internals.lists.OrderLists, "poll", internals.read_complex_orders_only)]


@plant("complex-recover", 1000, "lost")
def complex_order_recovered_as_single() -> Patches:
    """A journaled complex order is searched for as a single one."""
    single = functools.partial(internals.orders.AskedOrder, is_complex=False)
    return [patch.object(internals.search, "asked_in", lambda e: single(e.key.external_identifier, e.body))]


@plant("complex-alone", 500, "lost")
def complex_order_resubmitted_without_searching() -> Patches:
    """A complex order of unknown outcome is sent again before it was searched for."""
    return [patch.object(internals.place, "decide", internals.hasty)]


@plant("opposite-adversary", 500, "vanished")
def another_side_taken() -> Patches:
    """An order on the other side under our identifier is taken for ours."""
    return [patch.object(internals.orders, "_leg_differs", internals.side_ignored)]


@plant("one-place-adversary", 500, "lost")
def relabelled_order_disowned() -> Patches:
    """An order that opens instead of closing is taken for someone else's."""
    return [patch.object(internals.orders, "_leg_differs", internals.other_action_differs)]


@plant("one-place-adversary", 500, "lost")
def version_not_sent() -> Patches:
    """A request goes out without the version that was asked for."""
    return [
        patch.object(
            internals.client, "_versions", lambda headers, version: {"headers": headers, "own_versions": False}
        )
    ]


@plant("one-place-unechoed", 500, "misanswered")
def answer_taken_by_its_terms() -> Patches:
    """An answer without an identifier is taken for ours if its terms are."""
    return [
        patch.object(internals.orders.AskedOrder, "is_named_by", lambda *_: True),
        patch.object(internals.orders.AskedOrder, "is_another", internals.another_by_terms),
    ]


@plant("one-place-unechoed", 500, "vanished")
def older_order_without_identifier_taken() -> Patches:
    """An order without an identifier is taken for ours although it was received before."""
    return [
        patch.object(internals.search.IdentifierSearch, "_predates", lambda *_: False),
        patch.object(internals.search.IdentifierSearch, "_is_after", lambda *_: True),
    ]


@plant("push-unechoed", 1000, "vanished", "absurd-future", faults=2)
def order_of_the_future_taken() -> Patches:
    """An order without an identifier is taken for ours although it was received in the future."""
    after = internals.search.IdentifierSearch
    return [patch.object(after, "_is_after", lambda self, entry, order: not self._predates(entry, order))]


@plant("cancel-at-once", 200)
def refusal_for_now_taken_for_the_end() -> Patches:
    """A refusal is final although the order is just not live yet."""
    return [patch.object(internals.amend.Reader, "repeated", internals.attempt_once)]


@plant("cancel-filled", 200)
def cancellation_requested_taken_for_cancelled() -> Patches:
    """A cancellation counts as won while the exchange has not confirmed it."""
    over = internals.amend.TERMINAL | {"Cancel Requested"}
    complete = patch.object(internals.amend, "is_complete", lambda order: order.status in over)
    return [patch.object(internals.amend, "TERMINAL", over), complete]


@plant("cancel-complex-filled", 200)
def filled_component_overlooked() -> Patches:
    """A complex order counts as cancelled although its trigger order was filled first."""
    return [patch.object(internals.amend, "_filled", lambda reader: set())]


@plant("replace-filled", 200, "lost")
def unanswered_replacement_repeated() -> Patches:
    """A replacement is sent again after its answer was lost."""
    return [patch.object(internals.amend.Reader, "repeated", internals.attempt_until_answered)]


@plant("cancel-filled", 200)
def terminal_taken_for_complete() -> Patches:
    """An order counts as finished while the fills of a leg are missing."""
    return [patch.object(internals.amend, "is_complete", lambda order: order.status in internals.amend.TERMINAL)]


@plant("replace-filled", 200)
def contingent_replacement_taken_for_working() -> Patches:
    """A replacement counts as applied before its original is cancelled."""
    applied = internals.amend.ChangeOutcome.APPLIED
    return [patch.object(internals.amend, "replacement_shown", lambda *_, **__: applied)]


@plant("guard", 500)
def caps_checked_before_the_claim() -> Patches:
    """The sums of a guard are read in a transaction before the one that adds to them."""
    return [internals.journal_after_reading(guard=True)]


@plant("guard", 500, "vanished")
def unknown_order_gives_its_share_back() -> Patches:
    """An order of unknown outcome does not count towards the caps of the guard."""
    without, opening = internals.sql.COUNTS.replace("<> 'refused'", "<> 'open'"), internals.sql._opening
    return [patch.object(internals.sql, "_opening", lambda *how: opening(*how).replace("{counts}", without))]


@plant("halt", 500)
def halt_read_before_the_attempt() -> Patches:
    """A halt is read in a transaction before the one that records an attempt."""
    return [internals.journal_after_reading(guard=False)]


@plant("halt", 1000, "vanished")
def halt_not_read_before_another_attempt() -> Patches:
    """A halt stops new orders, but not the repetition of an order that is absent."""
    unread = internals.sql.ATTEMPT.replace("WHERE halt.", "WHERE 1 = 0 AND halt.")
    return [patch.object(internals.sql, "ATTEMPT", unread)]


@plant("halt", 1000)
def open_attempts_not_returned() -> Patches:
    """A halt does not return the attempts of orders that it finds open."""
    return [patch.object(internals.sql, "HALTED", internals.sql.HALTED.replace("state = 'open'", "state = 'none'"))]


@plant("halt-replace", 1000)
def replacement_not_journaled() -> Patches:
    """A replacement is sent without a journal entry, and so without reading halts."""
    return [patch.object(internals.Attempt, "open", internals.open_unless_replacing)]
