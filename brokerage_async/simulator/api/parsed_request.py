"""Request that is authenticated, routed and validated: the argument of every handler."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import attrs

from ..._generated.converters import ErrorDetailWire
from ...operation import Operation
from ..accounts.accounts import Customer
from ..ledger import RequestRecord
from .wire import Slice

__all__ = ["ParsedRequest"]


@attrs.define(kw_only=True)
class ParsedRequest:
    """Validated request.

    ``query`` holds parsed values by the Python names of the parameters (integers, booleans, dates, epoch seconds for
    date-times, lists for arrays), ``body`` the validated request model (None without a body), ``record`` the ledger's
    record of the request. ``behaviours`` are those of the interface version that serves it.
    """

    operation: Operation[Any]
    now: float
    context: str
    path: Mapping[str, str]
    query: Mapping[str, Any]
    body: Any
    customer: Customer
    behaviours: Collection[str]
    record: RequestRecord
    asked_version: str | None = None

    def slice(self, total: int) -> Slice:
        """Return the requested page of ``total`` rows."""
        return Slice(self.query.get("page_offset", 0), self.query.get("per_page", self.operation.page_size), total)

    def problem(self, name: str, reason: str) -> ErrorDetailWire:
        """Return the error entry for one query parameter."""
        return ErrorDetailWire(domain=self.wire(name), reason=reason)

    def wire(self, name: str) -> str:
        """Return the name of a parameter in the query."""
        return next(parameter.wire for parameter in self.operation.parameters if parameter.name == name)

    @property
    def ascending(self) -> bool:
        """Whether the oldest row comes first."""
        return str(self.query.get("sort", "Desc")).lower() == "asc"
