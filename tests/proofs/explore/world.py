"""World of one history: time, the choice of the next event, and the checks that need to know the moment."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from unittest.mock import patch

from brokerage_async.journal import EntryState, JournalEntry, MemoryJournal

from .choices import Choices, Event, Fault, Option, only
from .journal import Database, JournalFile, canonical, emptied, run_at_once
from .process import Call, Process
from .scopes import Scope
from .service import BASE, CHANGES, Books, Life
from .wire import EPSILON, Send

MAX_STEPS = 3000


class PrunedError(Exception):
    """The history has come to a state that another history has gone on from already."""


class StuckError(Exception):
    """Nothing can happen any more, or too much does."""


class World:
    """Processes, a service and a journal; ``choices`` decides which event comes next.

    ``seen`` collects the states after the decision number ``fresh``, to recognise those that were there before.
    """

    def __init__(
        self, scope: Scope, choices: Choices, *, seen: set[int] | None = None, fresh: int = 0, traced: bool = False
    ) -> None:
        self.scope, self.choices = scope, choices
        self.now = self.jumped = 0.0
        self.jumps = self.moves = 0
        self.budget = scope.faults
        self.over = False
        self.books = Books(adversary=scope.adversary, echoes=scope.echoes)
        self.life = Life(self.books, scope.working, is_complex=scope.bracketed) if scope.working else None
        self.sends: list[Send] = []
        self.calls: list[Call] = []
        self.owners: dict[str, str] = {}
        self.closed_by: dict[tuple[str, str], Call | None] = {}
        self.violations: list[str] = []
        self.trace: list[str] = []
        self._traced, self._seen, self._fresh = traced, seen, fresh
        self._pending: list[Event] = []
        self.contents: tuple[Any, ...] | None = None
        self.before_halt: dict[tuple[str, str], int] | None = None
        clock = self._journal_clock
        self._wall_clock = patch("time.time", lambda: BASE + self.now)
        self._wall_clock.start()
        self.file = JournalFile(self, clock) if scope.journal == "file" else None
        self.journal: Any = self.file or (
            Database(clock, emptied()) if scope.journal == "sql" else MemoryJournal(clock=clock)
        )
        if scope.other is not None:
            self.books.book("A1", "X", **scope.other, ours=False)
        self.processes = [Process(self, name, program) for name, program in zip("ABCDE", scope.programs, strict=False)]
        for process, program in zip(self.processes, scope.programs, strict=True):
            if program.first:
                process.start()
            else:
                self.post(Event(process, "start", only("starts", process.start), lazy=True))

    # Running.

    def run(self) -> None:
        """Play the history to the end of every program, and then until nothing is under way."""
        if not self._step_until(lambda: all(process.is_done for process in self.processes)):
            raise StuckError("too many steps")
        self.budget = 0
        self.choices = Choices()
        self._seen = None
        self._step_until(self._is_idle)
        self.now += 10 * self.scope.times.lease + abs(self.jumped)  # all claims end

    def play_alone(self, process: Process) -> None:
        """Let one more process run its program undisturbed."""
        self.processes.append(process)
        process.start()
        if not self._step_until(lambda: process.is_done):
            raise StuckError("the last recovery does not end")

    def close(self) -> None:
        self.over = True
        self._pending.clear()
        for process in self.processes:
            process.loop.finish()
        if self.file is not None:
            self.file.close()
        self._wall_clock.stop()

    def _step_until(self, is_over: Callable[[], bool]) -> bool:
        """Let one thing happen after another. Return False if it is not over after the most steps."""
        for _ in range(MAX_STEPS):
            for process in self.processes:
                if not process.is_dead and process.frozen_until is None:
                    process.loop.run_ready()
            if is_over():
                return True
            self._step()
        return False

    def _is_idle(self) -> bool:
        self._drop_gone()
        return not self._pending and self._next_time() is None

    def _drop_gone(self) -> None:
        self._pending = [
            event
            for event in self._pending
            if (event.is_gone is None or not event.is_gone())
            and not (event.process.is_dead and (event.delivery or event.lazy))
        ]

    def _step(self) -> None:
        self._drop_gone()
        if self._seen is not None and len(self.choices.made) > self._fresh:
            state = self._state()
            if state in self._seen:
                raise PrunedError
            self._seen.add(state)
        found: list[tuple[Event | None, Option]] = []
        lazy: list[tuple[Event | None, Option]] = []
        budget = self.budget
        possible = [e for e in self._pending if not (e.delivery and e.process.frozen_until is not None)]
        for event in next(([e] for e in possible if e.local and not e.lazy), possible):
            into = lazy if event.lazy else found
            into.extend((event, option) for option in event.options() if option.cost <= budget)
        passing = self._passing()
        if passing is not None and passing.cost <= budget:
            found.append((None, passing))
        found += lazy
        if passing is not None:
            # A look of a search comes early. Another time of this moment would change nothing: the look begins later.
            hearing = [process for process in self.processes if process.may_hear]
            found.extend((None, Option(f"{each.name}: the doorbell rings", 0, each.hear)) for each in hearing)
        if self.life is not None and all(event.label.startswith(CHANGES) for event in self._pending):
            found.extend((None, Option(f"exchange: {label}", 0, act)) for label, act in self.life.moves())
        if budget:
            found.extend((None, option) for option in self._adversities())
        if not found:
            raise StuckError("nothing can happen any more")
        number = self.choices.pick([option.cost for _, option in found]) if len(found) > 1 else 0
        event, option = found[number]
        self.budget -= option.cost
        if event is not None:
            self._pending.remove(event)
        if self._traced:
            self.say(f"{event.process.name + ': ' if event is not None else ''}{option.label}")
        option.act()

    def _passing(self) -> Option | None:
        """Return the option to let time pass until the next timer, if nothing has to happen before."""
        until = self._next_time()
        if until is None:
            return None
        cost = 0
        if until > self.now:
            for event in self._pending:
                if event.lazy or (event.delivery and (event.process.is_frozen or event.process.is_dead)):
                    continue
                if event.latest < until:
                    return None
                if not event.slow:
                    cost = 1
        if cost and "slow" not in self.scope.kinds:
            return None
        return Option(f"time passes to {until:.2f}", cost, lambda: self._pass(until))

    def _pass(self, until: float) -> None:
        if until > self.now:
            for event in self._pending:
                event.slow = True
            self.now = until
        for process in self.processes:
            if process.is_dead or not process.has_started:
                continue
            if process.frozen_until is not None:
                if process.frozen_until <= self.now:
                    process.frozen_until = None
                    process.observe("thaws")
            elif process.loop.fire_timers():
                process.observe("timers")

    def _next_time(self) -> float | None:
        times = []
        for process in self.processes:
            if process.is_dead or not process.has_started:
                continue
            if process.frozen_until is not None:
                times.append(process.frozen_until)
            elif (due := process.loop.next_timer()) is not None:
                times.append(max(process.moment(due), self.now))
        if times and any(event.lazy for event in self._pending):
            length = self.scope.times.lease + EPSILON  # a process may start when a claim ends, though no timer fires
            times.append((math.floor(self.now / length + 1e-6) + 1) * length)
        return min(times, default=None)

    def _adversities(self) -> list[Option]:
        """Return the options that exist at any moment: trouble with processes and clocks."""
        faults, nap = list[Fault](), self.scope.times.nap
        for process in self.processes:
            if process.is_busy and not process.is_frozen:
                faults += [
                    ("freeze", f"{process.name} is frozen", partial(self._freeze, process)),
                    ("suspend", f"{process.name} is frozen, its clock stands", partial(self._freeze, process, lag=nap)),
                    ("kill", f"{process.name} is killed", partial(self.kill, process)),
                ]
        faults += [
            ("moved", "the journal's file is moved", self._move),
            ("clock-forward", "the journal's clock jumps forward", partial(self._jump, nap)),
            ("clock-back", "the journal's clock jumps back", partial(self._jump, -nap)),
        ]
        return self.allowed(*faults)

    def _freeze(self, process: Process, lag: float = 0.0) -> None:
        process.frozen_until = self.now + self.scope.times.nap
        process.observe("frozen")
        process.lag += lag

    def kill(self, process: Process) -> None:
        """End a process without a word. Its requests are on their way."""
        process.is_dead = True
        process.observe("killed")

    def _move(self) -> None:
        self.moves += 1
        self.file.move()

    def check_written(self, send: Send) -> None:
        """Check that an order is journaled where the next process will look, if the journal was moved before."""
        if self.file is None or send.call is None or not send.call.moves:
            return
        if (send.account, send.identifier) not in map(name_of, run_at_once(self.file.here())):
            self.violations.append(f"unnoticed: {send.call} began after the journal had moved, and sent without entry")

    def check_halted(self, account: str, name: str) -> None:
        """Check that nothing is sent after a halt was acknowledged but the attempts that it returned.

        ``name``: identifier of an order, or id of the order that is replaced.
        """
        if self.before_halt is None:
            return
        attempts = max((e.attempts for e in self.entries() if name in (e.replaces, name_of(e)[1])), default=1)
        if attempts > self.before_halt.get((account, name), 0):
            self.violations.append(f"halted: attempt {attempts} of {name} was sent after a halt was acknowledged")

    def _jump(self, seconds: float) -> None:
        self.jumps += 1
        self.jumped += seconds

    # Methods for the parts.

    def allowed(self, *faults: Fault) -> list[Option]:
        return [Option(label, 1, act) for kind, label, act in faults if kind in self.scope.kinds]

    def post(self, event: Event) -> None:
        self._pending.append(event)

    def say(self, text: str) -> None:
        if self._traced:
            self.trace.append(f"{self.now:7.2f}  {text}")

    def entries(self) -> Sequence[JournalEntry]:
        return run_at_once(self.journal.entries())

    def states(self) -> dict[tuple[str, str], EntryState]:
        return {name_of(entry): entry.state for entry in self.entries()}

    def may_stay_open(self, key: tuple[str, str]) -> bool:
        """Return True if an order without an identifier is ambiguous: another entry may fit, or the clock was set."""
        rivals = [name for name in self.states() if name[0] == key[0] and name != key]
        return not self.scope.echoes and bool(rivals or self.jumps)

    def ended(self, call: Call) -> None:
        """Take note of a call that has ended, and check the invariants of this very moment."""
        self.calls.append(call)
        if self._traced:
            self.say(f"{call} ends: {outcome_in_words(call)}")
        if call.step.kind == "halt" and call.error is None:
            names = {entry.key.external_identifier: entry.replaces for entry in self.entries()}
            self.before_halt = {
                (each.account_number, names[each.external_identifier] or each.external_identifier): each.attempts
                for each in call.result
            }
        if self.life is not None:
            self.violations += self.life.judge(call, self)
        if call.sought and call.error is None and not call.process.disturbed and not self.moves:
            reported = {(placement.account_number, placement.external_identifier) for placement in call.result}
            now = self.listed_open_entries(unclaimed=True)
            for key in sorted(call.sought & now):
                if self.may_stay_open(key):  # another worker may have returned it as unknown
                    continue
                missed = "and returned it as unknown" if key in reported else "and did not return it"
                if not any(p.outcome == "placed" for p in call.result if p.external_identifier == key[1]):
                    self.violations.append(f"missed: {call} could read the lists of {key}, which show it, {missed}")

    def listed_open_entries(self, *, unclaimed: bool = False) -> frozenset[tuple[str, str]]:
        """Return the open entries whose orders are listed by now."""
        listed = {(o.account, o.identifier) for o in self.books.orders if o.ours and o.listed_at <= self.now}
        if not listed:
            return frozenset()
        now = self._journal_clock()
        return frozenset(
            name_of(entry)
            for entry in self.entries()
            if entry.state is EntryState.OPEN
            and name_of(entry) in listed
            and not (unclaimed and entry.claimed_until is not None and entry.claimed_until.timestamp() > now)
        )

    def _journal_clock(self) -> float:
        return BASE + self.now + self.jumped

    def _state(self) -> int:
        """Return a hash of everything that the rest of the history depends on."""
        if self.contents is None or self.file is not None:
            self.contents = canonical(self.entries(), self.owners)
            if self.scope.halts:
                self.contents += tuple(run_at_once(self.journal.halts()))
        return hash(
            (
                self.now,
                self.jumped,
                self.moves,
                self.budget,
                self.contents,
                None if self.before_halt is None else tuple(self.before_halt.items()),
                self.life and self.life.state,
                tuple(sorted((key, str(call)) for key, call in self.closed_by.items())),
                tuple(sorted((event.mark, event.slow) for event in self._pending)),
                tuple(sorted((o.id, o.identifier, o.listed_at, o.json) for o in self.books.orders)),
                tuple((p.state, p.is_dead, p.frozen_until, p.lag, p.outage_until) for p in self.processes),
            )
        )


def name_of(entry: JournalEntry) -> tuple[str, str]:
    return entry.key.account_number, entry.key.external_identifier


def outcome_in_words(call: Call) -> str:
    """Return the report to the caller, in a few words."""
    if call.error is not None:
        notes = "; ".join(getattr(call.error, "__notes__", ()))
        return f"{type(call.error).__name__}: {call.error} {notes}".strip()
    if isinstance(call.result, list):
        return ", ".join(f"{p.external_identifier} {p.outcome} ({p.note})" for p in call.result) or "nothing"
    outcome = getattr(call.result, "outcome", None)
    told = getattr(call.result, "note", None) or getattr(call.result, "error", None)
    return str(call.result) if outcome is None else f"{outcome} ({told})"
