"""What the service was seen to send beyond the schema, learned: the wire structs grow with it.

A generated wire struct refuses unknown keys, which costs nothing and loses nothing. When a body is refused, the keys
that it brought are learned: from then on a variant of the struct decodes them in C like any other, and its ``build``
puts them into the model's ``extra``. A field that was seen to arrive as another JSON type, a number where text was
expected, is likewise taken in both. And the fields are put into the order in which the service sends them, which
halves the time that looking them up takes. What nests the struct gets a variant as well. What was learned holds for the
process; it is bounded, and keys beyond the bound take the slower road row by row.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from ..._generated.converters import WIRES, Wire
from ..._values import Extra
from .fields import Slot, equivalents, layout, nested

__all__ = ["arrange", "current", "forget", "is_arranged", "learn", "learned_keys", "relax"]

#: Keys that one type may learn. An object whose keys are data would otherwise grow a struct without end.
MOST_KEYS = 64

#: What msgspec does not take in the name of a field.
_UNNAMEABLE = re.compile(r'["\\\x00-\x1f\ud800-\udfff]')

_lock = threading.Lock()
_learned: dict[type[Wire], dict[str, str | None]] = {}
_relaxed: dict[type[Wire], frozenset[Slot]] = {}
_arranged: dict[type[Wire], list[str]] = {}
_variants: dict[type[Wire], type[Wire]] = {}


def current(wire: type[Wire]) -> type[Wire]:
    """The struct that is used for this generated one at present."""
    return _variants.get(wire, wire)


def learned_keys(model: type[Any]) -> frozenset[str]:
    """The keys beyond the schema that are decoded along with this model."""
    return frozenset(_learned.get(WIRES[model], ()))


def forget() -> None:
    """Start from the schema again."""
    with _lock:
        _learned.clear()
        _relaxed.clear()
        _arranged.clear()
        _variants.clear()


def learn(model: type[Any], rows: Iterable[Any]) -> bool:
    """Learn the unknown keys of some raw rows; False when there was nothing (more) to learn."""
    found: dict[type[Wire], dict[str, str | None]] = {}
    for row in rows:
        _collect(WIRES[model], row, found)
    with _lock:
        grown = set()
        for wire, keys in found.items():
            known = _learned.setdefault(wire, {})
            for key, before in keys.items():
                if key not in known and len(known) < MOST_KEYS and not _UNNAMEABLE.search(key):
                    known[key] = before
                    grown.add(wire)
        if grown:
            _variants.update(_make_variants(grown))
    return bool(grown)


def relax(wire: type[Wire], slot: Slot) -> None:
    """Learn that the value of a key of text or integers arrives as the other, or as a number with a fraction."""
    if slot.array or slot.native is None or slot in _relaxed.get(wire, ()):
        return
    with _lock:
        _relaxed[wire] = _relaxed.get(wire, frozenset()) | {slot}
        _variants.update(_make_variants({wire}))


def is_arranged(model: type[Any]) -> bool:
    """Whether the order of the keys has been looked at."""
    return WIRES[model] in _arranged


def arrange(model: type[Any], row: dict[str, Any]) -> None:
    """Take over the order of the keys of one raw row, once."""
    found: dict[type[Wire], list[str]] = {}
    _collect_order(WIRES[model], row, found)
    with _lock:
        changed = set()
        for wire, order in found.items():
            if wire not in _arranged:
                _arranged[wire] = order
                changed.add(wire)
        _variants.update(_make_variants(changed))


def _collect_order(wire: type[Wire], row: Any, found: dict[type[Wire], list[str]]) -> None:
    if not isinstance(row, dict) or wire in found:
        return
    slots = layout(wire)
    found[wire] = [*(key for key in row if key in slots), *(key for key in slots if key not in row)]
    for key, slot in slots.items():
        if slot.child is not None and (value := row.get(key)):
            _collect_order(slot.child, value[0] if isinstance(value, list) else value, found)


def _collect(wire: type[Wire], row: Any, found: dict[type[Wire], dict[str, str | None]]) -> None:
    """Note the keys of ``row``, and of what is nested in it, that its struct lacks, each with the key before it."""
    if not isinstance(row, dict):
        return
    slots = layout(wire)
    if not row.keys() <= slots.keys():
        before = None
        for key in row:
            if key not in slots:
                found.setdefault(wire, {}).setdefault(key, before)
            before = key
    for key, slot in slots.items():
        if slot.child is not None and (value := row.get(key)):
            for child in value if isinstance(value, list) else (value,):
                _collect(slot.child, child, found)


def _make_variants(grown: set[type[Wire]]) -> dict[type[Wire], type[Wire]]:
    """New variants of the structs that grew and of all that contain them, the inner ones first."""
    changed = set(grown)
    while more := {wire for wire in WIRES.values() if wire not in changed and nested(wire) & changed}:
        changed |= more
    made: dict[type[Wire], type[Wire]] = {}
    waiting = changed
    while waiting:
        ready = {wire for wire in waiting if not nested(wire) & waiting}
        if not ready:  # They contain each other; they stay as they are and take the slower road.
            break
        made.update({wire: _variant(wire, _variants | made) for wire in ready})
        waiting = waiting - ready
    return made


def _variant(wire: type[Wire], variants: Mapping[type[Wire], type[Wire]]) -> type[Wire]:
    fields: dict[str, Any] = {}
    relaxed = _relaxed.get(wire, frozenset())
    for key, slot in layout(wire).items():
        annotation = Any if slot in relaxed else _annotation(slot, variants)
        fields[key] = (slot.attribute, annotation, msgspec.field(default=None, name=key))
    order = list(_arranged.get(wire, fields))
    pairs = []
    for number, (key, before) in enumerate(_learned.get(wire, {}).items()):
        attribute = f"learned_{number}"
        pairs.append((attribute, key))
        fields[key] = (attribute, Any, msgspec.field(default=msgspec.UNSET, name=key))
        # Structs decode fastest when their fields stand in the order of the keys.
        order.insert(order.index(before) + 1 if before in order else 0, key)
    variant: Any = msgspec.defstruct(
        wire.__name__,
        [fields[key] for key in order],
        bases=(Wire,),
        namespace={**_methods(wire, pairs, relaxed), "of": staticmethod(wire.of), "__doc__": wire.__doc__},
        module=wire.__module__,
        gc=False,
        forbid_unknown_fields=True,
        omit_defaults=True,
    )
    made: type[Wire] = variant
    return made


def _annotation(slot: Slot, variants: Mapping[type[Wire], type[Wire]]) -> Any:
    if slot.child is None or slot.child not in variants:
        return slot.type
    child: Any = variants[slot.child]
    return list[child] | None if slot.many else child | None


def _methods(wire: type[Wire], pairs: list[tuple[str, str]], relaxed: frozenset[Slot]) -> dict[str, Any]:
    methods = {"build": _builder(wire, pairs, relaxed)}
    if "build_new" in vars(wire):
        methods["build_new"] = wire.build_new
    return methods


def _builder(wire: type[Wire], pairs: list[tuple[str, str]], relaxed: frozenset[Slot]) -> Callable[[Any], Any]:
    build: Callable[[Any], Any] = wire.build
    build_new: Callable[[Any], Any] = wire.build_new if "build_new" in vars(wire) else wire.build
    if relaxed:
        build, build_new = _relaxed_builder(build, relaxed), _relaxed_builder(build_new, relaxed)
    put = object.__setattr__
    unset = msgspec.UNSET

    # What is changed after it was built must be nobody else's: hence build_new.
    def build_with_several(self: Any) -> Any:
        found = {key: value for attribute, key in pairs if (value := getattr(self, attribute)) is not unset}
        if not found:
            return build(self)
        model = build_new(self)
        put(model, "extra", Extra({**model.extra, **found}))
        return model

    if len(pairs) != 1:
        return build_with_several if pairs else build
    [(_, only_key)] = pairs

    def build_with_one(self: Any) -> Any:
        value = self.learned_0
        if value is unset:
            return build(self)
        model = build_new(self)
        put(model, "extra", Extra({**model.extra, only_key: value} if model.extra else {only_key: value}))
        return model

    return build_with_one


def _relaxed_builder(build: Callable[[Any], Any], relaxed: frozenset[Slot]) -> Callable[[Any], Any]:
    """Puts the values of the relaxed fields into the type that is expected there before it builds."""
    wanted = [(slot.attribute, slot.native, slot) for slot in relaxed]

    def build_relaxed(self: Any) -> Any:
        for attribute, native, slot in wanted:
            value = getattr(self, attribute)
            if value is not None and value.__class__ is not native:
                equivalent = next(equivalents(slot, value), None)
                if equivalent is None:
                    raise ValueError(f"{slot.key} cannot be read")
                setattr(self, attribute, equivalent)
        return build(self)

    return build_relaxed
