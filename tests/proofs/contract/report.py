"""Report: the documented statuses of every operation that were reached, and those that were not."""

from collections import Counter
from collections.abc import Iterable, Mapping

from tests.schema.bundle import OPERATIONS

NO_CAUSE: dict[tuple[str, str], str] = {
    ("market_data.quote_token", "404"): "every user of the simulator is a customer",
    ("backtests.available_dates", "400"): "the operation has no parameters",
}
"""Documented statuses that nothing can cause here."""


def missing(reached: Mapping[str, Iterable[int]]) -> list[tuple[str, str]]:
    return [
        (name, status)
        for name, operation in OPERATIONS.items()
        for status in operation["responses"]
        if not any(status in (str(each), f"{each // 100}XX") for each in reached.get(name, ()))
    ]


def lines(reached: Mapping[str, Counter[int]]) -> list[str]:
    """Return the report, one line per operation and a summary."""
    left = missing(reached)
    text = [
        f"{name:45} {' '.join(f'{status}:{count}' for status, count in sorted(reached[name].items()))}"
        for name in OPERATIONS
    ]
    documented = sum(len(operation["responses"]) for operation in OPERATIONS.values())
    good = sum(any(200 <= status < 300 for status in reached[name]) for name in OPERATIONS)
    text += [
        f"{good} of {len(OPERATIONS)} operations reached with 2xx,",
        f"{documented - len(left)} of {documented} documented statuses reached",
    ]
    return text + [
        f"not reached: {name} {status}: {NO_CAUSE.get((name, status), 'NO REASON')}" for name, status in left
    ]
