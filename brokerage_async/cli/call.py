"""``brokerage-async call``: any operation by its name, the result as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .console import confirm, echo_json, say
from .options import Simulated, Yes
from .service import Service, connect
from .tables import raw

if TYPE_CHECKING:
    from ..errors import ErrorDetail
    from ..operation import Operation, Parameter

__all__ = ["call", "read_arguments", "read_body"]

BETTER: Mapping[str, str] = {
    "orders.submit": "orders place",
    "orders.replace": "orders replace",
    "orders.edit": "orders replace",
    "orders.cancel": "orders cancel",
}
"""Commands that do the same with a preview, a journal and a reliable outcome."""


def operations() -> dict[str, Operation[Any]]:
    """Return the operations that can be called, by name."""
    from .._generated.operations import OPERATIONS

    return {name: operation for name, operation in OPERATIONS.items() if operation.scope is not None}


def names() -> list[str]:
    """Return the values that complete OPERATION."""
    return ["list", *operations()]


async def call(
    context: typer.Context,
    operation: Annotated[
        str | None,
        typer.Argument(
            metavar="OPERATION",
            help="such as market_metrics.dividends; `list` names them all, `list NAME` or `NAME --help` describes one",
            autocompletion=names,
        ),
    ] = None,
    body: Annotated[str | None, typer.Option(help="JSON of the request body, @FILE or - for standard input")] = None,
    max_items: Annotated[int | None, typer.Option(help="stop a paginated list after so many items")] = None,
    yes: Yes = False,
    simulated: Simulated = False,
    wants_help: Annotated[
        bool, typer.Option("--help", "-h", help="Show this message, or all of OPERATION, and exit.")
    ] = False,
) -> None:
    """Call any operation by its name and print the result as JSON.

    Parameters are given as `--name value`, repeated for lists: `--symbols AAPL --symbols MSFT`. An operation that
    changes something asks first; orders are placed with `brokerage-async orders`, which journals them.
    """
    from ..errors import InvalidRequestError
    from ..operation import BoundCall, Effect, Shape

    if wants_help and operation in (None, "list"):
        typer.echo(context.get_help())
        return
    if operation is None:
        context.fail("Missing argument 'OPERATION'.")
    if wants_help or operation == "list":
        describe([operation] if wants_help else context.args)
        return
    found = find(operation)
    path, query = read_arguments(found, context.args)
    content = read_body(found, body)
    if content is None and found.body_required:
        raise InvalidRequestError("a body is required: --body JSON, @FILE or -", operation=found.name)
    bound = BoundCall(found, path=path, query=query, body=content)
    async with connect(simulated=simulated) as service:
        if found.effect is Effect.MUTATE and not yes:
            ask(found, service, path)
        result: Any
        if found.shape is Shape.PAGE:
            result = await service.client.session.paginate(bound).collect(max_items)
        else:
            result = await service.client.session.execute(bound)
    echo_json(raw(result))


def describe(names: list[str]) -> None:
    """List all operations, or describe the named ones."""
    import inspect

    from .._generated import endpoints

    for name in names:
        operation = find(name)
        namespace, _, method = operation.name.partition(".")
        group = getattr(endpoints, "".join(word.capitalize() for word in namespace.split("_")))
        flags = [explain(each) for each in operation.parameters]
        flags += [f"--body JSON of a {operation.body.__name__}"] if operation.body else []
        typer.echo("\n  ".join([operation.name, *flags]))
        typer.echo(f"\n{inspect.getdoc(getattr(group, method))}\n")
    if not names:
        for known in operations().values():
            typer.echo(f"{known.name:42} {known.provenance:10} {known.method:6} {known.path}")


def ask(operation: Operation[Any], service: Service, path: Mapping[str, object]) -> None:
    """Ask before an operation changes something."""
    better = BETTER.get(operation.name)
    if better is not None:
        said = f"{operation.name} is sent as it is; `brokerage-async {better}` previews it and finds its outcome."
        say(said, err=True)
    account = f", account {path['account_number']}" if "account_number" in path else ""
    confirm(f"Send {operation.name} to {service}{account}? (--yes does not ask)")


def find(name: str) -> Operation[Any]:
    """Return the operation of a name."""
    import difflib

    from ..errors import InvalidRequestError

    known = operations()
    if name not in known:
        close = difflib.get_close_matches(name, known, 1)
        meant = f"did you mean {close[0]}? " if close else ""
        raise InvalidRequestError(f"unknown operation {name!r}; {meant}`brokerage-async call list` lists all")
    return known[name]


def read_arguments(operation: Operation[Any], arguments: list[str]) -> tuple[dict[str, object], dict[str, object]]:
    """Read path and query values by wire name from ``--name value`` and ``--name=value``."""
    from ..errors import ErrorDetail, InvalidRequestError

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
            values.setdefault(parameter.wire, []).append(read_value(parameter.kind, text))
        except (KeyError, ValueError):
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
    from ..errors import ErrorDetail

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


def read_value(kind: str, text: str) -> object:
    """Read a value of a kind; raise ValueError or KeyError where it is not one."""
    import datetime

    from .._decimals import read_decimal
    from .._values import read_integer

    match kind:
        case "integer":
            return read_integer(text)
        case "boolean":
            return {"true": True, "false": False}[text.lower()]
        case "decimal":
            return read_decimal(text)
        case "date":
            return datetime.date.fromisoformat(text)
        case "date-time":
            return datetime.datetime.fromisoformat(text)
    return text


def read_body(operation: Operation[Any], body: str | None) -> object | None:
    """Read the request model of an operation from JSON, a file, or standard input."""
    from ..errors import InvalidRequestError
    from .json_input import read_exactly, read_model, read_source

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
