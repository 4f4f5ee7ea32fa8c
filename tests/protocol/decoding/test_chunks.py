"""Huge lists are decoded in chunks, with the same result as in one go."""

import json
from collections.abc import Iterator
from functools import partial
from typing import Any
from unittest.mock import Mock, create_autospec

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerage_async import errors
from brokerage_async._generated import operations as ops
from brokerage_async._generated.converters import FutureOptionWire
from brokerage_async.protocol.decoding import chunks, codec, lenient
from brokerage_async.protocol.decoding.adaptive import REGISTRY, Plan
from brokerage_async.protocol.decoding.codec import Decoded
from brokerage_async.protocol.decoding.fields import wire_fields
from tests.protocol.values import raised
from tests.tables import for_each

CHAIN = ops.INSTRUMENTS_FUTURES_OPTION_CHAIN


@pytest.fixture(scope="module", autouse=True)
def _small_chunks() -> Iterator[None]:
    """Patch the chunks so small that short bodies are cut."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "SIZE", 400)
        patch.setattr(chunks, "COUNTED_SIZE", 50)
        patch.setattr(codec, "CHUNKED_FROM", 0)
        yield


def run(body: bytes, *, strict: bool = False) -> tuple[Decoded[Any], int]:
    steps, taken = codec.decode_chunks(CHAIN, body, strict=strict), 0
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value, taken
        taken += 1


def items(rows: Any) -> bytes:
    return json.dumps({"data": {"items": rows}}, separators=(",", ":")).encode()


def rows_of(count: int, **more: Any) -> list[dict[str, Any]]:
    product = {"code": "E", "itm-rule": '},{"active":'}
    return [
        {"active": True, "symbol": f"./ES {n}", "strike-price": f"{n}.50", "future-option-product": product, **more}
        for n in range(count)
    ]  # fmt: skip


texts = st.text(st.sampled_from('abc"\\[]{},: é\n'), max_size=12)
values = st.none() | st.booleans() | st.integers(-5, 5) | texts
nested = st.recursive(
    values, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=6
)
rows = st.lists(
    st.fixed_dictionaries({"symbol": texts}, optional={"extra-key": nested, "active": st.booleans(), "sx-id": values}),
    max_size=30,
)
styles = st.sampled_from([{"separators": (",", ":")}, {}, {"indent": 1}, {"ensure_ascii": False}])
contexts = st.sampled_from(["/chains", "/a[]b[]", '"items":[{', "]}"])


@given(rows=rows, style=styles, context=contexts, last=st.booleans())
def test_chunks_give_the_same_as_one_go(rows: Any, style: Any, context: str, last: bool) -> None:
    around = {"context": context, "pagination": {"total-pages": 1, "links": [None, {"a": []}]}}
    answer = {**around, "data": {"items": rows}} if last else {"data": {"more": 1, "items": rows}, **around}
    body = json.dumps(answer, **style).encode()
    assert run(body)[0] == codec.decode(CHAIN, body)


@given(cut=st.floats(0, 1), rows=st.integers(5, 30))
def test_a_truncated_body_is_an_error(cut: float, rows: int) -> None:
    body = json.dumps({"data": {"items": rows_of(rows)}, "context": "/x"}).encode()
    assert raised(errors.ResponseDecodeError, run, body[: int(len(body) * cut * 0.999)]).json_path == "$"


def test_a_chunk_has_about_the_intended_size() -> None:
    body = items(rows_of(100))
    chunker = chunks.Chunker.of(body)
    assert chunker is not None
    while chunker.closing is None:
        text = next(chunker.candidates())
        assert len(text) <= 400 * 1.3
        json.loads(text)
    assert json.loads(chunker.rest()) == {"data": {"items": [chunks.PLACE]}}


@for_each(
    "body",
    [
        b'{"data":{"symbol":"A"}}',
        b'{"data":{"items":[]}}',
        b'{"data":{"items":[7,8]}}',
        b'{"items":[{"symbol":"A"}]}',
        b'{"items":[{"symbol":"A"}],"data":{"items":[{"symbol":"B"}]}}',
        b'{"items":[{"symbol":"A"}],"data":[{"symbol":"B"}]}',
        b'{"items":[{"symbol":"A"}],"data":null}',
        b'{"data":{"symbol":"A"},"items":[{"symbol":"B"}]}',
        b'{"data":[{"symbol":"A"}],"data":{"items":[{"symbol":"B"}]}}',
        b'{"data":{"more":{"items":[{"symbol":"B"}]},"symbol":"C"}}',
        b'{"other":{"items":[{"symbol":"B"}]},"data":{"items":[{"symbol":"A"}]}}',
    ],
)
def test_a_body_without_rows_in_a_usual_place_is_decoded_in_one_go(body: bytes) -> None:
    assert run(body)[0] == codec.decode(CHAIN, body)


@for_each(
    "envelope",
    [
        '{"data":{"items":%s}}',
        '{"data":%s}',
        '{"items":%s}',
        '{"context":"/x","data" : %s}',
        '{"context":"/x","pagination":{"total-pages":1},"items":%s,"error":null}',
        '{"meta":{"items":[{"a":1}]},"links":[{"data":[{"b":2}]}],"data":{"items":%s}}',
        '{"data":{"more":{"items":[{"a":1}]},"items":%s}}',
    ],
)
def test_lists_in_any_place_are_decoded_in_steps(envelope: str, caplog: pytest.LogCaptureFixture) -> None:
    rows: list[Any] = [*rows_of(60), 7]
    rows[40]["strike-price"], rows[41]["new"] = "?", 1
    body = (envelope % json.dumps(rows, separators=(",", ":"))).encode()
    REGISTRY.reset()
    caplog.clear()
    expected, warnings = codec.decode(CHAIN, body), sorted(caplog.messages)
    REGISTRY.reset()
    caplog.clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(codec, "decode", None)  # Nothing is decoded in one go.
        decoded, steps = run(body)
    assert (decoded, len(decoded.value)) == (expected, 60)
    assert (decoded.value[40].extra, decoded.value[41].extra) == ({"strike-price": "?"}, {"new": 1})
    assert steps >= len(body) // 400
    assert sorted(caplog.messages) == warnings
    first = rows[0] | {"strike-price": "?"}  # found later than the place of the list
    for listed in (rows[:60], [first, *rows[1:60]]):
        body, reading = (envelope % json.dumps(listed)).encode(), (partial(codec.decode, CHAIN), run)
        whole, parts = (raised(errors.ResponseDecodeError, read, body, strict=True) for read in reading)
        assert (whole.json_path, str(whole)) == (parts.json_path, str(parts))


def test_many_places_that_look_like_rows_are_examined_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    examining = Mock(return_value=None)
    monkeypatch.setattr(chunks, "rows_path", examining)
    assert chunks.Chunker.of(b'{"x":[' + b'{"items":[{"a":1}]},' * 5_000 + b"1]}") is None
    assert examining.call_count <= chunks.MAX_OPENINGS


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows were built at a time, out of chunks of the usual size."""
    counts, build_rows = list[int](), lenient.build_rows

    def counting(plan: Plan, rows: Any, path: str, issues: Any) -> list[Any]:
        counts.append(len(rows))
        return build_rows(plan, rows, path, issues)

    for module in (lenient, codec):
        monkeypatch.setattr(module, "build_rows", counting)
    monkeypatch.setattr(chunks, "SIZE", 256 * 1024)
    return counts


