"""Runs one seed."""

import asyncio
import contextlib
import hashlib
import logging
import random
from typing import Any

import attrs

from brokerage_async import Client
from brokerage_async.observers import Attempt
from brokerage_async.simulator import Simulator
from brokerage_async.simulator.virtual_run import DeadlockError
from tests.loops import run_in

from .bugs import BUGS
from .chaos import HOUR, Plan, RandomFaults, plan_of
from .checks import check_call, check_counters, check_end, check_liveness, check_tokens
from .quick_loop import StuckError
from .record import CALL, Record, RecordingTransport
from .stages import IN_MEMORY, Stage
from .traders import Trader

CALM_PERIOD = 180.0


@attrs.frozen
class Result:
    seed: int
    violations: tuple[str, ...]
    history: tuple[str, ...]
    calls: int

    @property
    def digest(self) -> str:
        return hashlib.sha256("\n".join(self.history).encode()).hexdigest()[:16]


def simulate(seed: int, bug: str | None = None, *, stage: Stage = IN_MEMORY, length: float = HOUR) -> Result:
    """Run ``length`` seconds of ``seed``, optionally with a planted bug, without the warnings of planned faults."""
    record, plan = Record(), plan_of(seed, length)
    logging.disable(logging.CRITICAL)
    try:
        with BUGS[bug] if bug is not None else contextlib.nullcontext():
            run_in(stage.new_loop(), _play(seed, plan, stage, record))
    except (DeadlockError, StuckError) as error:
        record.violations.append(str(error))
    except Exception as error:
        record.violations.append(f"the run failed with {type(error).__name__}: {error}")
    finally:
        logging.disable(logging.NOTSET)
    return Result(seed, tuple(record.violations), tuple(record.history), len(record.calls))


class RandomCanceller:
    """Cancels one call at the moment when another gets a response, as a task group does."""

    def __init__(self, record: Record, seed: int, share: float) -> None:
        self._record = record
        self._rng = random.Random(f"meddler {seed}")
        self._share = share / 2

    def __call__(self, attempt: Attempt) -> None:
        others = [number for number in self._record.running if number != CALL.get()]
        if others and self._rng.random() < self._share:
            self._record.cancel(self._rng.choice(others))


async def _play(seed: int, plan: Plan, stage: Stage, record: Record) -> None:
    sim = Simulator(seed=seed, equities=60, equity_options=20, chain_rows=20, warrants=5)
    random_faults = RandomFaults(plan, seed, asyncio.get_running_loop().time)
    sim.brokerage.faults = random_faults  # type: ignore[assignment]
    sim.latency = random_faults.latency
    attempts: list[Attempt] = []
    async with stage.connect(sim, plan, record) as inner:
        transport = RecordingTransport(inner, record, plan.limits, plan.retry)
        client = Client(
            sim.environment,
            sim.credentials,
            timeout=plan.timeout,
            deadline=plan.deadline,
            retry=plan.retry,
            limits=plan.limits,
            observers=[attempts.append, RandomCanceller(record, seed, plan.cancelled)],
            transport=transport,
        )
        async with client:
            traders = [Trader(client, sim, plan, record, f"trader {seed} {n}") for n in range(plan.traders)]
            events = _schedule(plan, sim, record)
            await asyncio.gather(*(trader.trade() for trader in traders))
            for event in events:
                event.cancel()
            random_faults.over, sim.rate_limit = True, None
            await asyncio.sleep(CALM_PERIOD)
            await traders[0].probe()  # the first may still use a token that has been revoked
            probe = await traders[0].probe()
        check_liveness(probe, plan, record)
        await asyncio.sleep(CALM_PERIOD)  # delayed requests have arrived by now
    check_end(client, transport, record)
    for call in record.calls.values():
        check_call(call, record, stage.tolerance)
    check_counters(record, attempts)
    check_tokens(record)
    record.write(" ".join(f"{name}={count}" for name, count in sorted(record.counts.items())))


def _schedule(plan: Plan, sim: Simulator, record: Record) -> list[asyncio.TimerHandle]:
    """Schedule the planned events: revoked tokens, clock changes, sleeping machines, rate limits."""
    loop = asyncio.get_running_loop()

    def sleep(length: float) -> None:
        record.sleeps.append((loop.time(), length))
        loop.jump(length)

    def limit(rate: float | None) -> None:
        sim.rate_limit = rate

    def at(moment: float, what: str, act: Any, *arguments: Any) -> asyncio.TimerHandle:
        def happen() -> None:
            record.write(f"* {what}")
            act(*arguments)

        return loop.call_at(moment, happen)

    events = [at(moment, "tokens revoked", sim.expire_tokens) for moment in plan.expiries]
    events += [at(moment, "the service's clock is advanced", sim.clock.advance, by) for moment, by in plan.leaps]
    events += [at(moment, "the machine sleeps", sleep, by) for moment, by in plan.sleeps]
    for begins, ends, rate in plan.rate_limits:
        events += [at(begins, f"{rate} requests per second", limit, rate), at(ends, "no rate limit", limit, None)]
    if plan.revoked_at is not None:
        events.append(at(plan.revoked_at, "the grant is revoked", sim.revoke))
    return events
