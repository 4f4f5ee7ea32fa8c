"""Renderer of ``_generated/endpoints.py``: one class per namespace, one documented method per operation."""

from typing import Any

from ..naming import constant, pascal
from ..spec import Field, Operation, Parameter, Spec
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
    """Return the pieces of one method: each of its arguments is a name, an annotation and a meaning."""
    returns = result_type(operation)
    if operation.shape == "page":
        returns = f"Pager[{operation.result}]"
    elif list_is_taken:
        returns = returns.replace("list[", "builtins.list[")
    flat = spec.models[operation.body].fields if operation.body and operation.flatten_body else ()
    body = [f"body={operation.body_name}"] if operation.body else []
    if flat:  # validation reports values that are not a `str`
        given = {each.name: each.name for each in flat}
        enums = [(each.name, each.type.name) for each in flat if each.type.kind == "enum"]
        given |= {name: f"{kind}({name}) if isinstance({name}, str) else {name}" for name, kind in enums}
        body = [f"body={operation.body}({', '.join(f'{name}={value}' for name, value in given.items())})"]
    required = [_argument(each, operation) for each in operation.parameters if each.required]
    if operation.body and not flat:
        annotation = operation.body if operation.body_required else f"{operation.body} | None = None"
        required.append((operation.body_name, annotation, "Request body."))
    optional = [_argument(each, operation) for each in operation.parameters if not each.required]
    request = f"``{operation.method} {operation.path}``" + (f" on host ``{operation.host}``" if operation.host else "")
    request += f", interface version {operation.version}" if operation.version else ""
    return {
        "operation": operation,
        "constant": constant(operation.name),
        "required": required,
        "optional": [*optional, *(_argument(each, operation) for each in flat)],
        "returns": returns,
        "raised": _raised(operation),
        "source": docstrings.source(operation.section, operation.provenance, request),
        "passed": ", ".join([*(f"{each.name}={each.name}" for each in operation.parameters), *body]),
    }


def _argument(each: Parameter | Field, operation: Operation) -> tuple[str, str, str]:
    """Return name, annotation and meaning. Enumerations are open, so any `str` is accepted."""
    kind, name = each.type.kind, each.type.name
    python = f"{name} | str" if kind == "enum" else _PYTHON.get(kind, str(name))
    meaning = docstrings.with_provenance(each.description, each.provenance, operation.provenance)
    return each.name, f"Sequence[{python}]" if each.type.array else python, meaning


def _raised(operation: Operation) -> list[str]:
    raised = [(status, *ERRORS[status]) for status in operation.errors if status in ERRORS]
    lines = [f"{name}: {cause} ({status})." for status, name, cause in raised]
    if operation.parameters or operation.body:
        lines.append("InvalidRequestError: an argument breaks a documented rule; nothing was sent.")
    causes = {
        f"host {operation.host} missing in the environment": operation.host is not None,
        "read-only client": operation.effect == "mutate",
        "sandbox environment": operation.production_only,
    }
    if refusals := [cause for cause, applies in causes.items() if applies]:
        lines.append(f"ConfigurationError: {', '.join(refusals)}; nothing was sent.")
    if operation.effect == "mutate":
        lines.append("ResponseLostError: no response arrived; the request may have been processed.")
    return lines