def test_many_short_rows_are_built_a_few_at_a_time(built: list[int]) -> None:
    decoded, steps = run(b'{"data":{"items":[' + b",".join([b'{"symbol":"A"}'] * 20_000) + b"]}}")
    assert (len(decoded.value), sum(built)) == (20_000, 20_000)
    assert max(built) <= codec.ROWS_PER_STEP
    assert steps >= 20_000 / codec.ROWS_PER_STEP


class CountedRows(list[Any]):
    copied = 0

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        if not isinstance(index, slice):
            return found
        CountedRows.copied += len(found)
        return CountedRows(found)


def test_rows_of_a_chunk_are_copied_once_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    decoder, count = Plan.decoder, 5_000

    def counted(plan: Plan, form: Any) -> Any:
        return Mock(decode=lambda text: CountedRows(decoder(plan, form).decode(text)))

    monkeypatch.setattr(Plan, "decoder", counted)
    monkeypatch.setattr(codec, "ROWS_PER_STEP", 2)
    monkeypatch.setattr(chunks, "SIZE", 256 * 1024)
    assert len(run(items([{"symbol": "A"}] * count))[0].value) == count
    assert CountedRows.copied <= count


def _each_odd_in_another_field(count: int) -> list[dict[str, Any]]:
    keys = [key for key, field in wire_fields(FutureOptionWire).items() if field.child is None]
    return [{**row, keys[n % len(keys)]: {"odd": 1}} for n, row in enumerate(rows_of(count))]


