"""Pages of the operations, one per namespace: parameters, body, wire form, errors, provenance."""

from __future__ import annotations

import inspect
from typing import Any

from brokerage_async._generated import endpoints
from codegen.naming import pascal
from codegen.render.endpoints import ERRORS, PRIVATE_NAMESPACES
from codegen.spec import Operation, Spec, Type

from .markdown import cell, code, reference, table

__all__ = ["namespaces", "render", "type_cell"]

PROVENANCE = {
    "documented": "documented by the service",
    "recorded": "recorded from the service, not documented",
    "published": "published by the service, not recorded",
    "client": "known from other clients only",
}
EFFECTS = {
    "read": "reads; repeated after a failure",
    "preflight": "checks in advance, changes nothing; repeated after a failure",
    "mutate": "**changes something**; never repeated once it may have arrived",
}
ENVELOPES = {
    "one": '`{"data": {...}}`',
    "many": '`{"data": {"items": [...]}}`',
    "page": '`{"data": {"items": [...]}, "pagination": {...}}`, page by page',
    "bare": "a JSON object without an envelope",
    "bare_many": "a JSON array without an envelope",
}


def namespaces(spec: Spec) -> list[str]:
    """Return the namespaces of a client that have operations."""
    used = {operation.namespace for operation in spec.operations}
    return [name for name in spec.namespaces if name in used and name not in PRIVATE_NAMESPACES]


def render(spec: Spec) -> dict[str, str]:
    """Return the pages by file name."""
    return {f"{name}.md": _page(name, spec) for name in namespaces(spec)}


def _page(namespace: str, spec: Spec) -> str:
    operations = [each for each in spec.operations if each.namespace == namespace]
    objects = f"Objects and enumerations: [those of {namespace}](../objects/{namespace}.md)."
    head = f"# client.{namespace}\n\n{cell(spec.namespaces[namespace])}\n\n{objects}\n"
    return "\n".join([head, *(_section(each, spec) for each in operations)])


def _section(operation: Operation, spec: Spec) -> str:
    blocks = [f"## {operation.python_name}", _signature(operation), cell(operation.summary)]
    blocks += [cell(operation.description), _facts(operation), _arguments(operation), _body(operation, spec)]
    blocks += [_rules(operation, spec), _result(operation), _errors(operation)]
    return "\n\n".join(block.strip() for block in blocks if block) + "\n"


def _signature(operation: Operation) -> str:
    """Return a directive that puts the method, with its real signature, into index and search."""
    method = getattr(getattr(endpoints, pascal(operation.namespace)), operation.python_name)
    signature = inspect.signature(method)
    own = signature.replace(parameters=list(signature.parameters.values())[1:])
    shown = str(own).replace("'", "").replace("builtins.", "")
    waits = ":async:\n" if inspect.iscoroutinefunction(method) else ""
    return f"```{{py:method}} client.{operation.name}{shown}\n{waits}:no-contents-entry:\n```"


def _facts(operation: Operation) -> str:
    environments = "production only" if operation.production_only else "production and sandbox"
    section = f", section {operation.section} of its document" if operation.section else ""
    host = operation.host
    on_host = f" on host {code(host)}, whose address `Environment(hosts=...)` gives" if host else ""
    rows = [
        ("Request", code(f"{operation.method} {operation.path}") + on_host),
        ("Effect", EFFECTS[operation.effect]),
        ("Scope", code(operation.scope) if operation.scope else "none"),
        ("Environments", environments),
        ("Source", PROVENANCE[operation.provenance] + cell(section)),
    ]
    return table(("", ""), rows)


def _arguments(operation: Operation) -> str:
    rows = []
    for each in operation.parameters:
        place = f"{code(each.wire)} in the {each.location}{', values joined by commas' if each.joined else ''}"
        meaning = cell(each.description)
        if each.provenance not in (operation.provenance, "documented"):
            meaning += f" ({PROVENANCE.get(each.provenance, each.provenance)})"
        rows.append((code(each.name), place, type_cell(each.type), "yes" if each.required else "", meaning))
    return table(("Argument", "On the wire", "Type", "Required", "Meaning"), rows)


def type_cell(type_: Type) -> str:
    """Return the type of an argument or a field, with its bounds and further wire forms."""
    python = {"identifier": "int or str", "object": "JSON object", "date-time": "datetime", "decimal": "Decimal"}
    name = reference(f"models.{type_.name}") if type_.name else python.get(type_.kind, type_.kind)
    shown = f"array of {name}" if type_.array else name
    bounds = {"at least": type_.minimum, "at most": type_.maximum, "items, at least": type_.min_items}
    limits = [f"{words} {bound}" for words, bound in bounds.items() if bound is not None]
    if type_.wire:
        limits.append(f"also {', '.join(type_.wire)}")
    return f"{shown} ({'; '.join(limits)})" if limits else shown


def _body(operation: Operation, spec: Spec) -> str:
    if operation.body is None:
        return ""
    form = reference(f"models.{operation.body}")
    if not operation.flatten_body:
        optional = "" if operation.body_required else ", optional"
        return f"**Body**: {code(operation.body_name)}{optional}, a {form}, as a JSON object."
    fields = spec.models[operation.body].fields
    rows = ((code(each.name), code(each.wire), type_cell(each.type), cell(each.description)) for each in fields)
    names = table(("Argument", "Key of the body", "Type", "Meaning"), rows)
    return f"**Body**: a JSON object ({form}) of further arguments.\n\n{names}"


def _rules(operation: Operation, spec: Spec) -> str:
    rules = [*operation.rules, *(spec.models[operation.body].rules if operation.body else ())]
    if not rules:
        return ""
    listed = [
        f"\n- {cell(str(rule['message']))}{' *(rule of this library)*' if rule.get('library') else ''}"
        for rule in (dict[str, Any](each.arguments) for each in rules)
    ]
    return f"**Rules**, checked before anything is sent (`InvalidRequestError`):\n{''.join(listed)}"


def _result(operation: Operation) -> str:
    if operation.result is None:
        return f"**Result**: nothing (status {operation.status})."
    model = code("str") if operation.result == "str" else reference(f"models.{operation.result}")
    rows = f"a list of {model}"
    shapes = {"many": rows, "bare_many": rows, "page": f"a {reference('operation.Pager')} over {model}"}
    wire = ENVELOPES[operation.shape]
    identity = " and ".join(map(code, operation.identity))
    identified = f" Rows are identified by {identity}." if identity and operation.shape == "page" else ""
    return (
        f"**Result**: {shapes.get(operation.shape, f'a {model}')}. {cell(operation.returns)} "
        f"On the wire: status {operation.status}, {wire}.{identified}"
    )


def _errors(operation: Operation) -> str:
    raised = [(str(status), *ERRORS[status]) for status in operation.errors if status in ERRORS]
    raised.append(("5xx", "ServerError", "the service failed"))
    if operation.parameters or operation.body:
        raised.append(("not sent", "InvalidRequestError", "an argument breaks a documented rule"))
    if operation.production_only:
        raised.append(("not sent", "ConfigurationError", "the client is one of a sandbox"))
    if operation.effect == "mutate":
        raised.append(("not sent", "ConfigurationError", "the client is read-only"))
        raised.append(("no answer", "ResponseLostError", "the request may have been processed"))
    rows = [(status, reference(f"errors.{name}"), cause) for status, name, cause in raised]
    return "**Errors**\n\n" + table(("Status", "Class", "Cause"), rows)
