"""Invariants that must hold after every seed."""

import asyncio
from collections import Counter

from brokerage_async import Client
from brokerage_async.http.limiter import LaneName
from brokerage_async.observers import Attempt

from .chaos import HOUR, Plan
from .record import CallRecord, Record, RecordingTransport

MAX_TOKEN_REQUESTS_PER_MINUTE = 20
"""Maximum requests to the token endpoint within a minute."""


def check_call(call: CallRecord, record: Record, tolerance: float) -> None:
    """Compare one call with the ledger; ``tolerance`` is the clock's."""
    name = f"call {call.number} {call.operation} ({call.result})"
    if call.ended is None:
        record.violate(f"{name} never ended")
        return
    asleep = sum(length for moment, length in record.sleeps if call.began <= moment <= call.ended)
    if call.deadline is not None and call.ended > call.began + call.deadline + asleep + tolerance:
        record.violate(f"{name} took {call.ended - call.began:.3f} s, deadline {call.deadline:g} s")
    done = sum(entry.processed for entry in call.records)
    if call.effect == "mutate" and done > 1:
        record.violate(f"{name} was processed {done} times")
    if call.effect == "mutate" and call.promises_nothing_done and done:
        record.violate(f"{name} reports that nothing was done, but it was")
    if call.result == "ok" and not done:
        record.violate(f"{name} was never processed")
    if call.sends < len(call.records):
        record.violate(f"{name}: {call.sends} sends, {len(call.records)} arrivals")


def check_counters(record: Record, attempts: list[Attempt]) -> None:
    observed = Counter(attempt.outcome for attempt in attempts)
    sends = record.counts["sends reads"] + record.counts["sends trades"]
    answered = sum(observed.values()) - observed["abandoned"]
    if not answered <= sends <= sum(observed.values()):
        record.violate(f"{sends} sends, but observers saw {answered} to {sum(observed.values())}")
    ended = sum(call.result == "ok" for call in record.calls.values())
    if observed["success"] < ended:
        record.violate(f"{ended} calls succeeded, but observers saw {observed['success']} successes")


def check_tokens(record: Record) -> None:
    times = record.token_times
    for first, last in zip(times, times[MAX_TOKEN_REQUESTS_PER_MINUTE:], strict=False):
        if last - first < 60:
            record.violate(
                f"more than {MAX_TOKEN_REQUESTS_PER_MINUTE} token requests within a minute, from {first:.3f} s"
            )
            break


def check_end(client: Client, transport: RecordingTransport, record: Record) -> None:
    limiter = client.session.engine.limiter
    for name in LaneName:
        if (limiter[name].in_flight, limiter[name].waiting) != (0, 0):
            record.violate(
                f"lane {name} ends with {limiter[name].in_flight} inside and {limiter[name].waiting} waiting"
            )
    if +transport.in_flight:
        record.violate(f"requests in flight after closing: {dict(+transport.in_flight)}")
    if not transport.closed:
        record.violate("the transport was not closed")
    leftover = [task.get_name() for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    if leftover:
        record.violate(f"{len(leftover)} tasks left: {leftover[0]}")


def check_liveness(probe: CallRecord, plan: Plan, record: Record) -> None:
    if plan.revoked_at is None and probe.result != "ok":
        record.violate(f"a read after the faults ended with {probe.result}")
    if plan.revoked_at is not None and probe.result not in {"TokenError", "AuthenticationError"}:
        record.violate(f"a read with a revoked grant ended with {probe.result}")
    if probe.ended is not None and probe.ended > plan.length + HOUR:
        record.violate("recovery took an hour")
