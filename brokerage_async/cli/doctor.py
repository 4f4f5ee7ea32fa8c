"""``brokerage-async doctor``: what a program needs before it trades, checked in the order in which it is needed."""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, aclosing
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

import typer

from .command import AsJson, check_environment, open_journal
from .console import echo_json, show
from .lazy import asyncio, clients, errors, journals, models, tickets

PATIENCE = 10.0  # seconds that each check may take
SKEW = 2.0  # seconds between this machine's clock and the service's that are worth a note
BAD_SKEW = 30.0  # seconds that have to be mended
A_DAY = 86_400.0  # seconds beyond which a service on this machine is a simulator

State = Literal["ok", "note", "mend", "not checked"]
STYLES: dict[str, str | None] = {"ok": "green", "note": "yellow", "mend": "red", "not checked": "dim"}


@dataclass(frozen=True)
class Finding:
    """Result of one check: its state, the finding, and what to do about it."""

    state: State
    found: str
    remedy: str = ""


class UncheckedError(Exception):
    """A check needs what an earlier one could not get."""


@dataclass
class Patient:
    """A configuration, and what the checks have learned about it so far."""

    client: clients.Client | None = None
    is_service: bool = False
    date: datetime | None = None
    authorized: bool = False
    accounts: list[models.Account] = field(default_factory=list)

    @property
    def reachable(self) -> clients.Client:
        """The client, if the variables name a service."""
        if self.client is None:
            raise UncheckedError("the variables name no service")
        return self.client

    @property
    def ready(self) -> clients.Client:
        """The client, if it has a token."""
        if not self.authorized:
            raise UncheckedError("there is no token")
        return self.reachable

    @property
    def account_number(self) -> str | None:
        """The account that is set if it is the customer's, or else the first open one."""
        usable = [each.account_number for each in self.accounts if not each.is_closed]
        wanted = os.environ.get("BROKERAGE_ACCOUNT")
        return wanted if wanted in usable else next(iter(usable), None)


async def variables(patient: Patient) -> Finding:
    try:
        check_environment()
        patient.client = clients.Client.from_env(deadline=PATIENCE)
    except errors.ConfigurationError as error:
        problems = "; ".join(f"{each.domain}: {each.message}" for each in error.errors) or str(error)
        return Finding("mend", problems, "set these variables, see docs/start.md")
    where = patient.client.environment
    named = f"{where.name} at {where.base_url}"
    if os.environ.get("BROKERAGE_ENVIRONMENT"):
        return Finding("ok", named)
    return Finding("note", named, "set BROKERAGE_ENVIRONMENT too: without it the address is taken for a sandbox")


async def address(patient: Patient) -> Finding:
    """Send one request without a token. Every service refuses it, and its refusal tells who answers."""
    from ..protocol.request import Request
    from ..protocol.response import sent_at

    base, session = patient.reachable.environment.base_url, patient.reachable.session
    url, headers = f"{base}/customers/me", dict(session.options.headers)
    answer = await session.engine.transport.send(Request(method="GET", url=url, headers=headers, timeout=PATIENCE))
    if answer.status == 407:
        return Finding("mend", "the proxy asks for a user name and password (407)", "put them into BROKERAGE_PROXY")
    if answer.status < 400 or b'"error"' not in answer.body:  # it gets no credentials
        found = f"{base} answers {answer.status}, unlike the service without a token (401, JSON)"
        return Finding("mend", found, "this is another server: check the host, port and path of BROKERAGE_BASE_URL")
    patient.is_service = True
    sent = sent_at(answer, None)
    patient.date = None if sent is None else datetime.fromtimestamp(sent, UTC)
    return Finding("ok", f"{base} answers")


async def network(patient: Patient) -> Finding:
    """Say which way requests take, and how they are protected."""
    from urllib.parse import urlsplit

    from ..config import settings_from_env
    from ..http.network import configure_network, is_loopback

    where, settings = patient.reachable.environment, settings_from_env()
    options = {name: settings[name] for name in ("proxy", "trust_env") if name in settings}
    proxy = configure_network(where, allow_http=True, **options).proxy
    way = "directly" if proxy is None else f"through {proxy.url}"
    if not patient.is_service:
        raise UncheckedError(f"the service did not answer ({way})")
    parts = urlsplit(where.base_url)
    if parts.scheme == "https":
        return Finding("ok", f"{way}, certificate verified")
    if is_loopback(parts.hostname):
        return Finding("ok", f"{way}, plain http on this machine")
    return Finding("mend", f"{way}, plain http", "use an https address: anyone on the way can read the credentials")


