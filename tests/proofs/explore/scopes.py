"""Scopes of searches: the processes and their calls, the kinds of faults, and how many a history may hold."""

import random
from collections.abc import Mapping
from typing import Any

import attrs

from .process import Program, Step
from .service import DAY


@attrs.frozen(kw_only=True)
class Times:
    """Seconds: the defaults of the library, ten times faster.

    ``outage`` outlasts a lease, ``nap`` also the search of a worker that takes over.
    Searches and renewals of claims never fall on the same moment: every order of the two would be one more history.
    """

    lease: float = 3.3
    visibility_delay: float = 2.3
    first: float = 0.7
    max_interval: float = 0.9
    give_up: float = 5.0
    timeout: float = 1.0
    retry_after: float = 12.0
    nap: float = 12.0
    outage: float = 4.0
    link: float = 0.75
    attempts: int = 2
    held: float = 9.0


JOURNAL = frozenset({"ack-lost", "repeated", "ack-slow", "late", "unreachable", "outage"})
SUBMITS = frozenset({"not-sent", "vanished", "throttled", "turned-away", "unauthorized", "refused", "html-before",
                     "listed-late", "lost"})  # fmt: skip
PROXIES = frozenset({"html-403", "html-400", "html-404", "html-451", "html-502", "json-302", "json-408", "json-409",
                     "json-425", "json-499", "garbage", "empty"})  # fmt: skip
LISTS = frozenset({"list-403", "list-503", "list-lost", "absurd-past", "absurd-future"})
MACHINES = frozenset({"freeze", "suspend", "kill", "clock-forward", "clock-back"})
ADVERSITY = frozenset({"rejected", "406", "misanswered", "listed-late"})
EVERYTHING = JOURNAL | SUBMITS | PROXIES | LISTS | MACHINES | {"cancel", "slow", "dry-run-503", "half-listed"}


@attrs.frozen
class Scope:
    """One set of histories.

    ``other``: what another program has placed under the same identifier, see `Books.book`.
    ``adversary``: see `Books`. Orders without a version are a violation. ``echoes``: see there.
    ``working``: status of an order that can be changed, see `Life`. The trigger of a complex one if ``bracketed``.
    ``held``: submits may be processed after the visibility delay, and are listed then.
    ``cap``: a guard of so many orders a day, in every process.
    ``rings``: how many events of the account stream each process may hear while it searches.
    """

    name: str
    programs: tuple[Program, ...]
    faults: int = 1
    kinds: frozenset[str] = attrs.field(default=EVERYTHING, converter=frozenset)
    other: Mapping[str, Any] | None = None
    rings: int = 0
    cap: int = 0
    working: str = ""
    bracketed: bool = False
    held: bool = False
    adversary: bool = False
    echoes: bool = True
    journal: str = "sql"
    times: Times = Times()

    @property
    def halts(self) -> bool:
        """Whether a process halts the journal."""
        return any(step.kind == "halt" for program in self.programs for step in program.steps)


def place(identifier: str = "X", resubmit: int = 0, account: str = "A1", *, is_complex: bool = False) -> Step:
    return Step("place", identifier, resubmit, account, is_complex=is_complex)


RECOVER = Step("recover")
ABANDON = Step("abandon")
HALT = Step("halt")


def program(*steps: Step, **options: bool) -> Program:
    return Program(steps=steps, **options)


DIES = program(place(), dies=True, first=True)
MOVER = program(place("X"), place("Y"), first=True)
UNHEARD = program(place(), unheard=True, first=True)
HEIR = program(Step("wait", seconds=3.5), place(resubmit=1), first=True)
ALONE = program(place(resubmit=1), first=True)
BRACKET_ALONE = program(place(resubmit=1, is_complex=True), first=True)
PLACER, RIVAL = program(place(), first=True), program(place(resubmit=1))
BRACKET, RIVAL_BRACKET = program(place(is_complex=True), first=True), program(place(resubmit=1, is_complex=True))
CLOCKS = frozenset({"suspend", "clock-forward", "clock-back"})
CLAIMS = JOURNAL - {"unreachable"} | {"kill", "lost", "vanished", "turned-away"}
LOSSES = frozenset({"kill", "ack-lost", "lost", "vanished"})
FEW = JOURNAL | SUBMITS | {"freeze", "kill", "html-403", "html-502", "json-409", "garbage", "slow"}
"""Without faults that a single process shows as well, and without those of clocks, which have their own scope."""