MANY_KEYS, LONG_KEY = {f"key-{n}": 1 for n in range(70)}, {"k" * 200: 1}  # more than can be learned, and too long


@for_each("rows", [_each_odd_in_another_field(2_000), rows_of(2_000, **MANY_KEYS), rows_of(2_000, **LONG_KEY)])
def test_rows_that_do_not_fit_are_converted_and_read_few_at_a_time(rows: Any, built: list[int]) -> None:
    """A step looks at one batch: to convert it, or to find one adaptation to it."""
    REGISTRY.reset()
    most = 0
    for _ in codec.decode_chunks(CHAIN, items(rows)):
        most = max(most, sum(built))
        built.clear()
    assert 0 < most <= 2 * lenient.ROWS_PER_BATCH  # the batch, and its rows one by one


def test_one_long_row_is_not_counted_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counting the brackets of a nested chain takes longer than decoding it."""
    body = items([{"symbol": "A", "lines": [{"number": n, "of": [n]} for n in range(200)]}])
    counting = create_autospec(chunks.Chunker._counted_end, side_effect=chunks.Chunker._counted_end)
    monkeypatch.setattr(chunks.Chunker, "_counted_end", counting)
    decoded, steps = run(body)
    assert decoded == codec.decode(CHAIN, body)
    assert max(limit for (_, _, limit), _ in counting.call_args_list) < 400
    assert steps >= 2  # between reading and building


def test_rows_of_other_first_keys_are_cut_as_well_and_a_first_row_that_is_no_object_costs_only_itself() -> None:
    others = [{"symbol": "A"}, *rows_of(50), {"sx-id": "0"}, *({f"k{n}": [{}, {"a": "]"}]} for n in range(20))]
    rows = items(rows_of(60)).removeprefix(b'{"data":{"items":[')
    firsts = [b"null", b"7", b"[]", b'"},{"', b'"{\\"symbol\\":"']
    for body, count in [(items(others), 72), *((b'{"data":{"items":[' + first + b"," + rows, 60) for first in firsts)]:
        decoded, steps = run(body)
        assert decoded == codec.decode(CHAIN, body)
        assert len(decoded.value) == count
        assert steps > 10


def test_invalid_json_around_the_rows_or_utf_8_in_any_is_an_error() -> None:
    endless = b'{"data":{"items":[{"symbol":"' + b'\\"' * 100_000  # minutes, if scanned at every quote
    body = json.dumps({"data": {"items": rows_of(60)}}).encode()
    before = [mark + body for mark in (b"\xef\xbb\xbf", b"\xff\xfe")]
    after = [body + text for text in (b"x", b"}", b',"data":', b"\x00")]
    for broken in (*before, *after, endless, body.replace(b"./ES 40", b"./ES \xff")):
        assert raised(errors.ResponseDecodeError, run, broken, match="not JSON").json_path == "$"


def test_rows_under_a_key_that_comes_again_are_read_in_one_go_and_as_strictly() -> None:
    body = b'{"data": {"items": [{"symbol": "A"}]}, "data": {"items": [{"symbol": ["?"]}]}}'
    assert [row.extra for row in run(body)[0].value] == [{"symbol": ["?"]}]
    raised(errors.ResponseDecodeError, run, body, strict=True, match="symbol")