async def clock(patient: Patient) -> Finding:
    from urllib.parse import urlsplit

    from ..http.network import is_loopback

    if patient.date is None:
        raise UncheckedError("no answer of the service says its time")
    skew = time.time() - patient.date.timestamp() - 0.5  # a Date is cut to the second
    if abs(skew) < SKEW:
        return Finding("ok", "agrees with the service's within seconds")
    if abs(skew) > A_DAY and is_loopback(urlsplit(patient.reachable.environment.base_url).hostname):
        return Finding("ok", "a simulator on this machine, which keeps its own time")
    found = f"this machine is {abs(skew):.0f} s {'ahead of' if skew > 0 else 'behind'} the service"
    return Finding("note" if abs(skew) < BAD_SKEW else "mend", found, "let NTP set the clock (timedatectl)")


async def token(patient: Patient) -> Finding:
    """Exchange the credentials for a token, once: repeated failed logins make the service block an address.

    What the token may do shows in a read and in the dry-run of an order, which routes nothing.
    """
    from ..auth.manager import TokenManager

    client = patient.reachable
    if not patient.is_service:
        raise UncheckedError("the service did not answer")
    try:
        await client.authorize()
    except errors.TokenError as error:
        if error.transient:
            return Finding("mend", str(error), "try again in a minute")
        advice = "check BROKERAGE_BASE_URL, BROKERAGE_CLIENT_SECRET and BROKERAGE_CLIENT_ID"
        if error.code == "invalid_grant":
            advice = f"make a grant in {client.environment.name}: one of the other environment means nothing there"
        return Finding("mend", str(error), advice)
    patient.authorized = True
    tokens = client.session.engine.tokens
    left = tokens.lifetime if isinstance(tokens, TokenManager) else None
    granted = "granted" if left is None else f"granted for {left / 60:.0f} min"
    try:
        patient.accounts = [each.account for each in await client.accounts.list("me") if each.account is not None]
    except errors.PermissionDeniedError as error:
        return Finding("mend", f"{granted}, but may not read: {error}", "make a grant with the scope read")
    except errors.BrokerageError:
        return Finding("ok", granted)  # the check of the version or of the accounts says more
    if (number := patient.account_number) is None:
        return Finding("ok", f"{granted}, may read")
    try:
        await client.orders.dry_run(number, tickets.limit(tickets.buy_to_open("SPY", 1), price="0.01"))
    except errors.PermissionDeniedError:
        return Finding("note", f"{granted}, may read", "to trade, make a grant with the scope trade")
    except errors.BrokerageError:
        pass  # refused as an order: the token was good enough to ask
    return Finding("ok", f"{granted}, may read and trade")


async def version(patient: Patient) -> Finding:
    """Ask for the interface version that calls ask for."""
    client = patient.ready
    asked = os.environ.get("BROKERAGE_ACCEPT_VERSION")
    try:
        await client.accounts.list("me")
        if (number := patient.account_number) is not None:
            await client.orders.live("me", [number])
    except errors.VersionNotSupportedError:
        remedy = "unset BROKERAGE_ACCEPT_VERSION" if asked else "update this library, or set BROKERAGE_ACCEPT_VERSION"
        return Finding("mend", f"the service does not serve version {asked or 'of this library'}", remedy)
    except errors.PermissionDeniedError as error:
        return Finding("mend", str(error), "make a grant with the scope read")
    if asked:
        return Finding("note", f"{asked}, set by hand", "without the variable each operation asks for its own")
    return Finding("ok", "served" if client.environment.is_production else "none is asked for in the sandbox")


async def accounts(patient: Patient) -> Finding:
    """List the accounts, and look for the one that is set."""
    client, wanted = patient.ready, os.environ.get("BROKERAGE_ACCOUNT")
    found = {each.account.account_number: each for each in await client.accounts.list("me") if each.account}
    if not found:
        return Finding("mend", "this customer has no account", "open one, or make a grant for another customer")
    count = "1 account" if len(found) == 1 else f"{len(found)} accounts"
    if not wanted:
        return Finding("note", count, "set BROKERAGE_ACCOUNT, or pass --account to the commands that need one")
    if (owned := found.get(wanted)) is None:
        return Finding("mend", f"{count}, and BROKERAGE_ACCOUNT is none of them", "see `brokerage-async accounts`")
    if owned.account is not None and owned.account.is_closed:
        return Finding("mend", "BROKERAGE_ACCOUNT is closed", "choose another one: `brokerage-async accounts`")
    return Finding("ok", f"{count}, the one of BROKERAGE_ACCOUNT with authority {owned.authority_level or 'not named'}")


