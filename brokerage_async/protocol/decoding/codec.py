"""From the bytes of a body to models, and from models to bytes.

A body is decoded straight into wire structs and built; only when that fails is it looked at as untyped JSON, value by
value. Huge lists are decoded in steps, so that an event loop gets its turns in between.
"""

from __future__ import annotations

import gc
from collections.abc import Generator
from decimal import Decimal
from functools import lru_cache
from typing import Any, Generic, TypeVar, cast

import attrs
import msgspec

from ..._generated.converters import WIRES, Wire
from ..._generated.models import Pagination
from ...errors import InvalidRequestError, ResponseDecodeError
from ...operation import Operation, Shape
from .adaptive import arrange, current, is_arranged
from .chunks import PLACE, SIZE, Slicer
from .fields import layout
from .lenient import UNREADABLE, Findings, kind_of, parse, structure_one, structure_rows, structure_steps

__all__ = ["Decoded", "decode", "decode_slices", "encode"]

T = TypeVar("T")
R = TypeVar("R")

#: Bodies below this size are decoded in one go.
SLICED_FROM = 512 * 1024
#: From this size on it pays to look at the order of the keys first.
ARRANGED_FROM = 64 * 1024


@attrs.frozen
class Decoded(Generic[T]):
    """What a success body holds: the ``value``, and around it ``pagination`` and ``context`` where it sent them.

    ``error`` is the raw JSON of an error that stands beside the data all the same, None (or empty) where there is none.
    """

    value: T
    pagination: Pagination | None = None
    context: str | None = None
    error: Any = None


class _Items(msgspec.Struct, Generic[R], gc=False):
    items: list[R]


class _List(msgspec.Struct, Generic[R], gc=False):
    data: _Items[R]
    context: Any = None
    pagination: Any = None
    error: Any = None


class _Item(msgspec.Struct, Generic[R], gc=False):
    data: R
    context: Any = None
    pagination: Any = None
    error: Any = None


@lru_cache(maxsize=512)
def _decoder(wire: type[Wire], as_list: bool, bare: bool) -> msgspec.json.Decoder[Any]:
    form: Any = wire if bare else _List[wire] if as_list else _Item[wire]  # type: ignore[valid-type]
    return msgspec.json.Decoder(form, float_hook=Decimal)


def decode(operation: Operation[T], body: bytes, *, strict: bool = False) -> Decoded[T]:
    """What a success body holds.

    What does not fit the schema is kept raw and told once (see ``tolerance``). Raises ResponseDecodeError for a body
    in which nothing of the kind can be found, and with ``strict`` for everything that would otherwise be told.
    """
    if operation.result is None:
        return Decoded(cast("T", None))
    findings = Findings(operation.name, strict)
    bare = operation.shape is Shape.BARE
    as_list = operation.shape in (Shape.MANY, Shape.PAGE)
    if as_list and len(body) >= ARRANGED_FROM and not is_arranged(operation.result):
        _arrange(operation.result, Slicer.of(body))
    decoder = _decoder(current(WIRES[operation.result]), as_list, bare)
    try:
        decoded = decoder.decode(body)
        if bare:
            return Decoded(decoded.build())
        value: Any = [row.build() for row in decoded.data.items] if as_list else decoded.data.build()
    except UNREADABLE:
        return _decode_untyped(operation, body, findings)
    return _surrounded(value, decoded.context, decoded.pagination, decoded.error, findings)


def _arrange(model: type[Any], slicer: Slicer | None) -> None:
    row = slicer.first_row() if slicer is not None else None
    if isinstance(row, dict):
        arrange(model, row)


def decode_slices(operation: Operation[T], body: bytes, *, strict: bool = False) -> Generator[None, None, Decoded[T]]:
    """The same in steps of a few milliseconds; the result is what the generator returns."""
    in_slices = len(body) >= SLICED_FROM and operation.shape in (Shape.MANY, Shape.PAGE)
    slicer = Slicer.of(body) if in_slices else None
    if slicer is None or operation.result is None:
        return decode(operation, body, strict=strict)
    findings = Findings(operation.name, strict)
    models: list[Any] = []
    if not is_arranged(operation.result):
        _arrange(operation.result, slicer)
        yield
    _rows_decoder(current(WIRES[operation.result]))
    yield
    until_sweep = sweep_after = _slices_between_sweeps(body)
    while not slicer.finished:
        for text, position, closing in slicer.guesses():
            rows = yield from _decode_slice(operation.result, text, len(models), findings)
            if rows is not None:
                models += rows
                slicer.take(position, closing)
                break
        else:
            raise _undecodable(operation, "$", "the body is not JSON, or not all of it arrived")
        yield
        until_sweep -= 1
        if not until_sweep:
            gc.collect(1)
            until_sweep = sweep_after
            yield
    try:
        rest = parse(slicer.rest())
    except ValueError:
        raise _undecodable(operation, "$", "the body is not JSON, or not all of it arrived") from None
    if not isinstance(rest, dict) or not isinstance(rest.get("data"), dict) or rest["data"].get("items") != [PLACE]:
        return decode(operation, body, strict=strict)
    return _surrounded(models, rest.get("context"), rest.get("pagination"), rest.get("error"), findings)


