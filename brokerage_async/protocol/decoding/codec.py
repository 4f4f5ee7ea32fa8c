"""Decodes the bytes of bodies into models, and encodes models into bytes.

A body is decoded straight into wire structs, and the models are built from them. Only when that fails is it parsed as
untyped JSON and read value by value. Huge lists are decoded in steps, between which an event loop runs.
"""

from __future__ import annotations

import gc
from collections.abc import Generator
from typing import Any, Generic, TypeVar, cast

import msgspec

from ..._generated.models import Pagination
from ...errors import InvalidRequestError, ResponseDecodeError
from ...operation import Operation, Shape
from ..registry import wires
from .adaptive import REGISTRY, DecoderRegistry
from .chunks import PLACE, SIZE, Chunker, rows_path
from .fields import UNREADABLE, wire_fields
from .issues import IGNORED, READ, Issues, describe
from .lenient import ROWS_PER_BATCH, build_rows, parse, structure_one, structure_rows, structure_steps

T = TypeVar("T")
R = TypeVar("R")

#: Lists from this size on are decoded in steps.
CHUNKED_FROM = 64 * 1024
#: Rows that are built between two turns of an event loop.
ROWS_PER_STEP = 512


class Decoded(msgspec.Struct, Generic[T], frozen=True):
    """The content of a success body: the ``value``, and ``pagination`` and ``context`` where the service sent them.

    ``error`` is the raw JSON of an error beside the data, None (or empty) without one.
    """

    value: T
    pagination: Pagination | None = None
    context: str | None = None
    error: Any = None


class _Items(msgspec.Struct, Generic[R], gc=False):
    items: list[R]


class _Item(msgspec.Struct, Generic[R], gc=False):
    data: R
    context: Any = None
    pagination: Any = None
    error: Any = None


_List: Any = _Item[_Items[R]]  # type: ignore[valid-type]


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
    plan = registry.plan(wires()[operation.result])
    value: Any
    try:
        match operation.shape:
            case Shape.MANY | Shape.PAGE:
                decoded = plan.decoder(_List).decode(body)
                value = build_rows(plan, decoded.data.items, "$.data.items[]", issues)
            case Shape.BARE:
                return Decoded(build_rows(plan, (plan.decoder(None).decode(body),), "$", issues)[0])
            case Shape.BARE_MANY:
                return Decoded(cast("T", build_rows(plan, plan.decoder(list).decode(body), "$[]", issues)))
            case _:
                decoded = plan.decoder(_Item).decode(body)
                value = build_rows(plan, (decoded.data,), "$.data", issues)[0]
    except UNREADABLE:
        return _decode_untyped(operation, body, issues)
    return _surrounded(value, decoded.context, decoded.pagination, decoded.error, issues)