async def streams(patient: Patient) -> Finding:
    client, number = patient.ready, patient.account_number
    problems, opened, asked = list[str](), list[str](), dict[str, Callable[[], Any]]()
    if client.environment.streamer_url and number:
        asked["account stream"] = lambda: client.stream.account([number])
    if client.environment.is_production:
        asked["market data"] = lambda: client.stream.quotes(["SPY"])
    for name, subscribe in asked.items():
        try:
            async with asyncio.timeout(PATIENCE), aclosing(subscribe()) as stream:
                await stream.ready()
        except TimeoutError:
            problems.append(f"{name}: no answer within {PATIENCE:.0f} s")
        except errors.BrokerageError as error:
            problems.append(f"{name}: {error}")
        else:
            opened.append(name)
    if problems:
        return Finding("mend", "; ".join(problems), "check BROKERAGE_STREAMER_URL, and that the network lets wss pass")
    found = f"open: {', '.join(opened) or 'none'}"
    if client.environment.streamer_url is None:
        return Finding("note", found, "set BROKERAGE_STREAMER_URL for events of the account")
    return Finding("ok", found)


async def journal(patient: Patient) -> Finding:
    """Open the journal of the order commands, if it exists, and count the orders of unknown outcome in it."""
    environment = None if patient.client is None else patient.client.environment.name
    opened = open_journal(None)
    path = getattr(opened, "path", None)
    if path is not None and not os.access(path if path.exists() else path.parent, os.W_OK):
        return Finding("mend", f"{path} cannot be written", "set BROKERAGE_JOURNAL to a file of this user")
    if path is not None and not path.exists():
        return Finding("ok", f"{path} is made by the first order")
    async with asyncio.timeout(PATIENCE), opened:
        entries = await opened.entries(environment, state=journals.EntryState.OPEN)
    name = opened if path is None else path
    if entries:
        count = "1 order" if len(entries) == 1 else f"{len(entries)} orders"
        return Finding("note", f"{name}: {count} of unknown outcome", "run `brokerage-async orders recover`")
    return Finding("ok", f"{name}: no order of unknown outcome")


async def redis(patient: Patient) -> Finding:
    url = os.environ.get("REDIS_URL")
    if not url:
        return Finding("ok", "not used (REDIS_URL is not set)")
    from ..fleet import Fleet

    async with Fleet(url, timeout=2.0) as fleet:
        status = await fleet.status()
        if status.engine.is_away:
            found = f"the engine does not answer: {status.engine.reason}"
            return Finding("mend", found, "start it, or check REDIS_URL")
        await fleet.connection.command("EVAL", "return 1", 2, "one", "two")  # a Sentinel or a node of a cluster cannot
    return Finding("ok", "the engine answers")


CHECKS: dict[str, tuple[Callable[[Patient], Awaitable[Finding]], str]] = {
    "variables": (variables, ""),
    "address": (address, "check BROKERAGE_BASE_URL, the network, and BROKERAGE_PROXY"),
    "TLS and proxy": (network, ""),
    "clock": (clock, ""),
    "token": (token, ""),
    "version": (version, ""),
    "accounts": (accounts, ""),
    "streams": (streams, ""),
    "journal": (journal, "check BROKERAGE_JOURNAL, and that its database is up"),
    "Redis": (redis, "check REDIS_URL; pip install 'brokerage-async[redis]'"),
}
"""The checks, in this order, and advice about an error that the check does not explain itself."""


async def examine() -> dict[str, Finding]:
    findings, patient = dict[str, Finding](), Patient()
    async with AsyncExitStack() as stack:
        for name, (check, remedy) in CHECKS.items():
            had = patient.client
            try:
                findings[name] = await check(patient)
            except UncheckedError as missing:
                findings[name] = Finding("not checked", str(missing))
            except (errors.BrokerageError, OSError, ImportError) as error:
                found = str(error) or "no answer"
                findings[name] = Finding("mend", found if remedy else f"{type(error).__name__}: {error}", remedy)
            if patient.client is not had and patient.client is not None:
                await stack.enter_async_context(patient.client)
    return findings


async def doctor(as_json: AsJson = False) -> None:
    """Check all that a program needs: variables, network, clock, token, accounts, streams, journal and Redis.

    Reads, one dry-run that routes nothing, and two subscriptions. No secret is printed. REDIS_URL is the engine of a
    fleet. Exit code 1 when something is to be mended, else 0.
    """
    findings = await examine()
    if as_json:
        echo_json({name: asdict(finding) for name, finding in findings.items()})
    else:
        from rich.table import Column, Table

        table = Table.grid("", "", Column(overflow="fold"), padding=(0, 1))
        for name, finding in findings.items():
            table.add_row(name, finding.state, finding.found, style=STYLES[finding.state])
            if finding.remedy:
                table.add_row("", "", finding.remedy)
        show(table)
    if any(finding.state == "mend" for finding in findings.values()):
        raise typer.Exit(1)
