"""What must hold after every seed, whatever has happened."""

from __future__ import annotations

import asyncio
from collections import Counter

from brokerage_async import Client
from brokerage_async.http.limiter import LaneName
from brokerage_async.observers import Attempt

from .chaos import HOUR, Plan
from .record import CallRecord, Record, Wire

RATE_OF_TOKEN_REQUESTS = 20
"""More requests than this to the token endpoint within a minute are hammering."""


def check_call(call: CallRecord, record: Record, tolerance: float) -> None:
    """The client's account of one call against the ledger; ``tolerance`` is the clock's."""
    name = f"call {call.number} {call.operation} ({call.result})"
    if call.ended is None:
        record.violate(f"{name} never ended")
        return
    asleep = sum(length for moment, length in record.naps if call.began <= moment <= call.ended)
    if call.deadline is not None and call.ended > call.began + call.deadline + asleep + tolerance:
        record.violate(f"{name} took {call.ended - call.began:.3f} s, deadline {call.deadline:g} s")
    done = sum(entry.processed for entry in call.entries)
    if call.effect == "mutate" and done > 1:
        record.violate(f"{name} was processed {done} times")
    if call.effect == "mutate" and call.promises_nothing_done and done:
        record.violate(f"{name} promises that nothing was done, and it was")
    if call.result == "ok" and not done:
        record.violate(f"{name} was never processed")
    if call.sends < len(call.entries):
        record.violate(f"{name}: {call.sends} sends, {len(call.entries)} arrivals")


def check_counters(record: Record, attempts: list[Attempt]) -> None:
    """The attempts that observers were told of against the sends."""
    told = Counter(attempt.outcome for attempt in attempts)
    sends = record.counts["sends reads"] + record.counts["sends trades"]
    answered = sum(told.values()) - told["abandoned"]
    if not answered <= sends <= sum(told.values()):
        record.violate(f"{sends} sends, but observers heard of {answered} to {sum(told.values())}")
    ended = sum(call.result == "ok" for call in record.calls.values())
    if told["success"] < ended:
        record.violate(f"{ended} calls succeeded, but observers heard of {told['success']} successes")


def check_tokens(record: Record) -> None:
    """The token endpoint is not hammered."""
    times = record.token_times
    for first, last in zip(times, times[RATE_OF_TOKEN_REQUESTS:], strict=False):
        if last - first < 60:
            record.violate(f"more than {RATE_OF_TOKEN_REQUESTS} token requests within a minute, from {first:.3f} s")
            break


def check_end(client: Client, wire: Wire, record: Record) -> None:
    """Nothing is left in a lane, on the wire, or running."""
    limiter = client.session.engine.limiter
    for name in LaneName:
        if (limiter[name].in_flight, limiter[name].waiting) != (0, 0):
            record.violate(
                f"lane {name} ends with {limiter[name].in_flight} inside and {limiter[name].waiting} waiting"
            )
    if +wire.in_flight:
        record.violate(f"requests in flight after closing: {dict(+wire.in_flight)}")
    if not wire.closed:
        record.violate("the transport was not closed")
    left = [task.get_name() for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    if left:
        record.violate(f"{len(left)} tasks left: {left[0]}")


def check_liveness(probe: CallRecord, plan: Plan, record: Record) -> None:
    """When all is calm again, calls succeed; with a revoked grant they say so."""
    if plan.revoked_at is None and probe.result != "ok":
        record.violate(f"a read after everything had calmed down ended with {probe.result}")
    if plan.revoked_at is not None and probe.result not in {"TokenError", "AuthenticationError"}:
        record.violate(f"a read with a revoked grant ended with {probe.result}")
    if probe.ended is not None and probe.ended > plan.length + HOUR:
        record.violate("it took an hour to calm down")