def _slices_between_sweeps(body: bytes) -> int:
    """After how many slices the young objects are looked at; -1 for never.

    Where the collector lets many of them come together, it takes longer over them than any other step. Where it comes
    by often of its own accord, or not at all, it is left alone.
    """
    often, times, *_ = gc.get_threshold()
    return max(8, len(body) // SIZE // 5) if gc.isenabled() and often * times > 10_000 else -1


def _decode_slice(
    model: type[Any], text: bytes, offset: int, findings: Findings
) -> Generator[None, None, list[Any] | None]:
    """The models of one slice; None when it is no list, which means that it was cut in the wrong place."""
    try:
        return [row.build() for row in _rows_decoder(current(WIRES[model])).decode(text)]
    except UNREADABLE:
        try:
            rows = parse(text)
        except ValueError:
            return None
    return (yield from structure_steps(model, rows, "$.data.items", findings, offset))


@lru_cache(maxsize=128)
def _rows_decoder(wire: type[Wire]) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(list[wire], float_hook=Decimal)  # type: ignore[valid-type]


def _decode_untyped(operation: Operation[T], body: bytes, findings: Findings) -> Decoded[T]:
    """Decode by way of untyped JSON, where the fast way met something unexpected."""
    try:
        raw = parse(body)
    except ValueError as error:
        raise _undecodable(operation, "$", f"the body is not JSON: {error}") from None
    if not isinstance(raw, dict):
        raise _undecodable(operation, "$", f"expected an object, got {kind_of(raw)}")
    model: Any = operation.result
    if operation.shape is Shape.BARE:
        return Decoded(structure_one(model, raw, "$", findings))
    data = raw.get("data")
    value: Any
    if operation.shape is Shape.ONE:
        one, path = _find_one(operation, raw, data, findings)
        value = structure_one(model, one, path, findings)
    else:
        rows, path = _find_rows(operation, raw, data, findings)
        value = structure_rows(model, rows, path, findings)
    beside = raw.get("error") if "data" in raw else None
    return _surrounded(value, raw.get("context"), raw.get("pagination"), beside, findings)


def _find_one(operation: Operation[Any], raw: Any, data: Any, findings: Findings) -> tuple[Any, str]:
    """The single resource: under ``data``, as the one item of a list there, or the body itself."""
    if isinstance(data, dict):
        items = data.get("items")
        if not isinstance(items, list) or "items" in layout(WIRES[_model(operation)]):
            return data, "$.data"
        if len(items) == 1:
            return items[0], "$.data.items[0]"
        raise _undecodable(operation, "$.data.items", f"expected one item, got {len(items)}")
    if "data" not in raw and _resembles(operation, raw):
        findings.report("$", "the resource is not under data")
        return raw, "$"
    raise _undecodable(operation, "$.data", f"expected an object, got {kind_of(data)}")


def _find_rows(operation: Operation[Any], raw: Any, data: Any, findings: Findings) -> tuple[list[Any], str]:
    """The rows: under ``data.items``, under ``data``, or a single resource there as the only one.

    An empty list is never made up: a body in which no rows can be found is an error, lest orders seem to be absent.
    """
    if isinstance(data, list):
        findings.report("$.data", "expected an object with items, got a list")
        return data, "$.data"
    if isinstance(data, dict):
        items = data.get("items")
        if isinstance(items, list):
            return items, "$.data.items"
        if "items" in data:
            if items is None:
                findings.report("$.data.items", "expected a list, got null")
                return [], "$.data.items"
            raise _undecodable(operation, "$.data.items", f"expected a list, got {kind_of(items)}")
        if _resembles(operation, data):
            return [data], "$.data"
    if isinstance(raw.get("items"), list):
        findings.report("$", "the items are not under data")
        return raw["items"], "$.items"
    raise _undecodable(operation, "$.data.items", f"expected a list, got {kind_of(data)} under data")


def _resembles(operation: Operation[Any], raw: dict[str, Any]) -> bool:
    return not raw.keys().isdisjoint(layout(WIRES[_model(operation)]))


def _model(operation: Operation[Any]) -> type[Any]:
    return cast("type[Any]", operation.result)


def _surrounded(value: Any, context: Any, pagination: Any, error: Any, findings: Findings) -> Decoded[Any]:
    """The value with what stands around it, as far as it can be read."""
    if context is not None and not isinstance(context, str):
        findings.report("$.context", f"expected text, got {kind_of(context)}")
        context = None
    if pagination is not None and not isinstance(pagination, dict):
        findings.report("$.pagination", f"expected an object, got {kind_of(pagination)}")
        pagination = None
    page = None if pagination is None else structure_one(Pagination, pagination, "$.pagination", findings)
    return Decoded(value, page, context, error)


def _undecodable(operation: Operation[Any], path: str, reason: str) -> ResponseDecodeError:
    return ResponseDecodeError(
        f"{path}: {reason}", json_path=path, operation=operation.name, method=operation.method, path=operation.path
    )


# -- requests ---------------------------------------------------------------------------------------------------------

_ENCODER = msgspec.json.Encoder(decimal_format="number")


def encode(model: Any) -> bytes:
    """The JSON of a request model, fields that are None left out.

    Raises InvalidRequestError for values that JSON or the service cannot take, such as NaN or a float for a Decimal.
    """
    wire = WIRES.get(type(model))
    if wire is None:
        raise InvalidRequestError(f"expected a model, got {type(model).__name__}")
    try:
        return _ENCODER.encode(wire.of(model))
    except (TypeError, ValueError, AttributeError, msgspec.MsgspecError) as error:
        raise InvalidRequestError(f"{type(model).__name__} cannot be sent: {error}") from None
