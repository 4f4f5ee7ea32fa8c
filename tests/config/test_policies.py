"""Retry policies and limits."""

from decimal import Decimal
from typing import Any

import attrs
import pytest

from brokerage_async.config import Limits, RetryPolicy
from brokerage_async.errors import ConfigurationError
from tests.tables import for_each


@for_each("arguments", [
        {"max_attempts": 0}, {"base_delay": -1}, {"max_delay": -1}, {"max_retry_after": -1}, {"budget": 0},
        {"max_attempts": None}, {"max_attempts": 2.5}, {"max_attempts": float("inf")}, {"budget": 0.5},
        {"jitter": 0.5}, {"base_delay": float("inf")}, {"max_delay": 10**400}, {"max_retry_after": float("inf")},
    ])  # fmt: skip
def test_senseless_retry_policy(arguments: Any) -> None:
    with pytest.raises(ConfigurationError, match=rf"RetryPolicy\.{next(iter(arguments))}"):
        RetryPolicy(**arguments)


def test_policies_compare_and_hash_and_may_be_switched_off() -> None:
    assert RetryPolicy.none().max_attempts == 1
    limits = Limits.unlimited()
    assert (limits.reads, limits.trades, limits.tokens, limits.adaptive) == (None, None, None, False)
    assert RetryPolicy(jitter=lambda: 0.5) == RetryPolicy()
    assert len({RetryPolicy(), RetryPolicy(), Limits(), Limits()}) == 2


@for_each("arguments", [{"reads": 0}, {"trades": -1}, {"tokens": 0}, {"reads_per_second": 0.0},
                                       {"reads": 2.5}, {"adaptive": "no"}])  # fmt: skip
def test_senseless_limits(arguments: Any) -> None:
    with pytest.raises(ConfigurationError, match=rf"Limits\.{next(iter(arguments))}"):
        Limits(**arguments)


@for_each("wrong", ["3", b"3", True, [], float("nan"), Decimal("NaN"), Decimal(3)])
@for_each("kind", [RetryPolicy, Limits])
def test_what_is_no_number_is_named(kind: Any, wrong: Any) -> None:
    for field in attrs.fields(kind):
        if field.name not in ("jitter", "adaptive", "per_operation"):
            with pytest.raises(ConfigurationError, match=field.name):
                kind(**{field.name: wrong})
    for rate in (wrong, 0):
        with pytest.raises(ConfigurationError, match=r"orders\.list"):
            Limits(per_operation={"orders.list": rate})
