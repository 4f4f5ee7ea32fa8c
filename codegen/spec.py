"""What the schema says, as plain values: the one form that all templates are rendered from."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

SCALARS = ("string", "integer", "boolean", "decimal", "date", "date-time")


@attrs.frozen(kw_only=True)
class Type:
    """The type of a field or parameter.

    ``kind`` is one of the SCALARS, or ``identifier`` (text or integer), ``enum``, ``model`` (both with ``name``) or
    ``object`` (open JSON); ``array`` when there are several; ``wire`` lists the other JSON forms that it arrives in;
    ``minimum`` and ``maximum`` bound an integer, both included.
    """

    kind: str
    name: str | None = None
    array: bool = False
    wire: tuple[str, ...] = ()
    secret: bool = False
    min_items: int | None = None
    minimum: int | None = None
    maximum: int | None = None


@attrs.frozen(kw_only=True)
class Field:
    """One property of an object."""

    name: str
    wire: str
    type: Type
    description: str
    required: bool = False
    observed: bool = False
    aliases: tuple[str, ...] = ()


@attrs.frozen(kw_only=True)
class Rule:
    """One rule of ``x-rules``: the keyword arguments of ``brokerage_async.operation.Rule``, in order."""

    arguments: tuple[tuple[str, object], ...]


@attrs.frozen(kw_only=True)
class Model:
    """An object of the schema; ``shared`` when few values of it occur over and over."""

    name: str
    description: str
    section: str
    fields: tuple[Field, ...]
    rules: tuple[Rule, ...] = ()
    observed: bool = False
    shared: bool = False


@attrs.frozen(kw_only=True)
class Enum:
    """A set of values of the schema; ``members`` are (Python name, value)."""

    name: str
    description: str
    section: str
    members: tuple[tuple[str, str], ...]
    observed_values: tuple[str, ...] = ()
    observed: bool = False


@attrs.frozen(kw_only=True)
class Parameter:
    """One path or query parameter."""

    name: str
    wire: str
    location: str
    type: Type
    description: str
    required: bool = False
    observed: bool = False


@attrs.frozen(kw_only=True)
class Operation:
    """One endpoint. ``shape`` is as in ``brokerage_async.operation.Shape``; ``result`` names the model, if any."""

    name: str
    method: str
    path: str
    summary: str
    description: str
    section: str
    effect: str
    scope: str | None
    shape: str
    result: str | None
    returns: str
    status: int
    errors: tuple[int, ...]
    parameters: tuple[Parameter, ...]
    body: str | None = None
    body_name: str = "body"
    body_required: bool = False
    flatten_body: bool = False
    rules: tuple[Rule, ...] = ()
    production_only: bool = False
    observed: bool = False

    @property
    def namespace(self) -> str:
        """``orders`` of ``orders.submit``."""
        return self.name.partition(".")[0]

    @property
    def python_name(self) -> str:
        """``submit`` of ``orders.submit``."""
        return self.name.partition(".")[2]


@attrs.frozen(kw_only=True)
class Spec:
    """Everything that is generated from: models and enums in the order of the schema, operations by path; ``digest``
    is that of the files."""

    models: dict[str, Model]
    enums: dict[str, Enum]
    operations: tuple[Operation, ...]
    namespaces: dict[str, str]
    digest: str

    def request_models(self) -> Iterator[Model]:
        """The models of request bodies with everything nested in them, the nested ones first."""
        seen: set[str] = set()
        for operation in self.operations:
            if operation.body is not None:
                yield from self._with_nested(operation.body, seen)

    def _with_nested(self, name: str, seen: set[str]) -> Iterator[Model]:
        if name in seen:
            return
        seen.add(name)
        for field in self.models[name].fields:
            if field.type.kind == "model" and field.type.name is not None:
                yield from self._with_nested(field.type.name, seen)
        yield self.models[name]
