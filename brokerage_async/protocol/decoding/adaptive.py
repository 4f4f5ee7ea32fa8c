"""The keys that were loosened in each wire struct, and its variants: a state that is bounded in entries and bytes."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from decimal import Decimal
from operator import attrgetter
from typing import Any

import attrs
import msgspec

from ..._wire import Wire
from .fields import WireField, fits, wire_fields

#: Unknown keys that one type may learn, and the longest: an object whose keys are data would grow without end.
MAX_KEYS, MAX_KEY_LENGTH = 64, 128

SPARE = None  # stands for the unknown keys that are not learned: they are taken out of raw rows
_UNNAMEABLE = re.compile(r'["\\\x00-\x1f\ud800-\udfff]|^items$')  # msgspec refuses such names; items may wrap one row
_LOCK = threading.RLock()  # held while msgspec meets a type: another thread that uses it half-built crashes the process


@attrs.define(eq=False)
class Plan:
    """How rows of one model are decoded at present."""

    wire: type[Wire]
    variant: type[Wire]  # the struct that msgspec fills: the generated one, unless it or one below has loose keys
    learned: Sequence[tuple[str, str]] = ()  # attributes of unknown keys in the variant, with their keys
    loose: Sequence[WireField] = ()  # also all aliases: beside its proper key, the raw JSON of one is needed
    nested: Sequence[tuple[WireField, Plan]] = ()  # fields whose rows have another struct than the generated one
    has_spare: bool = False  # whether there are unknown keys that are not learned
    has_lists: bool = False  # whether structs hold lists of structs, which weigh on the garbage collector
    always: Sequence[tuple[str, attrgetter[str]]] = attrs.field(init=False)  # keys of every answer, and their values
    _decoders: dict[Any, msgspec.json.Decoder[Any]] = attrs.field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        fields = wire_fields(self.wire).items()
        self.always = [(key, attrgetter(field.target)) for key, field in fields if field.always]

    def decoder(self, form: Any) -> msgspec.json.Decoder[Any]:
        """Return the decoder for ``form[variant]``, such as ``list[variant]``. For the bare variant with None."""
        found = self._decoders.get(id(form))  # generic aliases have a slow hash, and forms are constants
        if found is None:
            kind: Any = self.variant if form is None else form[self.variant]
            with _LOCK:
                found = self._decoders[id(form)] = msgspec.json.Decoder(kind, float_hook=Decimal)
        return found


class DecoderRegistry:
    """The state of the decoders: the loose keys of each struct, the plans made from them, and the warnings given."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Return to the schema, with no warning given yet."""
        with _LOCK:
            self._loose: dict[type[Wire], dict[str | None, None]] = {}
            self._plans: dict[type[Wire], Plan] = {}
            self.readers: dict[Any, tuple[Plan, msgspec.json.Decoder[Any]]] = {}  # by operation, as `codec` keeps them
            self.warned: set[tuple[str, str]] = set()  # operations and paths

    def plan(self, wire: type[Wire]) -> Plan:
        """Return how a generated wire struct is decoded at present."""
        if (plan := self._plans.get(wire)) is not None:
            return plan
        with _LOCK:
            fields, keys = wire_fields(wire), self._loose.get(wire, {})
            below = {field: self.plan(field.child) for field in fields.values() if field.child is not None}
            adapted = {field: plan for field, plan in below.items() if plan.variant is not plan.wire}
            plan = Plan(wire, wire, has_lists=any(field.many for field in below))
            if keys or adapted:
                spare = {field.key for field, plan in adapted.items() if plan.has_spare}
                loose = [field for key, field in fields.items() if key in keys or field.alias_of or key in spare]
                nested = [(field, below[field]) for field in below if field in adapted or field in loose]
                unknown = [key for key in keys if key is not None and key not in fields]
                learned = [(f"learned_{number}", key) for number, key in enumerate(unknown)]
                types: dict[WireField, Any] = {field: field.type for field in fields.values()}
                for field, other in nested:
                    kind: Any = list[other.variant] if field.many else other.variant  # type: ignore[name-defined]
                    types[field] = kind | str | None if "str" in field.scalars else kind | None
                types |= dict.fromkeys(loose, Any)
                names: list[Any] = [(field.attribute, kind, field.key, None) for field, kind in types.items()]
                names += [(name, Any, key, msgspec.UNSET) for name, key in learned]
                definitions = [(name, kind, msgspec.field(default=none, name=key)) for name, kind, key, none in names]
                variant: Any = msgspec.defstruct(wire.__name__, definitions, bases=(Wire,))
                plan = Plan(wire, variant, learned, loose, nested, SPARE in keys, plan.has_lists)
            msgspec.convert([], list[plan.variant])  # type: ignore[name-defined]
            return self._plans.setdefault(wire, plan)

    def adapt(self, wire: type[Wire], rows: Sequence[dict[str, Any]], odd: dict[str, Any]) -> None:
        """Loosen the unknown keys of raw rows, and the keys of an odd one whose values do not fit, at any depth.

        To look for such values takes ten times as long as to convert a row.
        """
        with _LOCK:
            for row in rows:
                self._adapt_to(wire, row, is_odd=row is odd)

    def _adapt_to(self, wire: type[Wire], row: dict[Any, Any], *, is_odd: bool) -> None:
        fields, loose = wire_fields(wire), self._loose.setdefault(wire, {})
        for key, value in row.items():
            loosened: str | None = key
            if (field := fields.get(key)) is not None and field.child is not None:
                for item in value if field.many and isinstance(value, (list, tuple)) else (value,):
                    if isinstance(item, dict):
                        self._adapt_to(field.child, item, is_odd=is_odd)
            if key in loose:
                continue
            if field is None:
                is_nameable = len(key) <= MAX_KEY_LENGTH and not _UNNAMEABLE.search(key)
                loosened = key if is_nameable and len(loose.keys() - fields.keys()) < MAX_KEYS else SPARE
            elif not is_odd or value is None or (fits(field, value) and row.get(field.alias_of) is None):
                continue
            if loosened not in loose:
                loose[loosened] = None
                self._plans = {}
                self.readers = {}  # after the plans, or one that is out of date could be kept here


REGISTRY = DecoderRegistry()  # of the process
