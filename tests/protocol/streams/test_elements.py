"""Large arrays are parsed some elements at a time."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerage_async.protocol.streams import elements
from brokerage_async.protocol.streams.elements import elements_of

SCALARS = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=30) | st.sampled_from('"],{\\')
FLAT = st.lists(SCALARS, max_size=4) | st.dictionaries(st.text(max_size=4), SCALARS, max_size=4)
NESTED = st.lists(SCALARS | FLAT, max_size=4) | st.dictionaries(st.text(max_size=4), FLAT, max_size=3)


@given(st.lists(SCALARS | FLAT | NESTED, max_size=200), st.sampled_from([None, 1]), st.integers(200, 900))
def test_elements_of_any_array_come_in_order(values: list[Any], indent: int | None, size: int) -> None:
    text = json.dumps(values, indent=indent)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            elements, "LARGE", max(size, *(len(json.dumps(each, indent=indent)) * 3 for each in [0, *values]))
        )
        parts = list(elements_of(f"{text}, 7]", 1))
    assert [value for part, _ in parts for value in part] == values
    assert parts[-1][1] == len(text)


def test_elements_that_are_not_json_or_too_long_are_refused() -> None:
    cases = [
        "",
        "1",
        "1,",
        "1,,2]",
        "}",
        "[" * 9 + "]" * 10,
        "1 2]",
        '"a',
        "x]",
        f'"{"x" * 30_000}"]',
        "9" * 30_000 + "]",
    ]
    assert [case for case in cases if not refuses(case)] == []


def refuses(text: str) -> bool:
    try:
        return not list(elements_of(text, 0))
    except ValueError:
        return True
