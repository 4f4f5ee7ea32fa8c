"""Renderer of ``_generated/endpoints.py``: one class per namespace, one documented method per operation."""

from __future__ import annotations

from typing import Any

from ..naming import constant, pascal
from ..spec import Field, Operation, Parameter, Spec, Type
from . import docstrings
from .operations import result_type

#: Namespaces without endpoint methods: the token manager calls the token endpoint itself.
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

#: Exception and cause of each error status, for the docstrings.
ERRORS = {
    400: ("BadRequestError", "malformed page or filter value"),
    401: ("AuthenticationError", "access token or User-Agent header rejected"),
    403: ("PermissionDeniedError", "scope or account authority missing"),
    404: ("NotFoundError", "resource not found"),
    406: ("VersionNotSupportedError", "Accept-Version no longer served"),
    422: ("UnprocessableError", "request refused"),
    429: ("RateLimitError", "rate limit exceeded"),
}


def values(spec: Spec) -> dict[str, Any]:
    """Return the values for the template."""
    public = [operation for operation in spec.operations if operation.namespace not in PRIVATE_NAMESPACES]
    namespaces = []
    for attribute, description in spec.namespaces.items():
        if operations := [operation for operation in public if operation.namespace == attribute]:
            names = {operation.python_name for operation in operations}
            methods = [_method(operation, spec, "list" in names) for operation in operations]
            head = {"name": pascal(attribute), "attribute": attribute, "description": description}
            namespaces.append({**head, "methods": methods})
    return {
        "namespaces": namespaces,
        "constants": sorted(constant(operation.name) for operation in public),
        "models": sorted([*spec.models, *spec.enums]),
    }


def _method(operation: Operation, spec: Spec, list_is_taken: bool) -> dict[str, Any]:
    """Return the source of one method, in pieces."""
    returns = result_type(operation)
    if operation.shape == "page":
        returns = f"Pager[{operation.result}]"
    elif list_is_taken:
        returns = returns.replace("list[", "builtins.list[")
    flat = spec.models[operation.body].fields if operation.body and operation.flatten_body else ()
    body = [f"body={operation.body_name}"] if operation.body else []
    if flat:
        body = [f"body={operation.body}({', '.join(f'{field.name}={_model_argument(field)}' for field in flat)})"]
    return {
        "name": operation.python_name,
        "constant": constant(operation.name),
        "signature": _signature(operation, flat),
        "returns": returns,
        "docstring": _docstring(operation, flat),
        "arguments": ", ".join([*(f"{each.name}={each.name}" for each in operation.parameters), *body]),
        "paginated": operation.shape == "page",
    }


def _model_argument(field: Field) -> str:
    """Return the expression of a flattened field. Validation reports values that are not a `str`."""
    if field.type.kind != "enum":
        return field.name
    return f"{field.type.name}({field.name}) if isinstance({field.name}, str) else {field.name}"


def _annotation(type_: Type) -> str:
    """Return the annotation of an argument. Enumerations are open, so any `str` is accepted."""
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
    blocks = [docstrings.fill(operation.summary)]
    if operation.description:
        blocks.append(docstrings.fill(operation.description))
    required = [each for each in operation.parameters if each.required]
    others: list[Parameter | Field] = [each for each in operation.parameters if not each.required]
    arguments = [_entry(each, operation.provenance) for each in required]
    if operation.body and not flat:
        arguments.append(docstrings.fill(f"{operation.body_name}: Request body.", "    ", "        "))
    if arguments := arguments + [_entry(each, operation.provenance) for each in (*others, *flat)]:
        blocks.append("Args:\n" + "\n".join(arguments))
    if operation.result:
        pages = f"A pager over `{operation.result}` objects. Pages are fetched lazily."
        blocks.append("Returns:\n" + docstrings.fill(pages if operation.shape == "page" else operation.returns, "    "))
    if raised := _raise_lines(operation):
        heading = "Raises (while iterating):" if operation.shape == "page" else "Raises:"
        blocks.append("\n".join([heading, *raised]))
    request = f"``{operation.method} {operation.path}``" + (f" on host ``{operation.host}``" if operation.host else "")
    request += f", interface version {operation.version}" if operation.version else ""
    blocks.append(docstrings.fill(docstrings.source(operation.section, operation.provenance, request)))
    return "\n\n".join(blocks)


def _raise_lines(operation: Operation) -> list[str]:
    raised = [(status, *ERRORS[status]) for status in operation.errors if status in ERRORS]
    lines = [f"    errors.{name}: {cause} ({status})." for status, name, cause in raised]
    if operation.parameters or operation.body:
        lines.append("    errors.InvalidRequestError: an argument breaks a documented rule; nothing was sent.")
    causes = {
        f"host {operation.host} missing in the environment": operation.host is not None,
        "read-only client": operation.effect == "mutate",
        "sandbox environment": operation.production_only,
    }
    if refusals := [cause for cause, applies in causes.items() if applies]:
        lines.append(f"    errors.ConfigurationError: {', '.join(refusals)}; nothing was sent.")
    if operation.effect == "mutate":
        lines.append("    errors.ResponseLostError: no response arrived; the request may have been processed.")
    return lines


def _entry(each: Parameter | Field, owner: str) -> str:
    entry = f"{each.name}: {docstrings.with_provenance(each.description, each.provenance, owner)}"
    return docstrings.fill(entry, "    ", "        ")
