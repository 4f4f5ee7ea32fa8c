"""Renders ``_generated/endpoints.py``: one class per namespace, one method per operation, with its documentation."""

from __future__ import annotations

import textwrap

import attrs
from jinja2 import Environment

from ..naming import constant, pascal
from ..spec import Field, Operation, Parameter, Spec, Type
from .operations import result_type

#: The token endpoint is the business of the token manager, not a method of the client.
PRIVATE_NAMESPACES = ("oauth",)

_PYTHON = {
    "string": "str",
    "identifier": "int | str",
    "integer": "int",
    "boolean": "bool",
    "decimal": "Decimal",
    "date": "date",
    "date-time": "datetime",
}

_ERRORS = {
    400: "BadRequestError",
    401: "AuthenticationError",
    403: "PermissionDeniedError",
    404: "NotFoundError",
    406: "VersionNotSupportedError",
    422: "UnprocessableError",
    429: "RateLimitError",
}


@attrs.frozen(kw_only=True)
class Method:
    """The source of one endpoint method, piece by piece."""

    name: str
    constant: str
    signature: str
    returns: str
    docstring: str
    path: tuple[tuple[str, str], ...]
    query: tuple[tuple[str, str], ...]
    body: str
    paginated: bool


@attrs.frozen(kw_only=True)
class Namespace:
    """The source of one class of endpoints."""

    name: str
    attribute: str
    description: str
    methods: tuple[Method, ...]


def render(spec: Spec, environment: Environment) -> str:
    """The source of the module, not yet formatted."""
    namespaces = []
    for attribute, description in spec.namespaces.items():
        operations = [operation for operation in spec.operations if operation.namespace == attribute]
        if operations and attribute not in PRIVATE_NAMESPACES:
            names = {operation.python_name for operation in operations}
            methods = tuple(_method(operation, spec, "list" in names) for operation in operations)
            namespaces.append(
                Namespace(name=pascal(attribute), attribute=attribute, description=description, methods=methods)
            )
    public = [operation for operation in spec.operations if operation.namespace not in PRIVATE_NAMESPACES]
    return environment.get_template("endpoints.py.jinja2").render(
        namespaces=namespaces,
        constants=sorted(constant(operation.name) for operation in public),
        models=sorted([*spec.models, *spec.enums]),
    )


def _method(operation: Operation, spec: Spec, list_is_taken: bool) -> Method:
    returns = result_type(operation)
    if operation.shape == "page":
        returns = f"Pager[{operation.result}]"
    elif list_is_taken:
        returns = returns.replace("list[", "builtins.list[")
    flat = spec.models[operation.body].fields if operation.body and operation.flatten_body else ()
    body = operation.body_name if operation.body else ""
    if flat:
        body = f"{operation.body}({', '.join(f'{field.name}={_for_model(field)}' for field in flat)})"
    return Method(
        name=operation.python_name,
        constant=constant(operation.name),
        signature=_signature(operation, flat),
        returns=returns,
        docstring=_docstring(operation, flat),
        path=_arguments(operation, "path"),
        query=_arguments(operation, "query"),
        body=body,
        paginated=operation.shape == "page",
    )


def _for_model(field: Field) -> str:
    """Only text becomes a member: anything else goes on as it is, for validation to name it."""
    if field.type.kind != "enum":
        return field.name
    return f"{field.type.name}({field.name}) if isinstance({field.name}, str) else {field.name}"


def _arguments(operation: Operation, location: str) -> tuple[tuple[str, str], ...]:
    return tuple((each.wire, each.name) for each in operation.parameters if each.location == location)


def _annotation(type_: Type) -> str:
    """Enumerations are open, and their members are text: any text is taken."""
    python = f"{type_.name} | str" if type_.kind == "enum" else _PYTHON.get(type_.kind, str(type_.name))
    return f"Sequence[{python}]" if type_.array else python


def _signature(operation: Operation, flat: tuple[Field, ...]) -> str:
    required = [f"{each.name}: {_annotation(each.type)}" for each in operation.parameters if each.required]
    if operation.body and not flat:
        wanted = f"{operation.body_name}: {operation.body}"
        required.append(wanted if operation.body_required else f"{wanted} | None = None")
    optional: list[Parameter | Field] = [each for each in operation.parameters if not each.required]
    keywords = [f"{each.name}: {_annotation(each.type)} | None = None" for each in (*optional, *flat)]
    return ", ".join(["self", *required, *(["*"] if keywords else []), *keywords])


def _docstring(operation: Operation, flat: tuple[Field, ...]) -> str:
    observed = " Observed on the wire; the service document does not describe it." if operation.observed else ""
    blocks = [_filled(operation.summary)]
    if operation.description:
        blocks.append(_filled(operation.description))
    if arguments := _argument_lines(operation, flat):
        blocks.append("Args:\n" + "\n".join(arguments))
    if operation.result:
        one = "The pages of the list, fetched as they are used. " if operation.shape == "page" else ""
        blocks.append("Returns:\n" + _filled(f"{one}{operation.returns}", "    "))
    blocks.append("Raises:\n" + "\n".join(_raise_lines(operation)))
    blocks.append(
        _filled(
            f"``{operation.method} {operation.path}``; section of the service document: {operation.section}.{observed}"
        )
    )
    return "\n\n".join(blocks)


def _argument_lines(operation: Operation, flat: tuple[Field, ...]) -> list[str]:
    after: list[Parameter | Field] = [each for each in operation.parameters if not each.required]
    lines = [_entry(each.name, each.description, each.observed) for each in operation.parameters if each.required]
    if operation.body and not flat:
        lines.append(_entry(operation.body_name, f"The {operation.body} to send.", False))
    return lines + [_entry(each.name, each.description, each.observed) for each in (*after, *flat)]


def _raise_lines(operation: Operation) -> list[str]:
    lines = [f"    errors.{_ERRORS[status]}: {status}." for status in operation.errors if status in _ERRORS]
    checked = "ConfigurationError" if operation.body is None and not operation.rules else "InvalidRequestError"
    why = "an argument cannot be sent" if checked == "ConfigurationError" else "the arguments break documented rules"
    lines.append(f"    errors.{checked}: {why}; nothing was sent.")
    if operation.effect == "mutate":
        lines.append("    errors.ResponseLostError: sent, but no answer came; it may have been done.")
    return lines


def _entry(name: str, description: str, observed: bool) -> str:
    text = f"{name}: {description}{' (Observed.)' if observed else ''}"
    return textwrap.fill(text, 108, initial_indent="    ", subsequent_indent="        ")


def _filled(text: str, indent: str = "") -> str:
    return textwrap.fill(text, 108, initial_indent=indent, subsequent_indent=indent)