def decode_chunks(
    operation: Operation[T], body: bytes, *, strict: bool = False, registry: DecoderRegistry = REGISTRY
) -> Generator[None, None, Decoded[T]]:
    """Decode in steps of a few milliseconds. The generator returns the same as `decode`."""
    in_chunks = len(body) >= CHUNKED_FROM and operation.shape in (Shape.MANY, Shape.PAGE)
    chunker = Chunker.of(body) if in_chunks else None
    if chunker is None or operation.result is None:
        return decode(operation, body, strict=strict, registry=registry)
    issues = Issues(operation.name, strict, registry)
    if strict:
        _report_envelope(chunker.path, issues)
    registry.plan(wires()[operation.result]).decoder(list)
    yield
    models: list[Any] = []
    # Where the garbage collector lets many young objects accumulate, it pauses longer than any other step. Where it
    # runs often anyway, or not at all, it is left alone.
    often, times, *_ = gc.get_threshold()
    sweeps = gc.isenabled() and often * times > 10_000
    until_sweep = sweep_after = max(8, len(chunker.body) // SIZE // 5) if sweeps else -1
    while chunker.closing is None:
        for text, position, closing in chunker.candidates():
            plan, some = registry.plan(wires()[operation.result]), list[Any]()
            try:
                structs = plan.decoder(list).decode(text)
                per_step = ROWS_PER_STEP if plan.is_typed else ROWS_PER_BATCH
                for start in range(0, len(structs), per_step):
                    if start or len(text) > 2 * SIZE:  # the latter with a few long rows
                        yield
                    some += build_rows(plan, structs[start : start + per_step], f"{chunker.path}[]", issues)
            except UNREADABLE:
                try:
                    rows = parse(text)
                except ValueError:
                    continue  # not a list: it was cut in the wrong place
                some = yield from structure_steps(operation.result, rows, chunker.path, issues, len(models))
            models += some
            chunker.position, chunker.closing = position, closing
            break
        else:
            raise _incomplete(operation)
        yield
        until_sweep -= 1
        if not until_sweep:
            gc.collect(1)
            until_sweep = sweep_after
            yield
    try:
        rest = parse(chunker.rest())
    except ValueError:
        raise _incomplete(operation) from None
    if rows_path(rest) != chunker.path or _find_rows(operation, rest, rest.get("data"), issues)[0] != [PLACE]:
        return decode(operation, body, strict=strict, registry=registry)
    return _surrounded_raw(models, rest, issues)


def _decode_untyped(operation: Operation[T], body: bytes, issues: Issues) -> Decoded[T]:
    """Decode by way of untyped JSON, where the fast way met something unexpected.

    A single resource is found under ``data``, as the one item of a list there, or as the body itself.
    """
    try:
        raw = parse(body)
    except ValueError as error:
        html = body.lstrip()[:1] == b"<"
        reason = "an HTML page came back instead of JSON: check base_url" if html else f"the body is not JSON: {error}"
        raise _undecodable(operation, "$", reason) from None
    model: Any = operation.result
    if operation.shape is Shape.BARE_MANY and isinstance(raw, list):
        return Decoded(cast("T", structure_rows(model, raw, "$", issues)))
    if not isinstance(raw, dict):
        raise _undecodable(operation, "$", f"expected an object, got {describe(raw)}")
    if operation.shape is Shape.BARE:
        return Decoded(structure_one(model, raw, "$", issues))
    value: Any
    if operation.shape is Shape.ONE:
        one, path = raw.get("data"), "$.data"
        items = one.get("items") if isinstance(one, dict) else None
        if isinstance(items, list) and "items" not in wire_fields(wires()[model]):
            if len(items) != 1:
                raise _undecodable(operation, "$.data.items", f"expected one item, got {len(items)}")
            one, path = items[0], "$.data.items[0]"
        elif "data" not in raw and _resembles(operation, raw):
            issues.report("$", "the resource is not under data", READ)
            one, path = raw, "$"
        elif not isinstance(one, dict):
            raise _undecodable(operation, path, f"expected an object, got {describe(one)}")
        value = structure_one(model, one, path, issues)
    else:
        rows, path = _find_rows(operation, raw, raw.get("data"), issues)
        value = structure_rows(model, rows, path, issues)
    return _surrounded_raw(value, raw, issues)


def _find_rows(operation: Operation[Any], raw: Any, data: Any, issues: Issues) -> tuple[list[Any], str]:
    """Return the rows: under ``data.items``, under ``data``, or a single resource there as the only one.

    An empty list is never made up: a body without rows is an error, so that orders never seem to be absent.
    """
    if isinstance(data, list):
        _report_envelope("$.data", issues)
        return data, "$.data"
    if isinstance(data, dict):
        items = data.get("items")
        if isinstance(items, list):
            return items, "$.data.items"
        if "items" in data:
            if items is None:
                issues.report("$.data.items", "expected a list, got null", "read as an empty list")
                return [], "$.data.items"
            raise _undecodable(operation, "$.data.items", f"expected a list, got {describe(items)}")
        if _resembles(operation, data):
            return [data], "$.data"
    if isinstance(raw.get("items"), list):
        _report_envelope("$.items", issues)
        return raw["items"], "$.items"
    raise _undecodable(operation, "$.data.items", f"expected a list, got {describe(data)} under data")


def _report_envelope(path: str, issues: Issues) -> None:
    """Report rows in an unusual place."""
    if path == "$.data":
        issues.report("$.data", "expected an object with items, got a list", READ)
    elif path == "$.items":
        issues.report("$", "the items are not under data", READ)


def _resembles(operation: Operation[Any], raw: dict[str, Any]) -> bool:
    return not raw.keys().isdisjoint(wire_fields(wires()[cast("Any", operation.result)]))


def _surrounded_raw(value: Any, raw: dict[str, Any], issues: Issues) -> Decoded[Any]:
    error = raw.get("error") if "data" in raw else None
    return _surrounded(value, raw.get("context"), raw.get("pagination"), error, issues)


def _surrounded(value: Any, context: Any, pagination: Any, error: Any, issues: Issues) -> Decoded[Any]:
    """Return the value with the parts of the envelope around it, as far as they can be read."""
    if context is not None and not isinstance(context, str):
        issues.report("$.context", f"expected a string, got {describe(context)}", IGNORED)
        context = None
    if pagination is not None and not isinstance(pagination, dict):
        issues.report("$.pagination", f"expected an object, got {describe(pagination)}", IGNORED)
        pagination = None
    page = None if pagination is None else structure_one(Pagination, pagination, "$.pagination", issues)
    return Decoded(value, page, context, error)


def _undecodable(operation: Operation[Any], path: str, reason: str) -> ResponseDecodeError:
    return ResponseDecodeError(
        f"{path}: {reason}", json_path=path, operation=operation.name, method=operation.method, path=operation.path
    )


def _incomplete(operation: Operation[Any]) -> ResponseDecodeError:
    return _undecodable(operation, "$", "the body is not JSON, or not all of it arrived")


# -- requests ---------------------------------------------------------------------------------------------------------

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
