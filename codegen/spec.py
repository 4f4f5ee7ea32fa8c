"""The schema as plain values, the single input of all renderers."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import attrs
import msgspec

SCALARS = ("string", "integer", "boolean", "decimal", "date", "date-time")


@attrs.frozen(kw_only=True)
class Type:
    """Type of a field or parameter.

    Attributes:
        kind: One of ``SCALARS``, or ``identifier`` (`str` or `int`), ``enum``, ``model``, ``object`` (any JSON object).
        name: Name of the enumeration or model.
        array: Whether the value is an array of such items.
        wire: Further JSON forms of the value, as declared by ``x-wire``.
        number: Whether a decimal is written as a JSON number.
        secret: Whether representations hide the value.
        min_items: Minimum length of an array.
        minimum: Lower bound of an integer, included.
        maximum: Upper bound of an integer, included.
    """

    kind: str
    name: str | None = None
    array: bool = False
    wire: tuple[str, ...] = ()
    number: bool = False
    secret: bool = False
    min_items: int | None = None
    minimum: int | None = None
    maximum: int | None = None


@attrs.frozen(kw_only=True)
class Field:
    """Property of an object: ``name`` in Python, ``wire`` in JSON. An ``always`` one is a string, empty if absent."""

    name: str
    wire: str
    type: Type
    description: str
    required: bool = False
    always: bool = False
    provenance: str = "documented"
    aliases: tuple[str, ...] = ()


Rule = dict[str, object]
"""Rule of a request, as ordered keyword arguments of ``brokerage_async.operation.Rule``."""


@attrs.frozen(kw_only=True)
class Restatement:
    """Class method ``of``, which builds a model from one of ``sources`` with its fields ``names``."""

    sources: tuple[str, ...]
    names: tuple[str, ...]


@attrs.frozen(kw_only=True)
class Model:
    """Object of the schema. Equal instances of a ``shared`` model become one object.

    ``identity`` holds the Python names of the fields that identify an object in a list, None if unknown.
    """

    name: str
    description: str
    section: str
    fields: tuple[Field, ...]
    rules: tuple[Rule, ...] = ()
    service_rules: tuple[Rule, ...] = ()
    provenance: str = "documented"
    shared: bool = False
    identity: tuple[str, ...] | None = None
    restates: Restatement | None = None


@attrs.frozen(kw_only=True)
class Enum:
    """Enumeration of the schema; ``members`` are pairs of Python name and value.

    If it ``ignores_case``, values are read in any letter case. ``takes`` and ``transitions`` are ``x-takes`` and
    ``x-transitions``.
    """

    name: str
    description: str
    section: str
    members: tuple[tuple[str, str], ...]
    observed_values: tuple[str, ...] = ()
    ignores_case: bool = False
    provenance: str = "documented"
    takes: dict[str, Any] = attrs.field(factory=dict)
    transitions: dict[str, Any] = attrs.field(factory=dict)


@attrs.frozen(kw_only=True)
class Parameter:
    """Path or query parameter: ``name`` in Python, ``wire`` in the URL. A ``joined`` array is one value with commas."""

    name: str
    wire: str
    location: str
    type: Type
    description: str
    required: bool = False
    provenance: str = "documented"
    joined: bool = False


@attrs.frozen(kw_only=True)
class Operation:
    """Endpoint of the service, in the order in which its data are written.

    ``shape`` is a value of ``brokerage_async.operation.Shape``. ``result`` and ``body`` are names of models.
    ``identity`` holds the fields that identify a row of a list. ``host`` names another host than the service's.
    ``version``, ``page_size`` and ``default_start`` are ``x-version``, ``x-page-size`` and ``x-default-start``.
    ``one_or_many``: the answer is a resource or a list, and ``x-result`` says which the method returns.
    """

    name: str
    method: str
    path: str
    effect: str
    shape: str
    result: str | None
    status: int
    identity: tuple[str, ...] = ()
    scope: str | None
    parameters: tuple[Parameter, ...]
    body: str | None = None
    body_required: bool = False
    rules: tuple[Rule, ...] = ()
    service_rules: tuple[Rule, ...] = ()
    production_only: bool = False
    host: str | None = None
    deprecated: bool = False
    is_public: bool = False
    provenance: str = "documented"
    version: str | None = None
    page_size: int | None = None
    one_or_many: bool = False
    default_start: str | None = None
    section: str
    summary: str
    description: str
    returns: str
    errors: tuple[int, ...]
    body_name: str = "body"
    flatten_body: bool = False

    @property
    def namespace(self) -> str:
        """Namespace, such as ``orders`` in ``orders.submit``."""
        return self.name.partition(".")[0]

    @property
    def python_name(self) -> str:
        """Method name, such as ``submit`` in ``orders.submit``."""
        return self.name.partition(".")[2]


Grade = Literal["documented", "recorded", "published", "client", "invented"]
_Text = Annotated[str, msgspec.Meta(min_length=1)]


class RecordedBehaviour(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Entry of the list of recorded behaviour, see the head of ``schema/behaviours.yaml``."""

    id: str
    statement: _Text
    grade: Grade
    source: _Text
    test: _Text
    switch: bool = True
    unasked: str = ""
    facts: tuple[str, ...] = ()


class Transition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="kebab"):
    """Entry of ``x-transitions``: the phase of a status, and the values that may follow, each with its reason."""

    phase: Literal["submission", "working", "terminal"]
    grade: Grade
    followed_by: dict[str, str]


@attrs.frozen(kw_only=True)
class Spec:
    """Whole schema: models and enumerations in file order, operations in path order.

    ``namespaces`` maps each namespace to its description. ``digest`` is the SHA-256 of the schema files.
    """

    models: dict[str, Model]
    enums: dict[str, Enum]
    operations: tuple[Operation, ...]
    namespaces: dict[str, str]
    digest: str
    behaviours: tuple[RecordedBehaviour, ...] = ()
    stream_caps: dict[str, Any] = attrs.field(factory=dict)

    @property
    def takes(self) -> Enum | None:
        """Enumeration with ``x-takes``: the types of orders."""
        return next((enum for enum in self.enums.values() if enum.takes), None)

    def request_models(self) -> Iterator[Model]:
        """Yield the models of request bodies, nested models first."""
        visited: set[str] = set()
        for operation in self.operations:
            if operation.body is not None:
                yield from self._with_nested(operation.body, visited)

    def _with_nested(self, name: str, visited: set[str]) -> Iterator[Model]:
        if name in visited:
            return
        visited.add(name)
        for field in self.models[name].fields:
            if field.type.kind == "model" and field.type.name is not None:
                yield from self._with_nested(field.type.name, visited)
        yield self.models[name]
