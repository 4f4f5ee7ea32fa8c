"""Huge lists are decoded in slices, with the same result as in one go."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerage_async import errors
from brokerage_async._generated import operations as ops
from brokerage_async.protocol.decoding import adaptive as learning
from brokerage_async.protocol.decoding import chunks as slices
from brokerage_async.protocol.decoding import codec
from brokerage_async.protocol.decoding import lenient as tolerance
from brokerage_async.protocol.decoding.codec import Decoded

CHAIN = ops.INSTRUMENTS_FUTURES_OPTION_CHAIN


@pytest.fixture(autouse=True)
def _nothing_learned() -> Iterator[None]:
    learning.forget()
    tolerance._told.clear()
    yield
    learning.forget()


@pytest.fixture(scope="module", autouse=True)
def _small_slices() -> Iterator[None]:
    """Slices so small that short bodies are cut."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slices, "SIZE", 400)
        patch.setattr(slices, "COUNTED_SIZE", 50)
        patch.setattr(codec, "SLICED_FROM", 0)
        yield


def run(body: bytes, *, strict: bool = False) -> tuple[Decoded[Any], int]:
    """The result, and the number of steps that it took."""
    steps, taken = codec.decode_slices(CHAIN, body, strict=strict), 0
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value, taken
        taken += 1


def rows_of(count: int, **more: Any) -> list[dict[str, Any]]:
    product = {"code": "E", "itm-rule": '},{"active":'}
    return [
        {"active": True, "symbol": f"./ES {n}", "strike-price": f"{n}.50", "future-option-product": product, **more}
        for n in range(count)
    ]  # fmt: skip


