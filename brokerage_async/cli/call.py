"""Call command: any operation by its name, the result as JSON."""

from __future__ import annotations

import datetime
import difflib
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import typer

from .._decimals import read_decimal
from .._generated import endpoints
from .._generated.operations import OPERATIONS
from .._values import read_integer
from ..errors import ErrorDetail, InvalidRequestError
from ..models import converter
from ..operation import BoundCall, Effect, Operation, Parameter, Shape
from .console import confirm, echo_json, err, say
from .json_input import read_exactly, read_model, read_source
from .service import Service, connect

__all__ = ["describe", "perform"]


async def describe(names: list[str]) -> None:
    """List all operations, or describe the named ones."""
    for name in names:
        operation = find(name)
        namespace, _, method = operation.name.partition(".")
        group = getattr(endpoints, "".join(word.capitalize() for word in namespace.split("_")))
        flags = [explain(each) for each in operation.parameters]
        flags += [f"--body JSON of a {operation.body.__name__}"] if operation.body else []
        typer.echo("\n  ".join([operation.name, *flags]))
        typer.echo(f"\n{inspect.getdoc(getattr(group, method))}\n")
    if not names:
        for known in OPERATIONS.values():
            if known.scope is not None:
                typer.echo(f"{known.name:42} {known.provenance:10} {known.method:6} {known.path}")


async def perform(
    name: str, arguments: list[str], body: str | None, max_items: int | None, *, yes: bool, simulated: bool
) -> None:
    """Call an operation and print its result; ask first if it changes something."""
    operation = find(name)
    path, query = read_arguments(operation, arguments)
    content = read_body(operation, body)
    if content is None and operation.body_required:
        raise InvalidRequestError("a body is required: --body JSON, @FILE or -", operation=operation.name)
    call = BoundCall(operation, path=path, query=query, body=content)
    async with connect(simulated=simulated) as service:
        if operation.effect is Effect.MUTATE and not yes:
            ask(operation, service, path)
        result: Any
        if operation.shape is Shape.PAGE:
            result = await service.client.session.paginate(call).collect(max_items)
        else:
            result = await service.client.session.execute(call)
    echo_json(converter.unstructure(result))


BETTER: Mapping[str, str] = {
    "orders.submit": "orders place",
    "orders.replace": "orders replace",
    "orders.edit": "orders replace",
    "orders.cancel": "orders cancel",
}
"""Commands that do the same with a preview, a journal and a reliable outcome."""


def ask(operation: Operation[Any], service: Service, path: Mapping[str, object]) -> None:
    """Ask before an operation changes something."""
    better = BETTER.get(operation.name)
    if better is not None:
        say(f"{operation.name} is sent as it is; `brokerage-async {better}` previews it and finds its outcome.", to=err)
    account = f", account {path['account_number']}" if "account_number" in path else ""
    confirm(f"Send {operation.name} to {service}{account}? (--yes does not ask)")


def find(name: str) -> Operation[Any]:
    """Return the operation of a name."""
    operation = OPERATIONS.get(name)
    if operation is None or operation.scope is None:
        close = [each for each in difflib.get_close_matches(name, OPERATIONS, 1) if each != name]
        meant = f"did you mean {close[0]}? " if close else ""
        raise InvalidRequestError(f"unknown operation {name!r}; {meant}`brokerage-async call list` lists all")
    return operation


def read_arguments(operation: Operation[Any], arguments: list[str]) -> tuple[dict[str, object], dict[str, object]]:
    """Read path and query values by wire name from ``--name value`` and ``--name=value``."""
    by_flag = {flag(parameter): parameter for parameter in operation.parameters}
    values: dict[str, list[object]] = {}
    problems: list[ErrorDetail] = []
    for name, text in pairs(arguments, problems):
        parameter = by_flag.get(name)
        if parameter is None:
            known = ", ".join(f"--{each}" for each in by_flag) or "none"
            problems.append(
                ErrorDetail("unknown", f"unknown parameter of {operation.name}; known: {known}", f"--{name}")
            )
            continue
        try:
            values.setdefault(parameter.wire, []).append(READERS.get(parameter.kind, str)(text))
        except ValueError:
            problems.append(ErrorDetail("type", f"must be of kind {parameter.kind}, got {text!r}", f"--{name}"))
    for parameter in operation.parameters:
        if parameter.required and parameter.wire not in values and not problems:
            hint = f"is required; `brokerage-async call list {operation.name}` lists all parameters"
            problems.append(ErrorDetail("missing", hint, f"--{flag(parameter)}"))
    if problems:
        raise InvalidRequestError(
            "invalid arguments (nothing was sent)", operation=operation.name, errors=tuple(problems)
        )
    return tuple(
        {p.wire: given(p, values[p.wire]) for p in operation.parameters if p.location == location and p.wire in values}
        for location in ("path", "query")
    )  # type: ignore[return-value]


def pairs(arguments: list[str], problems: list[ErrorDetail]) -> list[tuple[str, str]]:
    """Split arguments into names and values."""
    found: list[tuple[str, str]] = []
    rest = iter(arguments)
    for argument in rest:
        if not argument.startswith("--"):
            problems.append(ErrorDetail("unexpected", "must follow a --name", argument))
            continue
        name, equals, text = argument[2:].partition("=")
        value = text if equals else next(rest, None)
        if value is None:
            problems.append(ErrorDetail("missing", "needs a value", argument))
        else:
            found.append((name.replace("_", "-"), value))
    return found


def flag(parameter: Parameter) -> str:
    """Return the name of a parameter on the command line."""
    return parameter.name.replace("_", "-")


def explain(parameter: Parameter) -> str:
    """Describe a parameter: its flag, its values, and whether it is optional."""
    takes = parameter.kind if parameter.choices is None else "|".join(str(each.value) for each in parameter.choices)
    notes = ["optional"] * (not parameter.required) + ["may be repeated"] * parameter.array
    return f"--{flag(parameter)} {takes}" + (f" ({', '.join(notes)})" if notes else "")


def given(parameter: Parameter, values: list[object]) -> object:
    """Return all values of an array parameter, otherwise the last one."""
    return values if parameter.array else values[-1]


def boolean(text: str) -> bool:
    """Read true or false."""
    if text.lower() not in ("true", "false"):
        raise ValueError(text)
    return text.lower() == "true"


READERS: dict[str, Callable[[str], object]] = {
    "integer": read_integer,
    "boolean": boolean,
    "decimal": read_decimal,
    "date": datetime.date.fromisoformat,
    "date-time": datetime.datetime.fromisoformat,
}


def read_body(operation: Operation[Any], body: str | None) -> object | None:
    """Read the request model of an operation from JSON, a file, or standard input."""
    if body is None:
        return None
    if operation.body is None:
        raise InvalidRequestError("must not have a body", operation=operation.name)
    try:
        content = read_source(body.removeprefix("@")) if body[:1] == "@" or body == "-" else body
        document = read_exactly(content)
    except ValueError as problem:
        hint = "" if body[:1] in ("@", "-", "{", "[") else " (for a file, pass @FILE)"
        raise InvalidRequestError(f"cannot read the body: {problem}{hint}", operation=operation.name) from None
    model: object = read_model(document, operation.body, operation=operation.name)
    return model
