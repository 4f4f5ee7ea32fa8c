"""``brokerage-async call``: any operation by its name, the result as JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .command import Simulated, Yes, connect
from .console import confirm, echo_json, say
from .lazy import errors
from .reading import read_exactly, read_model, read_source
from .tables import raw

if TYPE_CHECKING:
    from ..operation import Operation, Parameter

BETTER: Mapping[str, str] = {
    "orders.submit": "orders place",
    "orders.replace": "orders replace",
    "orders.edit": "orders replace",
    "orders.cancel": "orders cancel",
}
"""Commands that do the same with a preview, a journal and a reliable outcome."""


def operations() -> dict[str, Operation[Any]]:
    from .._generated.operations import OPERATIONS

    return {name: operation for name, operation in OPERATIONS.items() if operation.scope is not None}


async def call(
    context: typer.Context,
    operation: Annotated[
        str | None,
        typer.Argument(
            metavar="OPERATION",
            help="such as market_metrics.dividends; `list` names them all, `list NAME` or `NAME --help` describes one",
            autocompletion=lambda: ["list", *operations()],
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
    changes something asks first. Orders are placed with `brokerage-async orders`, which journals them.
    """
    if wants_help and operation in (None, "list"):
        typer.echo(context.get_help())
        return
    if operation is None:
        context.fail("Missing argument 'OPERATION'.")
    if wants_help or operation == "list":
        _describe([operation] if wants_help else context.args)
        return
    from ..operation import BoundCall, Effect, Shape

    found = _find(operation)
    path, query = read_arguments(found, context.args)
    content = read_body(found, body)
    if content is None and found.body_required:
        raise errors.InvalidRequestError("a body is required: --body JSON, @FILE or -", operation=found.name)
    bound = BoundCall(found, path=path, query=query, body=content)
    async with connect(simulated=simulated) as service:
        if found.effect is Effect.MUTATE and not yes:
            if better := BETTER.get(found.name):
                advice = f"`brokerage-async {better}` previews it and finds its outcome."
                say(f"{found.name} is sent as it is; {advice}", err=True)
            account = f", account {path['account_number']}" if "account_number" in path else ""
            confirm(f"Send {found.name} to {service}{account}? (--yes does not ask)")
        result: Any
        if found.shape is Shape.PAGE:
            result = await service.client.session.paginate(bound).collect(max_items)
        else:
            result = await service.client.session.execute(bound)
    echo_json(raw(result))


def _describe(names: list[str]) -> None:
    """List all operations, or describe the named ones."""
    import inspect

    from .._generated import endpoints

    for name in names:
        operation = _find(name)
        namespace, _, method = operation.name.partition(".")
        group = getattr(endpoints, "".join(word.capitalize() for word in namespace.split("_")))
        flags: list[str] = []
        for each in operation.parameters:
            takes = each.kind if each.choices is None else "|".join(str(choice.value) for choice in each.choices)
            notes = ["optional"] * (not each.required) + ["may be repeated"] * each.array
            flags.append(f"--{_flag(each)} {takes}" + (f" ({', '.join(notes)})" if notes else ""))
        flags += [f"--body JSON of a {operation.body.__name__}"] if operation.body else []
        typer.echo("\n  ".join([operation.name, *flags]))
        typer.echo(f"\n{inspect.getdoc(getattr(group, method))}\n")
    if not names:
        for known in operations().values():
            typer.echo(f"{known.name:42} {known.provenance:10} {known.method:6} {known.path}")


def _find(name: str) -> Operation[Any]:
    import difflib

    known = operations()
    if name not in known:
        close = difflib.get_close_matches(name, known, 1) or [each for each in known if name in each.split(".")]
        meant = f"did you mean {' or '.join(close[:3])}? " if close else ""
        raise errors.InvalidRequestError(f"unknown operation {name!r}; {meant}`brokerage-async call list` lists all")
    return known[name]


def read_arguments(operation: Operation[Any], arguments: list[str]) -> tuple[dict[str, object], dict[str, object]]:
    """Read path and query values by wire name from ``--name value`` and ``--name=value``."""
    import datetime

    from .._decimals import read_decimal
    from .._values import read_integer

    readers: dict[str, Callable[[str], object]] = {
        "integer": read_integer,
        "boolean": lambda word: {"true": True, "false": False}[word.lower()],
        "decimal": read_decimal,
        "date": datetime.date.fromisoformat,
        "date-time": datetime.datetime.fromisoformat,
    }
    by_flag = {_flag(parameter): parameter for parameter in operation.parameters}
    values: dict[str, list[object]] = {}
    problems: list[errors.ErrorDetail] = []
    rest = iter(arguments)
    for argument in rest:
        if not argument.startswith("--"):
            problems.append(errors.ErrorDetail("unexpected", "must follow a --name", argument))
            continue
        name, equals, given = argument[2:].partition("=")
        text, name = given if equals else next(rest, None), name.replace("_", "-")
        if text is None:
            problems.append(errors.ErrorDetail("missing", "needs a value", argument))
        elif name not in by_flag:
            known = ", ".join(f"--{each}" for each in by_flag) or "none"
            said = f"unknown parameter of {operation.name}; known: {known}"
            problems.append(errors.ErrorDetail("unknown", said, f"--{name}"))
        else:
            kind, wire = by_flag[name].kind, by_flag[name].wire
            try:
                values.setdefault(wire, []).append(readers.get(kind, str)(text))
            except (KeyError, ValueError):
                problems.append(errors.ErrorDetail("type", f"must be of kind {kind}, got {text!r}", f"--{name}"))
    for name, parameter in by_flag.items():
        if parameter.required and parameter.wire not in values and not problems:
            hint = f"is required; `brokerage-async call list {operation.name}` lists all parameters"
            problems.append(errors.ErrorDetail("missing", hint, f"--{name}"))
    if problems:
        raise errors.InvalidRequestError(
            "invalid arguments (nothing was sent)", operation=operation.name, errors=tuple(problems)
        )
    located: dict[str, dict[str, object]] = {"path": {}, "query": {}}
    for each in by_flag.values():
        if each.wire in values:
            located[each.location][each.wire] = values[each.wire] if each.array else values[each.wire][-1]
    return located["path"], located["query"]


def _flag(parameter: Parameter) -> str:
    return parameter.name.replace("_", "-")


def read_body(operation: Operation[Any], body: str | None) -> object | None:
    if body is None:
        return None
    if operation.body is None:
        raise errors.InvalidRequestError("must not have a body", operation=operation.name)
    try:
        content = read_source(body.removeprefix("@")) if body[:1] == "@" or body == "-" else body
        document = read_exactly(content)
    except ValueError as problem:
        hint = "" if body[:1] in ("@", "-", "{", "[") else " (for a file, pass @FILE)"
        raise errors.InvalidRequestError(f"cannot read the body: {problem}{hint}", operation=operation.name) from None
    model: object = read_model(document, operation.body, operation=operation.name)
    return model
