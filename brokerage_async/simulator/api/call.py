"""One request as the simulated brokerage understands it, once it is authenticated, routed and checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from ..._generated.converters import ErrorDetailWire
from ...operation import Operation
from ..ledger import Entry
from .wire import RefusedError, Slice

__all__ = ["Call", "Customer", "Identity"]


@attrs.frozen
class Customer:
    """Somebody with accounts."""

    number: int
    username: str


@attrs.frozen
class Identity:
    """Whom an access token stands for, and what it allows."""

    customer: Customer
    scopes: frozenset[str]


@attrs.define(kw_only=True)
class Call:
    """A request to be handled.

    ``query`` holds parsed values by the names that the parameters have in Python (integers, booleans, dates, epoch
    seconds for date-times, lists for arrays), ``body`` the checked request model (None without a body), ``entry`` the
    ledger's record of the request.
    """

    operation: Operation[Any]
    now: float
    context: str
    path: Mapping[str, str]
    query: Mapping[str, Any]
    body: Any
    customer: Customer
    version: str | None
    entry: Entry

    def slice(self, total: int, *, default: int, most: int) -> Slice:
        """The page asked for out of ``total`` rows; 400 for an offset or a size that cannot be."""
        offset = self.query.get("page_offset", 0)
        size = self.query.get("per_page", default)
        problems = []
        if offset < 0:
            problems.append(self.problem("page_offset", "must not be negative"))
        if not 1 <= size <= most:
            problems.append(self.problem("per_page", f"must be between 1 and {most}"))
        if problems:
            raise RefusedError.invalid(problems, 400)
        return Slice(offset, size, total)

    def problem(self, name: str, reason: str) -> ErrorDetailWire:
        """An entry of the answer that refuses the query for one of its parameters."""
        return ErrorDetailWire(domain=self.wire(name), reason=reason)

    def wire(self, name: str) -> str:
        """What a parameter is called in the query."""
        return next(parameter.wire for parameter in self.operation.parameters if parameter.name == name)

    @property
    def ascending(self) -> bool:
        """Whether the oldest is asked for first."""
        return str(self.query.get("sort", "Desc")).lower() == "asc"
