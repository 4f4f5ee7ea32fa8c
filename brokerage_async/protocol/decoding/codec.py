"""Decodes the bytes of bodies into models, huge lists in steps, and encodes models into bytes."""

from __future__ import annotations

import gc
from collections.abc import Generator
from itertools import islice
from typing import Any, Generic, Required, TypedDict, TypeVar, cast

import msgspec

from ..._generated.models import Pagination
from ..._wire import emptying
from ...errors import InvalidRequestError, ResponseDecodeError
from ...operation import Operation, Shape
from ..registry import wires
from .adaptive import REGISTRY, DecoderRegistry
from .chunks import PLACE, SIZE, Chunker
from .fields import UNREADABLE, wire_fields
from .issues import IGNORED, READ, Issues, describe
from .lenient import ROWS_PER_BATCH, build_rows, parse, structure_one, structure_rows, structure_steps

T = TypeVar("T")
R = TypeVar("R")

CHUNKED_FROM = 64 * 1024  # bytes from which lists are decoded in steps
ROWS_PER_STEP = 512  # rows that are built between two turns of an event loop
MAX_READERS = 1024  # operations whose decoder is at hand


class Decoded(msgspec.Struct, Generic[T], frozen=True):
    """The content of a success body: the ``value``, and ``pagination`` and ``context`` where the service sent them.

    ``error`` is the raw JSON of an error beside the data, None (or empty) without one.
    """

    value: T
    pagination: Pagination | None = None
    context: str | None = None
    error: Any = None


class _Items(TypedDict, Generic[R]):
    items: list[R]


class _Envelope(TypedDict, Generic[R], total=False):
    data: Required[R]
    context: Any
    pagination: Any
    error: Any


_List: Any = _Envelope[_Items[R]]  # type: ignore[valid-type]
_FORMS = {Shape.MANY: _List, Shape.PAGE: _List, Shape.BARE: None, Shape.BARE_MANY: list}
_UNUSUAL = {  # reports of rows in an unusual place
    "$.data": ("$.data", "expected an object with items, got a list", READ),
    "$.items": ("$", "the items are not under data", READ),
}


def decode(
    operation: Operation[T], body: bytes, *, strict: bool = False, registry: DecoderRegistry = REGISTRY
) -> Decoded[T]:
    """Decode a success body.

    A value that does not fit the schema is kept raw and reported once (see `lenient`). Raises ResponseDecodeError for
    a body without the expected resource, and with ``strict`` for everything that would otherwise be reported.
    """
    if operation.result is None:
        return Decoded(cast("T", None))
    issues = Issues(operation.name, strict, registry)
    if operation.result is str:  # a bare array of strings. Integers are taken as well
        try:
            return Decoded(cast("T", [str(item) for item in msgspec.json.decode(body, type=list[str | int])]))
        except msgspec.MsgspecError as error:
            raise _undecodable(operation, "$", f"the body is not an array of strings: {error}") from None
    readers, shape = registry.readers, operation.shape
    if (reader := readers.get(operation)) is None:
        plan = registry.plan(wires()[operation.result])
        reader = plan, plan.decoder(_FORMS.get(shape, _Envelope))
        if len(readers) < MAX_READERS:
            readers[operation] = reader
    plan, decoder = reader
    try:
        found = decoder.decode(body)
        if shape is Shape.MANY or shape is Shape.PAGE:
            value = build_rows(plan, found["data"]["items"], "$.data.items[]", issues)
        elif shape is Shape.BARE_MANY:
            return Decoded(cast("T", build_rows(plan, found, "$[]", issues)))
        elif shape is Shape.BARE:
            return Decoded(build_rows(plan, [found], "$", issues)[0])
        else:
            [value] = build_rows(plan, [found["data"]], "$.data", issues)
    except UNREADABLE:
        return _decode_untyped(operation, body, issues)
    return _surrounded(value, found, issues)


