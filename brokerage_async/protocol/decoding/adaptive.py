"""Adaptive decoding: the wire structs follow what the service was seen to send beyond the schema.

A generated wire struct rejects unknown keys and undocumented types in C, which costs nothing and loses nothing. After
a rejection a variant of the struct is made that decodes the next body in C again:

- learned keys: an unknown key becomes a field, and `build` puts it into the model's ``extra``;
- widened fields: a field seen in an undocumented form takes any form, and its values are read one by one;
- spare keys: keys that cannot be learned are collected under one, before a raw row is converted.

All of it is the state of one `DecoderRegistry`, which is bounded in entries and in bytes.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

import attrs
import msgspec

from ..._values import raw_object
from ..._wire import Wire
from .fields import UNREADABLE, Kept, WireField, fits, wire_fields

#: Keys that one type may learn, and the longest of them: an object whose keys are data would grow without end.
MAX_KEYS, MAX_KEY_LENGTH = 64, 128

#: Key under which a raw row holds those that its type did not learn.
SPARE = "brokerage_async spare keys"


class Spare(dict[str, Any]):
    """Value of `SPARE`: a type that no JSON decodes to, so that a body cannot forge it."""


#: Warnings that are remembered. Beyond that they are repeated. Their paths consist of keys of the schema alone.
MAX_WARNED = 4096

#: Characters that msgspec does not take in the name of a field.
_UNNAMEABLE = re.compile(r'["\\\x00-\x1f\ud800-\udfff]')


@attrs.define(eq=False)
class Plan:
    """How rows of one model are decoded at present.

    Attributes:
        wire: the generated wire struct.
        variant: the struct that msgspec fills, which is the generated one unless something was adapted.
        widened: the widened fields in it, each with the plan of its nested model, if it has one.
        below: the fields with widened fields in their structs, or with lists of variants, each with its plan.
    """

    wire: type[Wire]
    variant: type[Wire]
    widened: tuple[tuple[WireField, Plan | None], ...] = ()
    below: tuple[tuple[WireField, Plan], ...] = ()
    _decoders: dict[Any, msgspec.json.Decoder[Any]] = attrs.field(factory=dict, init=False)

    @property
    def is_typed(self) -> bool:
        """Whether msgspec checks every value in it or below."""
        return not (self.widened or self.below)

    def decoder(self, form: Any) -> msgspec.json.Decoder[Any]:
        """Return the decoder for ``form[variant]``, such as ``list[variant]``. For the bare variant with None."""
        found = self._decoders.get(id(form))  # generic aliases have a slow hash, and forms are constants
        if found is None:
            kind: Any = self.variant if form is None else form[self.variant]
            found = self._decoders[id(form)] = msgspec.json.Decoder(kind, float_hook=Decimal)
        return found

    def convert(self, rows: list[Any]) -> list[Any]:
        """Return the structs of raw objects. Raises one of UNREADABLE when one does not fit."""
        variant: Any = self.variant
        keys = variant.__struct_encode_fields__
        try:
            return msgspec.convert(rows, list[variant])
        except UNREADABLE:
            if SPARE not in keys:
                raise
        known = {*keys} - {SPARE}
        spare = [Spare({key: value for key, value in row.items() if key not in known}) for row in rows]
        rows = [{key: value for key, value in row.items() if key in known} for row in rows]
        return msgspec.convert([{**row, SPARE: rest} for row, rest in zip(rows, spare, strict=True)], list[variant])


class DecoderRegistry:
    """The state of the decoders: learned keys, widened fields, and the warnings given."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._learned: dict[type[Wire], dict[str, None]] = {}
        self._widened: set[WireField] = set()
        self._plans: dict[type[Wire], Plan] = {}
        self._warned: set[tuple[str, str]] = set()

    def reset(self) -> None:
        """Return to the schema, with no warning given yet."""
        with self._lock:
            for state in (self._learned, self._widened, self._plans, self._warned):
                state.clear()

    def plan(self, wire: type[Wire]) -> Plan:
        """Return how a generated wire struct is decoded at present."""
        return self._plans.get(wire) or self._make_plan(wire)

    def adapt(self, wire: type[Wire], rows: Iterable[dict[str, Any]], *, widen: bool) -> bool:
        """Learn the unknown keys of raw rows, or widen the fields whose values do not fit, nested ones included.

        Return False if there were none. To look for odd values takes ten times as long as to convert a row.
        """
        with self._lock:
            before = self._extent()
            for row in rows:
                self._adapt_to(wire, row, widen=widen)
            grown = self._extent() > before
            if grown:
                self._plans.clear()
        return grown

    def _extent(self) -> int:
        return len(self._widened) + sum(map(len, self._learned.values()))

    def _adapt_to(self, wire: type[Wire], row: dict[str, Any], *, widen: bool) -> None:
        fields, learned = wire_fields(wire), self._learned.setdefault(wire, {})
        for key, value in row.items():
            field = fields.get(key)
            if field is None:
                if key not in learned:
                    fitting = key != SPARE and len(key) <= MAX_KEY_LENGTH and not _UNNAMEABLE.search(key)
                    learned[key if fitting and len(learned) < MAX_KEYS else SPARE] = None
                continue
            if widen and value is not None and field not in self._widened:
                is_doubled = field.alias_of is not None and row.get(field.alias_of) is not None
                has_spare = field.child is not None and SPARE in self._learned.get(field.child, ())
                if is_doubled or has_spare or not fits(field, value):
                    self._widened.add(field)
            if field.child is not None:
                for item in value if field.many and isinstance(value, list) else (value,):
                    if isinstance(item, dict):
                        self._adapt_to(field.child, item, widen=widen)

    def is_first_warning(self, operation: str, path: str) -> bool:
        """Return whether this warning has not been given yet, and remember it."""
        if (operation, path) in self._warned:
            return False
        if len(self._warned) < MAX_WARNED:
            self._warned.add((operation, path))
        return True

    def _make_plan(self, wire: type[Wire]) -> Plan:
        with self._lock:
            if (found := self._plans.get(wire)) is not None:
                return found
            fields = wire_fields(wire).values()
            plans = {field: self.plan(field.child) for field in fields if field.child is not None}
            learned = list(self._learned.get(wire, ()))
            widened = [field for field in fields if field in self._widened]
            adapted: dict[WireField, Any] = {
                field: list[plan.variant] if field.many else plan.variant  # type: ignore[name-defined]
                for field, plan in plans.items()
                if plan.variant is not field.child
            }
            variant: type[Wire] = wire
            if learned or widened or adapted:
                definitions = list[Any]()
                for field in fields:
                    kind: Any = Any if field in widened else adapted.get(field, field.type)
                    if kind is not Any and field in adapted:
                        kind = kind | str | None if "str" in field.scalars else kind | None
                    definitions.append((field.attribute, kind, msgspec.field(default=None, name=field.key)))
                for number, key in enumerate(learned):
                    kind = Spare if key is SPARE else Any
                    definitions.append((f"learned_{number}", kind, msgspec.field(default=msgspec.UNSET, name=key)))
                methods = {**variant_methods(wire, learned, widened), "__doc__": wire.__doc__}
                variant = msgspec.defstruct(  # type: ignore[assignment]
                    wire.__name__, definitions, bases=(Wire,), namespace=methods, module=wire.__module__
                )
            below = tuple(
                (field, plan)
                for field, plan in plans.items()
                if not plan.is_typed or (field.many and plan.variant is not field.child)
            )
            loose = tuple((field, plans.get(field)) for field in widened)
            plan = self._plans[wire] = Plan(wire, variant, loose, below)
            return plan