texts = st.text(st.sampled_from('abc"\\[]{},: é\n'), max_size=12)
values = st.none() | st.booleans() | st.integers(-5, 5) | texts
nested = st.recursive(
    values,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
rows = st.lists(
    st.fixed_dictionaries({"symbol": texts}, optional={"extra-key": nested, "active": st.booleans(), "sx-id": values}),
    max_size=30,
)
styles = st.sampled_from([{"separators": (",", ":")}, {}, {"indent": 1}, {"ensure_ascii": False}])
contexts = st.sampled_from(["/chains", "/a[]b[]", '"items":[{', "]}"])


@given(rows=rows, style=styles, context=contexts, last=st.booleans())
def test_slices_give_what_one_go_gives(rows: Any, style: Any, context: str, last: bool) -> None:
    around = {"context": context, "pagination": {"total-pages": 1, "links": [None, {"a": []}]}}
    answer = {**around, "data": {"items": rows}} if last else {"data": {"more": 1, "items": rows}, **around}
    body = json.dumps(answer, **style).encode()
    assert run(body)[0] == codec.decode(CHAIN, body)


@given(cut=st.floats(0, 1), rows=st.integers(5, 30))
def test_a_truncated_body_is_an_error(cut: float, rows: int) -> None:
    body = json.dumps({"data": {"items": rows_of(rows)}, "context": "/x"}).encode()
    with pytest.raises(errors.ResponseDecodeError) as caught:
        run(body[: int(len(body) * cut * 0.999)])
    assert caught.value.json_path == "$"


def test_there_are_as_many_steps_as_slices() -> None:
    body = json.dumps({"data": {"items": rows_of(100)}, "context": "/x"}, separators=(",", ":")).encode()
    decoded, steps = run(body)
    assert len(decoded.value) == 100
    assert decoded.context == "/x"
    assert steps >= len(body) // 400


def test_a_slice_is_about_as_long_as_it_should_be() -> None:
    body = json.dumps({"data": {"items": rows_of(100)}}, separators=(",", ":")).encode()
    slicer = slices.Slicer.of(body)
    assert slicer is not None
    while not slicer.finished:
        text, position, closing = next(slicer.guesses())
        assert len(text) <= 400 * 1.3
        json.loads(text)
        slicer.take(position, closing)
    assert json.loads(slicer.rest()) == {"data": {"items": [slices.PLACE]}}


def test_what_does_not_fit_in_one_slice_costs_nothing_elsewhere(caplog: pytest.LogCaptureFixture) -> None:
    rows = rows_of(60)
    rows[40]["strike-price"] = "?"
    rows[41]["new"] = 1
    body = json.dumps({"data": {"items": [*rows[:50], 7, *rows[50:]]}}, separators=(",", ":")).encode()
    value = run(body)[0].value
    assert len(value) == 60
    assert (value[40].extra, value[41].extra) == ({"strike-price": "?"}, {"new": 1})
    assert [record.getMessage().split(": ")[1] for record in caplog.records] == [
        "$.data.items[].strike-price", "$.data.items[]",
    ]  # fmt: skip
    with pytest.raises(errors.ResponseDecodeError) as caught:
        run(body, strict=True)
    assert caught.value.json_path == "$.data.items[40].strike-price"


@pytest.mark.parametrize(
    "body",
    [b'{"data":{"symbol":"A"}}', b'{"data":{"items":[]}}', b'{"data":{"items":[7,8]}}', b'{"items":[{"symbol":"A"}]}',
     b'{"other":{"items":[{"symbol":"B"}]},"data":{"items":[{"symbol":"A"}]}}'],
)  # fmt: skip
def test_a_body_that_is_cut_in_vain_is_decoded_in_one_go(body: bytes) -> None:
    assert run(body)[0] == codec.decode(CHAIN, body)


def test_rows_that_begin_differently_are_cut_all_the_same() -> None:
    rows = [{"symbol": "A"}, *rows_of(50), {"sx-id": "0"}, *({f"k{n}": [{}, {"a": "]"}]} for n in range(20))]
    body = json.dumps({"data": {"items": rows}}, separators=(",", ":")).encode()
    decoded, steps = run(body)
    assert decoded == codec.decode(CHAIN, body)
    assert steps > 10


@pytest.mark.parametrize("first", [b"null", b"7", b"[]", b'"},{"', b'"{\\"symbol\\":"'])
def test_a_first_row_that_is_no_object_costs_no_more_than_itself(first: bytes) -> None:
    rows = json.dumps(rows_of(60), separators=(",", ":")).encode()
    body = b'{"data":{"items":[' + first + b"," + rows[1:] + b"}}"
    decoded, steps = run(body)
    assert decoded == codec.decode(CHAIN, body)
    assert len(decoded.value) == 60
    assert steps > 10


def test_text_that_does_not_end_is_looked_at_once() -> None:
    body = b'{"data":{"items":[{"symbol":"' + b'\\"' * 100_000  # minutes, if at every quote
    with pytest.raises(errors.ResponseDecodeError) as caught:
        run(body)
    assert caught.value.json_path == "$"


@pytest.mark.parametrize("after", [b"x", b"}", b',"data":', b"\x00"])
def test_what_follows_the_rows_is_json_as_well(after: bytes) -> None:
    body = json.dumps({"data": {"items": rows_of(30)}}).encode() + after
    with pytest.raises(errors.ResponseDecodeError, match="not JSON") as caught:
        run(body)
    assert caught.value.json_path == "$"


@pytest.mark.parametrize("mark", [b"\xef\xbb\xbf", b"\xff\xfe"])
def test_what_is_before_the_rows_is_json_as_well(mark: bytes) -> None:
    with pytest.raises(errors.ResponseDecodeError, match="not JSON"):
        run(mark + json.dumps({"data": {"items": rows_of(30)}}).encode())


def test_bytes_that_are_no_text_are_an_error_in_any_row() -> None:
    body = json.dumps({"data": {"items": rows_of(60)}}).encode()
    with pytest.raises(errors.ResponseDecodeError, match="not JSON"):
        run(body.replace(b"./ES 40", b"./ES \xff"))
