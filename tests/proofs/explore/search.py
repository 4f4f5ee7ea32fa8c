"""Searches: one history, all of a scope, or many drawn at random."""

import gc
import logging
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

import attrs

from .choices import Choices, Drawn, decode, encode
from .judge import judge
from .scopes import BEYOND, EXHAUSTED, Scope, mixed
from .world import PrunedError, StuckError, World


@attrs.frozen
class Found:
    """A history that violates something."""

    history: str
    violations: tuple[str, ...]
    number: int = 0
    trace: tuple[str, ...] = ()


@attrs.define
class Report:
    """Numbers and findings of a search; ``seconds`` are processor time."""

    name: str = ""
    histories: int = 0
    complete: int = 0
    seconds: float = 0.0
    found: list[Found] = attrs.field(factory=list)

    @property
    def line(self) -> str:
        return f"{self.histories:,} histories, {len(self.found)} violated, {self.seconds:.0f} s of processor time"


def play(
    scope: Scope, choices: Choices, *, seen: set[int] | None = None, fresh: int = 0, traced: bool = False
) -> Found:
    """Play one history and judge it, unless it comes to a state that is in ``seen``: PrunedError."""
    world = World(scope, choices, seen=seen, fresh=fresh, traced=traced)
    try:
        try:
            world.run()
            violations = judge(world)
        except StuckError as stuck:
            violations = [f"stuck: {stuck}"]
        return Found(encode(scope.name, choices.sparse), tuple(violations), 0, tuple(world.trace))
    finally:
        world.close()


def replay(history: str) -> Found:
    name, script = decode(history)
    scope = mixed(int(name[6:])) if name.startswith("mixed-") else (EXHAUSTED | BEYOND)[name]
    with quiet():
        return play(scope, Choices(script), traced=True)


def exhaust(scope: Scope, *, stop: bool = False, limit: int | None = None) -> Report:
    """Play every history of ``scope``, apart from those that come to a state where another history has been.

    Those with few decisions that differ from the default come first: a violation is found in its simplest form.
    The first one ends the search if it is to ``stop``.
    """
    report, began = Report(scope.name), time.process_time()
    seen: set[int] = set()
    waiting: deque[tuple[tuple[int, int], ...]] = deque([()])
    with quiet():
        while waiting and (limit is None or report.histories < limit):
            prefix = waiting.popleft()
            start = prefix[-1][0] + 1 if prefix else 0
            choices = Choices(dict(prefix))
            report.histories += 1
            sweep(report.histories)
            try:
                found = play(scope, choices, seen=seen, fresh=start)
            except PrunedError:
                found = None
            for place in range(start, len(choices.made)):
                waiting.extend((*prefix, (place, other)) for other in range(1, choices.widths[place]))
            if found is None:
                continue
            report.complete += 1
            if found.violations:
                report.found.append(attrs.evolve(found, number=report.histories))
                if stop:
                    break
    report.seconds = time.process_time() - began
    return report


def sample(seeds: range) -> Report:
    """Play one history of a mixed scope for each seed."""
    report, began = Report(), time.process_time()
    with quiet():
        for seed in seeds:
            found = play(mixed(seed), Drawn(seed))
            report.histories += 1
            sweep(report.histories)
            if found.violations:
                report.found.append(found)
    report.seconds = time.process_time() - began
    return report


@contextmanager
def quiet() -> Iterator[None]:
    """Leave out the log, because troubles are planned here, and collect garbage in between."""
    logger = logging.getLogger("brokerage_async")
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    gc.collect()
    if is_first := not gc.get_freeze_count():  # a test run has frozen its objects already
        gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        if is_first:
            gc.unfreeze()
        logger.setLevel(level)


def sweep(histories: int) -> None:
    """Collect garbage now and then."""
    if histories % 500 == 0:
        gc.collect()