CANCEL, CANCEL_AT_ONCE, REPLACE = Step("cancel", waits=True), Step("cancel"), Step("replace")
CANCEL_COMPLEX = Step("cancel", is_complex=True, waits=True)
OLD = {"now": -5 * DAY, "listed_at": -5 * DAY, "received": "2026-03-05T15:00:00Z"}
OPPOSITE = {"now": 0.0, "listed_at": 0.0, "opposite": True}
SHARING = {"now": 0.0, "listed_at": 0.0, "is_complex": True, "stop": "6.00"}
BRIEF = Times(visibility_delay=0.8, max_interval=0.8, give_up=2.0)
"""Times of scopes in which the exchange acts at every moment."""


def alone(step: Step, name: str, status: str, *others: Step, **options: bool) -> Scope:
    """Return the scope of one change of an order in this status, and the ``others`` each in its own process."""
    kinds = {"vanished", "lost", "html-502", "slow"} if status == "Live" else {"lost"}
    programs = program(step, first=True), *map(program, others)
    return Scope(name, programs, kinds=kinds, working=status, times=BRIEF, **options)


PLAIN = (
    Scope("one-place", (ALONE,), faults=2, kinds=EVERYTHING - CLOCKS - {"cancel"}),
    Scope("push", (ALONE,), faults=2, kinds={"listed-late", "lost", "vanished", "list-503"}, rings=2),
    Scope("push-recover", (DIES, program(RECOVER)), kinds={"cancel"}, rings=1),
    Scope("place-place", (PLACER, RIVAL), kinds=FEW),
    Scope("place-recover", (PLACER, program(RECOVER)), kinds=FEW),
    Scope("place-abandon", (PLACER, program(ABANDON)), kinds=FEW),
    Scope("cancel-alone", (ALONE,), faults=2, kinds=JOURNAL | {"cancel", "lost", "vanished"}),
    Scope("cancel-place", (PLACER, RIVAL), faults=2, kinds={"cancel", "lost", "ack-lost"}),
    Scope("cancel-recover", (DIES, program(RECOVER)), kinds={"cancel"}),
    Scope("fences", (PLACER, RIVAL), faults=2, kinds=JOURNAL | {"turned-away", "not-sent"}),
    Scope("claims", (PLACER, RIVAL), faults=2, kinds={"throttled", "outage"}),
    Scope("machines", (PLACER, RIVAL), kinds=MACHINES | {"outage"}),
    Scope("heirs", (UNHEARD, HEIR, RIVAL), kinds={"freeze"}),
    Scope("moved", (MOVER, program(place("Y"))), kinds={"moved"}, journal="file"),
    Scope("recover-barred", (DIES, program(RECOVER), program(RECOVER, barred=True)), faults=0),
    Scope("three", (PLACER, RIVAL, program(RECOVER)), kinds={"lost", "vanished"}),
    Scope("foreign", (PLACER,), kinds=EVERYTHING - CLOCKS, other=OLD),
    Scope("complex-alone", (BRACKET_ALONE,), faults=2, kinds=SUBMITS | PROXIES | LISTS | {"half-listed", "kill"}),
    Scope("complex-pair", (BRACKET, RIVAL_BRACKET), kinds=SUBMITS | {"half-listed", "ack-lost", "kill"}),
    Scope("complex-recover", (BRACKET, program(RECOVER)), kinds=FEW | {"half-listed"}),
    Scope("complex-shared", (BRACKET_ALONE,), faults=2, kinds=SUBMITS | LISTS | {"half-listed"}, other=SHARING),
    # Neither relabelled legs nor missing identifiers add anything to the scopes of one order's life.
    alone(CANCEL, "cancel-filled", "Live"),
    alone(CANCEL, "cancel-not-now", "Routed"),
    alone(CANCEL_AT_ONCE, "cancel-at-once", "Routed"),
    alone(CANCEL_COMPLEX, "cancel-complex-filled", "Live", bracketed=True),
    alone(REPLACE, "replace-filled", "Live"),
    alone(REPLACE, "replace-not-now", "Routed"),
    Scope("guard", (PLACER, program(place("Y"))), faults=2, kinds=CLAIMS, cap=1),
    Scope("guard-clock", (PLACER, program(place("Y"))), kinds=CLOCKS | {"kill", "lost"}, cap=1),
    Scope("guard-three", (PLACER, program(place("Y")), program(place("Z"))), kinds=LOSSES, cap=2),
    Scope("halt", (ALONE, program(HALT)), faults=2, kinds=CLAIMS),
    Scope("halt-clock", (ALONE, program(HALT)), kinds=CLOCKS | {"freeze", "kill"}),
    Scope("halt-three", (PLACER, program(place("Y")), program(HALT)), kinds=LOSSES),
    alone(REPLACE, "halt-replace", "Routed", HALT),
    Scope("held", (PLACER,), kinds={"lost", "slow"}, held=True),
    Scope("opposite", (PLACER, program(RECOVER)), kinds=FEW, other=OPPOSITE),
)


