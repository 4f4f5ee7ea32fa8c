"""``brokerage-async simulator``: serve the embedded brokerage, print how to reach it, and steer a running one."""

from __future__ import annotations

import enum
import os
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from .command import add, command_of
from .console import echo_json, say
from .lazy import asyncio, clients, errors, simulators

TIMEOUT = 30.0  # seconds in which a running simulator has to answer


class EnvironmentName(enum.Enum):
    """The two environments, as an option can name them."""

    SANDBOX = "sandbox"
    PRODUCTION = "production"


class Wire(enum.Enum):
    """The two forms of JSON types, as an option can name them."""

    OBSERVED = "observed"
    DOCUMENTED = "documented"


def start_of(value: str) -> datetime:
    if value == "now":
        return datetime.now(UTC)
    try:
        start = datetime.fromisoformat(value)
    except ValueError:
        start = None
    if start is None or start.tzinfo is None:
        raise typer.BadParameter(f"must be now or an ISO 8601 time with a zone such as 2026-06-10T14:00Z, got {value}")
    return start


async def simulator(
    context: typer.Context,
    environment: Annotated[
        EnvironmentName | None, typer.Option(help="environment to play: sandbox, or production with --live")
    ] = None,
    host: Annotated[str, typer.Option(help="address to listen on")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="port to listen on; 0 takes a free one")] = 0,
    seed: Annotated[int, typer.Option(help="same seed, same history")] = 0,
    latency: Annotated[float, typer.Option(min=0.0, help="seconds that every answer is delayed")] = 0.0,
    start: Annotated[
        datetime | None,
        typer.Option(
            parser=start_of,
            metavar="now|ISO",
            help="time of the service as it starts; else a Wednesday in June 2026, with --live now",
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
    live: Annotated[
        bool, typer.Option("--live", help="trade on paper at the prices of the service that BROKERAGE_* names")
    ] = False,
    speed: Annotated[float, typer.Option(min=0.0, max=86400.0, help="simulated seconds per second; 0 stops")] = 1.0,
    fault: Annotated[
        list[str] | None,
        typer.Option(help="fault of every request, such as 'status(503)', or 'METHOD PATH-REGEX FAULT'; repeatable"),
    ] = None,
    without: Annotated[
        list[str] | None, typer.Option(help="id of a recorded behaviour to switch off; repeatable")
    ] = None,
    customers: Annotated[int, typer.Option(min=1, max=100, help="customers who can sign in")] = 1,
    redirect_uri: Annotated[
        list[str] | None, typer.Option(help="address that the sign-in page may lead back to; repeatable")
    ] = None,
    control_port: Annotated[
        int, typer.Option(min=0, max=65535, help="port of the control API and its page; 0 takes a free one")
    ] = 0,
) -> None:
    """Serve a simulated brokerage until Ctrl-C.

    Prints address, credentials and an account as lines for a shell, so that other commands can be pointed at it:
    send them to a file and read that with `.` (dot) in the shell.

    With --live, prices and instruments are read from the service that the variables name as it starts, and orders stay
    here. Nothing but reads is sent there.
    """
    if context.invoked_subcommand is not None:
        return
    from contextlib import AsyncExitStack

    options: dict[str, Any] = {} if start is None else {"start": start}
    reader: clients.Client | None = None
    try:
        if live:
            if speed != 1.0:
                raise errors.ConfigurationError("--speed must be 1 with --live: the prices come at their own pace")
            reader = clients.Client.from_env(read_only=True)
            options["prices"] = simulators.LiveQuotes(reader)
        served = simulators.Simulator(
            environment=(environment or (EnvironmentName.PRODUCTION if live else EnvironmentName.SANDBOX)).value,
            host=host, port=port, seed=seed, latency=latency, wire=wire.value, rate_limit=rate_limit, state=state,
            control_port=control_port, without=without or (), customers=customers, redirect_uris=redirect_uri or (),
            **options,
        )  # fmt: skip
        served.clock.speed = speed
        for each in fault or ():
            method, path, name = each.split() if " " in each.strip() else ("*", ".*", each)
            served.faults.add(method, path, name, None)
    except ValueError as error:
        raise errors.ConfigurationError(str(error)) from None
    async with AsyncExitStack() as stack:
        if reader is not None:
            await stack.enter_async_context(reader)
            await reader.authorize()
            say(f"# prices and instruments of {reader.environment.origin}; orders stay here")
        try:
            await stack.enter_async_context(served)
        except OSError as error:
            raise errors.ConfigurationError(
                f"cannot listen there: {error.strerror}; choose another --host or --port (0: any free port)"
            ) from None
        for name, value in served.environ.items():
            say(f"export {name}={value}")
        for other in served.customers[1:]:
            say(f"# {other.username}, accounts {', '.join(other.account_numbers)}: sign in at {served.auth_page_url}")
        accounts = ", ".join(served.account_numbers)
        page = f"; page {served.page_url}" if served.page_url else ""
        moment = f"{served.clock.time:%Y-%m-%d %H:%M}Z"
        say(f"# customer {served.customer_id}, accounts {accounts}; {moment}{page}; Ctrl-C ends it")
        await asyncio.Event().wait()


async def ctl(
    operation: Annotated[str, typer.Argument(help="operation of the control API, such as set-price or fill-order")],
    arguments: Annotated[list[str] | None, typer.Argument(help="its arguments, as key=value")] = None,
) -> None:
    """Steer a running simulator, which BROKERAGE_CONTROL_URL and BROKERAGE_CONTROL_TOKEN name.

    For instance `ctl set-price symbol=AAPL price=150`, `ctl change-clock advance=60`, `ctl fill-order order_id=7`, or
    `ctl state`. An unknown operation lists them all.
    """
    echo_json(steer(operation, arguments or []))


group: typer.Typer = typer.Typer(invoke_without_command=True, help=simulator.__doc__)
group.callback()(command_of(simulator))
add(group, ctl)


def steer(name: str, given: list[str]) -> Any:
    """Call an operation with ``key=value`` arguments and return its answer."""
    import json
    import urllib.error
    import urllib.request

    address, token = (os.environ.get(f"BROKERAGE_CONTROL_{part}", "") for part in ("URL", "TOKEN"))
    if not re.fullmatch(r"http://127\.0\.0\.1:\d+", address) or not token:
        raise errors.ConfigurationError(
            "BROKERAGE_CONTROL_URL and BROKERAGE_CONTROL_TOKEN must name a running simulator: they are among the lines "
            "that `brokerage-async simulator` prints"
        )
    method, path, body = request_of(name, given)
    request = urllib.request.Request(  # noqa: S310 - the address was checked
        address + path, data=body, method=method, headers={"Authorization": f"Bearer {token}"}
    )
    try:
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with direct.open(request, timeout=TIMEOUT) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            message = json.load(error)["error"]["message"]
        raise errors.ConfigurationError(f"{name}: {message}") from None
    except OSError as error:
        raise errors.ConfigurationError(f"no simulator answers at {address}: {error}") from None


def request_of(name: str, given: list[str]) -> tuple[str, str, bytes | None]:
    from urllib.parse import quote

    import msgspec

    routes = {route.name.replace("_", "-"): route for route in simulators.CONTROL_ROUTES}
    route = routes.get(name)
    if route is None:
        raise errors.ConfigurationError(f"unknown operation {name}; use one of {', '.join(routes)}")
    pairs = (item.partition("=") for item in given)
    values = {key: value for key, _, value in pairs}
    needed = re.findall(r"\{(\w+)\}", route.path)
    missing = [each for each in needed if each not in values]
    if missing or not all("=" in item for item in given):
        wanted = ", ".join(f"{each}=..." for each in missing) or "key=value arguments"
        raise errors.ConfigurationError(f"{name} needs {wanted}, got {' '.join(given) or 'none'}")
    path = route.path.format(**{each: quote(values.pop(each), safe="") for each in needed})
    if route.body is None:
        if values:
            raise errors.ConfigurationError(f"{name} does not take {', '.join(values)}")
        return route.method, path, None
    fields = {key: None if value == "null" else value for key, value in values.items()}
    try:
        return route.method, path, msgspec.json.encode(msgspec.convert(fields, route.body, strict=False))
    except msgspec.ValidationError as error:
        raise errors.ConfigurationError(f"{name}: {error}") from None
