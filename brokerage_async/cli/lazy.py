"""Modules that commands need when they run, imported at their first use: help and completion stay quick."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = [
    "asyncio", "attrs", "bulk", "chains", "clients", "errors", "journals", "models", "order_entry", "simulators",
    "streams", "tickets",
]  # fmt: skip

if TYPE_CHECKING:
    import asyncio

    import attrs

    from .. import bulk, chains, errors, models, order_entry, tickets
    from .. import client as clients
    from .. import journal as journals
    from .. import simulator as simulators
    from .. import stream as streams
else:

    class Late:
        """Module that is imported when an attribute of it is read."""

        def __init__(self, name: str) -> None:
            self.name = name

        def __getattr__(self, attribute: str) -> Any:
            return getattr(import_module(self.name, __package__), attribute)

    asyncio, attrs, bulk, chains = Late("asyncio"), Late("attrs"), Late("..bulk"), Late("..chains")
    clients, errors, journals, models = Late("..client"), Late("..errors"), Late("..journal"), Late("..models")
    order_entry, simulators = Late("..order_entry"), Late("..simulator")
    streams, tickets = Late("..stream"), Late("..tickets")