MANY, MANY_UNECHOED = 35, 12
"""Kinds of faults of which two in one history are too many to play them all: without the echo, searches are longer."""


def opposed(scope: Scope, *, echoes: bool = True) -> Scope:
    """Return a scope with the adversary, whose faults are added to the scope's."""
    kinds = scope.kinds | ADVERSITY if scope.faults else scope.kinds
    return attrs.evolve(scope, adversary=True, echoes=echoes, kinds=kinds)


def bounded(scope: Scope, name: str, kinds: int) -> Scope:
    """Return a scope under a longer name, with one fault at a time if it has more than ``kinds`` of them."""
    faults = scope.faults if len(scope.kinds) <= kinds else min(scope.faults, 1)
    return attrs.evolve(scope, name=f"{scope.name}-{name}", faults=faults)


EXHAUSTED = {
    scope.name: scope
    for plain in PLAIN
    for scope in (
        plain,
        bounded(opposed(plain), "adversary", MANY),
        bounded(opposed(plain, echoes=False), "unechoed", MANY_UNECHOED),
    )
    if scope is plain or not (plain.working or plain.held or plain.cap or plain.halts)
}
del EXHAUSTED["heirs-unechoed"]  # heirs wait for each other's leases. Without the echo that is 180,000 histories more

BEYOND = {"held-resubmitted": Scope("held-resubmitted", (ALONE,), kinds={"slow"}, held=True)}
"""Scopes beyond the promise: a submit that is held longer than all polls is doubled by ``resubmit``."""


def mixed(seed: int) -> Scope:
    """Return the scope of a sampled history."""
    chance = random.Random(f"scope {seed}")
    programs = []
    for number in range(chance.choice([2, 2, 3])):
        steps = []
        for _ in range(chance.choice([1, 1, 2])):
            kind = chance.choice(["place", "place", "place", "recover", "recover", "abandon"])
            if kind == "place":
                name, resubmit = chance.choice(["X", "X", "X", "Y", "C", "C"]), chance.choice([0, 0, 1, 2])
                account = "A2" if name == "Y" else "A1"
                steps.append(place(name, resubmit, account, is_complex=name == "C"))
            else:
                steps.append(RECOVER if kind == "recover" else ABANDON)
            if chance.random() < 0.2:
                steps.append(Step("wait", seconds=chance.choice([0.5, 4.0])))
        if number == 0 and steps[0].kind != "place":
            steps.insert(0, place(resubmit=chance.choice([0, 1])))
        programs.append(program(*steps, dies=chance.random() < 0.1, barred=chance.random() < 0.07, first=number == 0))
    foreign = chance.random() < 0.1
    scope = Scope(
        f"mixed-{seed}",
        tuple(programs),
        faults=chance.choice([1, 2, 3, 4]),
        kinds=EVERYTHING - CLOCKS if foreign else EVERYTHING,
        other=OLD if foreign else None,
        journal=chance.choice(["sql", "sql", "memory"]),
    )
    return opposed(scope, echoes=chance.random() < 0.7) if chance.random() < 0.5 else scope
