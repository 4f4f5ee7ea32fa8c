"""``brokerage-async simulator``."""

from __future__ import annotations

import enum
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["register"]


class EnvironmentName(enum.Enum):
    """The two environments, as an option can name them."""

    SANDBOX = "sandbox"
    PRODUCTION = "production"


class Wire(enum.Enum):
    """The two forms of JSON types, as an option can name them."""

    OBSERVED = "observed"
    DOCUMENTED = "documented"


def start_of(value: str) -> datetime:
    """Return the time that ``--start`` names."""
    if value == "now":
        return datetime.now(UTC)
    try:
        start = datetime.fromisoformat(value)
    except ValueError:
        start = None
    if start is None or start.tzinfo is None:
        raise typer.BadParameter(f"must be now or an ISO 8601 time with a zone such as 2026-06-10T14:00Z, got {value}")
    return start


def register(app: typer.Typer) -> None:
    """Add the command."""
    group = typer.Typer(invoke_without_command=True, help=simulator.__doc__)
    group.callback()(simulator)
    group.command("ctl")(ctl)
    app.add_typer(group, name="simulator")


def ctl(
    operation: Annotated[str, typer.Argument(help="operation of the control API, such as set-price or fill-order")],
    arguments: Annotated[list[str] | None, typer.Argument(help="its arguments, as key=value")] = None,
) -> None:
    """Steer a running simulator, which BROKERAGE_CONTROL_URL and BROKERAGE_CONTROL_TOKEN name.

    For instance `ctl set-price symbol=AAPL price=150`, `ctl change-clock advance=60`, `ctl fill-order order_id=7`, or
    `ctl state`. An unknown operation lists them all.
    """
    from ...errors import ConfigurationError
    from ..console import complain, echo_json
    from ..control import steer

    try:
        echo_json(steer(operation, arguments or []))
    except ConfigurationError as error:
        complain(error, style="red")
        raise typer.Exit(1) from None


def simulator(
    context: typer.Context,
    environment: Annotated[EnvironmentName, typer.Option(help="environment to play")] = EnvironmentName.SANDBOX,
    host: Annotated[str, typer.Option(help="address to listen on")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="port to listen on; 0 takes a free one")] = 0,
    seed: Annotated[int, typer.Option(help="same seed, same history")] = 0,
    latency: Annotated[float, typer.Option(min=0.0, help="seconds that every answer is delayed")] = 0.0,
    start: Annotated[
        datetime | None,
        typer.Option(
            parser=start_of, metavar="now|ISO", help="time of the service as it starts; else a Wednesday in June 2026"
        ),
    ] = None,
    wire: Annotated[
        Wire, typer.Option(help="JSON types as recorded from the service, or as its document says")
    ] = Wire.OBSERVED,
    rate_limit: Annotated[
        float | None, typer.Option(min=1.0, help="requests per second that are accepted; no limit by default")
    ] = None,
    state: Annotated[
        Path | None, typer.Option(help="file that keeps orders, positions, clock and requests over restarts")
    ] = None,
    speed: Annotated[float, typer.Option(min=0.0, max=86400.0, help="simulated seconds per second; 0 stops")] = 1.0,
    fault: Annotated[
        list[str] | None,
        typer.Option(help="fault of every request, such as 'status(503)', or 'METHOD PATH-REGEX FAULT'; repeatable"),
    ] = None,
    without: Annotated[
        list[str] | None, typer.Option(help="id of a recorded behaviour to switch off; repeatable")
    ] = None,
    control_port: Annotated[
        int, typer.Option(min=0, max=65535, help="port of the control API and its page; 0 takes a free one")
    ] = 0,
) -> None:
    """Serve a simulated brokerage until Ctrl-C.

    Prints address, credentials and an account as lines for a shell, so that other commands can be pointed at it:
    send them to a file and read that with `.` (dot) in the shell.
    """
    if context.invoked_subcommand is not None:
        return
    from ..console import run
    from ..serve import serve

    options = {} if start is None else {"start": start}
    run(
        serve(
            environment=environment.value, host=host, port=port, seed=seed, latency=latency,
            wire=wire.value, rate_limit=rate_limit, state=state,
            speed=speed, faults=fault or (), control_port=control_port, without=without or (), **options,
        )
    )  # fmt: skip
