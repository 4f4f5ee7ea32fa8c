"""Adaptive decoding: the wire structs follow what the service was seen to send beyond the schema.

A generated wire struct rejects unknown keys and undocumented types in C, which costs nothing and loses nothing. After
a rejection a variant of the struct is made that decodes the next body in C again:

- learned keys: an unknown key becomes a field of its own, and `build` puts it into the model's ``extra``;
- widened fields: a field seen in an undocumented form is decoded loosely and read by itself (see `widening`);
- reordered fields: they follow the order in which the service sends its keys, which makes looking them up cheaper.

Structs that contain a variant get a variant as well. All of it is the state of one `DecoderRegistry`; it is bounded in
entries and in bytes, and a row beyond the bounds is read value by value.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import attrs
import msgspec

from ..._values import Extra
from ..._wire import Wire, build_list
from .fields import WireField, containing, wire_fields
from .widening import Kept, Place, places, widened_type

__all__ = ["REGISTRY", "DecoderRegistry", "Plan", "methods"]

#: Keys that one type may learn, and the longest of them: an object whose keys are data would grow without end.
MAX_KEYS, MAX_KEY_LENGTH = 64, 128

#: Warnings that are remembered; beyond that they are repeated. Their paths consist of keys of the schema alone.
MAX_WARNED = 4096

#: Characters that msgspec does not take in the name of a field.
_UNNAMEABLE = re.compile(r'["\\\x00-\x1f\ud800-\udfff]')


@attrs.define(eq=False)
class Plan:
    """How rows of one model are decoded at present.

    Attributes:
        variant: the wire struct that msgspec fills.
        places: the widened fields in it and below, which are read before the models are built.
    """

    variant: type[Wire]
    places: tuple[Place, ...] = ()
    _decoders: dict[Any, msgspec.json.Decoder[Any]] = attrs.field(factory=dict, init=False)

    def decoder(self, form: Any) -> msgspec.json.Decoder[Any]:
        """Return the decoder for ``form[variant]``, such as ``list[variant]``; for the bare variant with None."""
        found = self._decoders.get(form)
        if found is None:
            kind: Any = self.variant if form is None else form[self.variant]
            found = self._decoders[form] = msgspec.json.Decoder(kind, float_hook=Decimal)
        return found


class DecoderRegistry:
    """The state of the decoders: learned keys, widened fields, orders of keys, and the warnings given.

    The keyword arguments switch an adaptation off, which the benchmarks do to measure its worth.
    """

    def __init__(self, *, learns: bool = True, widens: bool = True, reorders: bool = True) -> None:
        self._learns, self._widens, self._reorders = learns, widens, reorders
        self._lock = threading.RLock()
        self._learned: dict[type[Wire], dict[str, str | None]] = {}
        self._widened: dict[type[Wire], dict[WireField, bool]] = {}
        self._orders: dict[type[Wire], list[str]] = {}
        self._unordered: set[type[Wire]] = set()
        self._plans: dict[type[Wire], Plan] = {}
        self._warned: set[tuple[str, str]] = set()

    def reset(self) -> None:
        """Return to the schema, with no warning given yet."""
        with self._lock:
            for state in (self._learned, self._widened, self._orders, self._unordered, self._plans, self._warned):
                state.clear()

    def plan(self, wire: type[Wire]) -> Plan:
        """Return how a generated wire struct is decoded at present."""
        return self._plans.get(wire) or self._make_plan(wire)

    def learned_keys(self, wire: type[Wire]) -> frozenset[str]:
        """Return the keys beyond the schema that are decoded in C."""
        return frozenset(self._learned.get(wire, ()))

    def learn(self, wire: type[Wire], rows: Iterable[Any]) -> bool:
        """Learn the unknown keys of some raw rows; return False if there were none to learn."""
        found: dict[type[Wire], dict[str, str | None]] = {}
        if self._learns:
            for row in rows:
                _collect_keys(wire, row, found)
        grown = set()
        with self._lock:
            for each, keys in found.items():
                learned = self._learned.setdefault(each, {})
                for key, before in keys.items():
                    if key not in learned and len(learned) < MAX_KEYS and _is_learnable(key):
                        learned[key] = before
                        grown.add(each)
            self._outdate(grown)
        return bool(grown)

    def widen(self, wire: type[Wire], field: WireField, *, untyped: bool = False) -> None:
        """Decode a field loosely from now on; ``untyped``: not even its nested models in C."""
        widened = self._widened.get(wire, {})
        if not self._widens or (field in widened and (widened[field] or not untyped)):
            return
        with self._lock:
            self._widened.setdefault(wire, {})[field] = untyped
            self._outdate({wire})

    def is_reordered(self, wire: type[Wire]) -> bool:
        """Return whether the order of the keys has been looked at."""
        return wire in self._orders or wire in self._unordered or not self._reorders

    def reorder(self, wire: type[Wire], row: dict[str, Any] | None) -> None:
        """Adopt the order of the keys of one raw row, once; None for one that is too long to look at."""
        if row is None:
            self._unordered.add(wire)
            return
        found: dict[type[Wire], list[str]] = {}
        _collect_order(wire, row, found)
        with self._lock:
            changed = found.keys() - self._orders.keys()
            self._orders.update({each: found[each] for each in changed})
            self._outdate(changed)

    def is_first_warning(self, operation: str, path: str) -> bool:
        """Return whether this warning has not been given yet, and remember it."""
        if (operation, path) in self._warned:
            return False
        if len(self._warned) < MAX_WARNED:
            self._warned.add((operation, path))
        return True

    def warned_paths(self) -> list[str]:
        """Return the JSON paths of all warnings given."""
        return sorted(path for _, path in self._warned)

    def _outdate(self, changed: Iterable[type[Wire]]) -> None:
        for wire in changed:
            for each in containing(wire):
                self._plans.pop(each, None)

    def _make_plan(self, wire: type[Wire]) -> Plan:
        with self._lock:
            if (found := self._plans.get(wire)) is not None:
                return found
            variant = self._variant(wire)
            plan = self._plans[wire] = Plan(variant, places(wire, variant, self._widened))
            return plan

    def _variant(self, wire: type[Wire]) -> type[Wire]:
        """Return the generated struct, or a variant of it where something in it has been adapted."""
        fields = wire_fields(wire)
        children = {field: self.plan(field.child).variant for field in fields.values() if field.child is not None}
        learned, widened = self._learned.get(wire, {}), self._widened.get(wire, {})
        eager = [each.attribute for each in children if each.many and each not in widened and self._is_settled(each)]
        own = learned or widened or wire in self._orders or eager
        if not own and all(field.child is variant for field, variant in children.items()):
            return wire
        definitions: dict[str, Any] = {}
        for key, field in fields.items():
            annotation = _annotation(field, children.get(field), widened)
            definitions[key] = (field.attribute, annotation, msgspec.field(default=None, name=key))
        order = list(self._orders.get(wire, definitions))
        for number, (key, before) in enumerate(learned.items()):
            definitions[key] = (f"learned_{number}", Any, msgspec.field(default=msgspec.UNSET, name=key))
            # Structs are decoded fastest when their fields stand in the order of the keys.
            order.insert(order.index(before) + 1 if before in order else 0, key)
        structs = {field.attribute: variant for field, variant in children.items()}
        return _define(wire, [definitions[key] for key in order], list(learned), list(widened), structs, eager)


    def _is_settled(self, field: WireField) -> bool:
        """Return whether a nested model can be built before anything else has been looked at, and is worth it."""
        return field.child is not None and not _is_shared(field.child) and not self.plan(field.child).places


#: The registry of the process.
REGISTRY = DecoderRegistry()


def _is_shared(wire: type[Wire]) -> bool:
    return "build_new" in vars(wire)


def _is_learnable(key: str) -> bool:
    return len(key) <= MAX_KEY_LENGTH and not _UNNAMEABLE.search(key)


def _collect_order(wire: type[Wire], row: Any, found: dict[type[Wire], list[str]]) -> None:
    if not isinstance(row, dict) or wire in found:
        return
    fields = wire_fields(wire)
    found[wire] = [*(key for key in row if key in fields), *(key for key in fields if key not in row)]
    for key, field in fields.items():
        if field.child is not None and (value := row.get(key)):
            _collect_order(field.child, value[0] if isinstance(value, list) else value, found)


def _collect_keys(wire: type[Wire], row: Any, found: dict[type[Wire], dict[str, str | None]]) -> None:
    """Collect the unknown keys of a row and of everything nested in it, each with the key before it."""
    if not isinstance(row, dict):
        return
    fields = wire_fields(wire)
    if not row.keys() <= fields.keys():
        before = None
        for key in row:
            if key not in fields:
                found.setdefault(wire, {}).setdefault(key, before)
            before = key
    for key, field in fields.items():
        if field.child is not None and (value := row.get(key)):
            for child in value if isinstance(value, list) else (value,):
                _collect_keys(field.child, child, found)


def _annotation(field: WireField, child: Any, widened: Mapping[WireField, bool]) -> Any:
    if field in widened:
        return widened_type(field, child, untyped=widened[field])
    if field.child is None or child is field.child:
        return field.type
    return list[child] | None if field.many else child | None


def _define(
    wire: type[Wire], definitions: list[Any], learned: list[str], widened: list[WireField], structs: Mapping[str, Any],
    eager: list[str],
) -> type[Wire]:  # fmt: skip
    namespace = {**methods(wire, learned, widened), "structs": structs, "__doc__": wire.__doc__}
    if eager:
        namespace["__post_init__"] = _make_eager(eager)
    variant: type[Wire] = msgspec.defstruct(  # type: ignore[assignment]
        wire.__name__,
        definitions,
        bases=(Wire,),
        namespace=namespace,
        module=wire.__module__,
        gc=False,
        forbid_unknown_fields=True,
        omit_defaults=True,
    )
    return variant


def _make_eager(attributes: list[str]) -> Callable[[Any], None]:
    """Return what turns nested lists into models as soon as msgspec has decoded them.

    They still are in the processor's cache then, and the memory of their structs serves those of the next row.
    """

    def build_nested(self: Any) -> None:
        for attribute in attributes:
            wires = getattr(self, attribute)
            if wires:
                setattr(self, attribute, build_list(wires))

    return build_nested


def methods(wire: type[Wire], learned: list[str], widened: Iterable[WireField] = ()) -> dict[str, Any]:
    """Return the methods of a variant, which puts learned keys, and values that do not fit, into ``extra``."""
    own = {name: vars(wire)[name] for name in ("build", "build_new", "build_all", "of") if name in vars(wire)}
    loose = [field for field in wire_fields(wire).values() if field in widened]
    if not learned and not loose:
        return own
    find = _make_finder(learned, loose)
    put = object.__setattr__

    def build_all(wires: Sequence[Any]) -> list[Any]:
        extras = [find(each) for each in wires]
        models: list[Any]
        if _is_shared(wire):  # Models that rows share are not changed here.
            models = [each.build_new() if extra else own["build"](each) for each, extra in zip(wires, extras, strict=True)]
        else:
            models = wire.build_all(wires)
        for model, extra in zip(models, extras, strict=True):
            if extra:
                put(model, "extra", Extra({**model.extra, **extra}) if model.extra else Extra(extra))
        return models

    def build(self: Any) -> Any:
        return build_all((self,))[0]

    return {**own, "build": build, "build_all": staticmethod(build_all)}


def _make_finder(learned: list[str], loose: list[WireField]) -> Callable[[Any], dict[str, Any] | None]:
    """Return what takes from a struct its raw values for ``extra``: learned keys, and values that do not fit."""
    pairs = [(f"learned_{number}", key) for number, key in enumerate(learned)]
    unset = msgspec.UNSET

    def find(wire: Any) -> dict[str, Any] | None:
        extra = {key: value for attribute, key in pairs if (value := getattr(wire, attribute)) is not unset}
        for field in loose:
            value = getattr(wire, field.attribute)
            if value.__class__ is Kept:
                setattr(wire, field.attribute, value.value)
                extra[field.key] = value.raw
        return extra

    return find
