"""Options that several commands have."""

from __future__ import annotations

import enum
from typing import Annotated

import typer

__all__ = ["Account", "AsJson", "Customer", "Kind", "Simulated", "Yes"]

Account = Annotated[
    str | None,
    typer.Option(help="account number [env var: BROKERAGE_ACCOUNT]; on the simulator its first one by default"),
]
Customer = Annotated[str, typer.Option(help="customer number; `me` is the owner of the token")]
AsJson = Annotated[bool, typer.Option("--json", help="print JSON instead of tables")]
Simulated = Annotated[
    bool, typer.Option("--simulator", help="use an embedded simulator instead of a service; nothing is real")
]
Yes = Annotated[bool, typer.Option("--yes", help="do not ask, for scripts")]


class Kind(enum.StrEnum):
    """Data that can be fetched."""

    EQUITIES = "equities"
    OPTIONS = "options"
    FUTURES = "futures"
    FUTURE_OPTIONS = "future-options"
    CRYPTOCURRENCIES = "cryptocurrencies"
    WARRANTS = "warrants"
    PRICES = "prices"
    METRICS = "metrics"
    CHAINS = "chains"
    EQUITY_CHAINS = "equity-chains"
    DIVIDENDS = "dividends"
    EARNINGS = "earnings"