#: The registry of the process.
REGISTRY = DecoderRegistry()


def variant_methods(wire: type[Wire], learned: Sequence[str], widened: Iterable[WireField] = ()) -> dict[str, Any]:
    """Return the methods of a variant, which puts learned keys, and values that do not fit, into ``extra``."""
    learned_attributes = [(f"learned_{number}", key) for number, key in enumerate(learned)]
    loose = [field.attribute for field in widened]
    unset, put = msgspec.UNSET, object.__setattr__

    def build_all(structs: Sequence[Any]) -> Sequence[Any]:
        extras: dict[int, dict[str, Any]] = {}
        for attribute, key in learned_attributes:
            for index, struct in enumerate(structs):
                if (value := getattr(struct, attribute)) is unset:
                    continue
                if key is SPARE:
                    extras.setdefault(index, {}).update(value)
                else:
                    extras.setdefault(index, {})[key] = value
        for attribute in loose:
            for index, struct in enumerate(structs):
                if (value := getattr(struct, attribute)).__class__ is Kept:
                    setattr(struct, attribute, value.value)
                    extras[index] = {**extras[index], **value.extra} if index in extras else value.extra
        models = wire.build_new(structs)
        for index, extra in extras.items():
            model = models[index]
            put(model, "extra", raw_object({**model.extra, **extra} if model.extra else extra))
        return models

    return {"build_all": staticmethod(build_all)}