def decode_chunks(
    operation: Operation[T], body: bytes, *, strict: bool = False, registry: DecoderRegistry = REGISTRY
) -> Generator[None, None, Decoded[T]]:
    """Decode in steps of a few milliseconds. The generator returns the same as `decode`."""
    in_chunks = len(body) >= CHUNKED_FROM and operation.shape in (Shape.MANY, Shape.PAGE)
    chunker = Chunker.of(body) if in_chunks else None
    if chunker is None or operation.result is None:
        return decode(operation, body, strict=strict, registry=registry)
    issues = Issues(operation.name, strict, registry)
    if strict and chunker.path in _UNUSUAL:
        issues.report(*_UNUSUAL[chunker.path])
    wire = wires()[operation.result]
    registry.plan(wire).decoder(list)
    yield
    # Where the garbage collector lets many young objects accumulate, it pauses longer than any other step. Where it
    # runs often anyway, or not at all, it is left alone.
    often, times, *_ = gc.get_threshold()
    sweeps, interval = gc.isenabled() and often * times > 10_000, max(8, len(body) // SIZE // 5)
    incomplete = _undecodable(operation, "$", "the body is not JSON, or not all of it arrived")
    models, number = list[Any](), 0
    while chunker.closing is None:
        for text in chunker.candidates():
            plan, some = registry.plan(wire), list[Any]()
            try:
                structs = emptying(plan.decoder(list).decode(text))
                while batch := list(islice(structs, ROWS_PER_STEP if plan.variant is wire else ROWS_PER_BATCH)):
                    if some or len(text) > 2 * SIZE:  # the latter with a few long rows
                        yield
                    some += build_rows(plan, batch, f"{chunker.path}[]", issues)
                models += some
            except UNREADABLE:
                try:
                    rows = parse(text)
                except ValueError:
                    continue  # not a list: it was cut in the wrong place
                for some in structure_steps(operation.result, rows, chunker.path, issues, len(models)):
                    models += some
                    yield
            break
        else:
            raise incomplete
        yield
        number += 1
        if sweeps and number % interval == 0:
            gc.collect(1)
            yield
    try:
        rest = parse(chunker.rest())
    except ValueError:
        raise incomplete from None
    if _locate(operation, rest, issues) != ([PLACE], chunker.path):
        return decode(operation, body, strict=strict, registry=registry)
    return _surrounded(models, rest, issues)


def _decode_untyped(operation: Operation[T], body: bytes, issues: Issues) -> Decoded[T]:
    """Decode by way of untyped JSON, where the fast way met something unexpected."""
    try:
        raw = parse(body)
    except ValueError as error:
        html = body.lstrip()[:1] == b"<"
        reason = "an HTML page came back instead of JSON: check base_url" if html else f"the body is not JSON: {error}"
        raise _undecodable(operation, "$", reason) from None
    found, path = _locate(operation, raw, issues)
    structure: Any = structure_one if operation.shape in (Shape.ONE, Shape.BARE) else structure_rows
    value = structure(operation.result, found, path, issues)
    if operation.shape is Shape.BARE or isinstance(raw, list):
        return Decoded(value)
    return _surrounded(value, raw, issues)


def _locate(operation: Operation[Any], raw: Any, issues: Issues) -> tuple[Any, str]:
    """Return the rows of a list, or the single resource, and their path in a body.

    Rows are found under ``data.items``, under ``data``, at the root, or as a single resource under ``data``. A single
    resource is found under ``data``, as the one item of a list there, or as the body itself. An empty list is never
    made up: a body without rows is an error, so that orders never seem to be absent.
    """
    shape, keys = operation.shape, wire_fields(wires()[cast("Any", operation.result)]).keys()
    if shape is Shape.BARE_MANY and isinstance(raw, list):
        return raw, "$"
    if not isinstance(raw, dict):
        raise _undecodable(operation, "$", f"expected an object, got {describe(raw)}")
    if shape is Shape.BARE:
        return raw, "$"
    data = raw.get("data")
    items = data.get("items") if isinstance(data, dict) else None
    if shape is Shape.ONE:
        if isinstance(items, list) and "items" not in keys:
            if len(items) != 1:
                raise _undecodable(operation, "$.data.items", f"expected one item, got {len(items)}")
            return items[0], "$.data.items[0]"
        if "data" not in raw and keys & raw.keys():
            issues.report("$", "the resource is not under data", READ)
            return raw, "$"
        if not isinstance(data, dict):
            raise _undecodable(operation, "$.data", f"expected an object, got {describe(data)}")
        return data, "$.data"
    if isinstance(items, list):
        return items, "$.data.items"
    if isinstance(data, dict) and "items" in data:
        if items is not None:
            raise _undecodable(operation, "$.data.items", f"expected a list, got {describe(items)}")
        issues.report("$.data.items", "expected a list, got null", "read as an empty list")
        return [], "$.data.items"
    if isinstance(data, dict) and keys & data.keys():
        return [data], "$.data"
    for path, rows in (("$.data", data), ("$.items", raw.get("items"))):
        if isinstance(rows, list):
            issues.report(*_UNUSUAL[path])
            return rows, path
    raise _undecodable(operation, "$.data.items", f"expected a list, got {describe(data)} under data")


def _surrounded(value: Any, envelope: dict[str, Any], issues: Issues) -> Decoded[Any]:
    """Return the value with the parts of the envelope around it, as far as they can be read."""
    context, pagination = envelope.get("context"), envelope.get("pagination")
    if context is not None and not isinstance(context, str):
        issues.report("$.context", f"expected a string, got {describe(context)}", IGNORED)
        context = None
    if pagination is not None and not isinstance(pagination, dict):
        issues.report("$.pagination", f"expected an object, got {describe(pagination)}", IGNORED)
        pagination = None
    page = None if pagination is None else structure_one(Pagination, pagination, "$.pagination", issues)
    return Decoded(value, page, context, envelope.get("error") if "data" in envelope else None)


def _undecodable(operation: Operation[Any], path: str, reason: str) -> ResponseDecodeError:
    return ResponseDecodeError(
        f"{path}: {reason}", json_path=path, operation=operation.name, method=operation.method, path=operation.path
    )


_ENCODER = msgspec.json.Encoder(decimal_format="number")


def encode(model: Any) -> bytes:
    """Encode a request model as JSON, without the fields that are None.

    Raises InvalidRequestError for values that JSON or the service cannot take, such as NaN or a float for a Decimal.
    """
    wire = wires().get(type(model))
    if wire is None:
        raise InvalidRequestError(f"expected a model, got {type(model).__name__}")
    try:
        return _ENCODER.encode(wire.of(model))
    except (TypeError, ValueError, AttributeError, msgspec.MsgspecError) as error:
        raise InvalidRequestError(f"{type(model).__name__} cannot be sent: {error}") from None
