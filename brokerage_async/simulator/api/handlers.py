"""Request that is authenticated, routed and validated, and the common part of its handlers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import attrs

from ..._generated.converters import ErrorDetailWire
from ...operation import Operation
from ..accounts.accounts import Account, Accounts, Customer
from ..ledger import RequestRecord
from ..state import State
from .wire import RefusedError, Slice


@attrs.define(kw_only=True)
class ParsedRequest:
    """Validated request.

    ``query`` holds parsed values by the Python names of the parameters (integers, booleans, dates, epoch seconds for
    date-times, lists for arrays), ``body`` the validated request model (None without a body), ``record`` the ledger's
    record of the request. ``behaviours`` are in force in the interface version that serves it.
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


class Access:
    """Looks up accounts for a request: 404 for unknown accounts, 403 for another customer's.

    ``numbers``: whether a customer may be named by number, beside ``me``.
    """

    def __init__(self, accounts: Accounts, *, numbers: bool) -> None:
        self._accounts = accounts
        self._numbers = numbers

    def account(self, request: ParsedRequest, number: str | None = None) -> Account:
        """Return the account of the path, or the one of ``number``."""
        account = self._accounts.get(request.path["account_number"] if number is None else number)
        if account is None:
            raise RefusedError.not_found("account")
        if account.customer != request.customer:
            raise RefusedError.not_permitted()
        return account

    def customer(self, request: ParsedRequest) -> tuple[Account, ...]:
        """Return all accounts of the customer in the path, who must be the one of the token."""
        self.accounts(request, ())
        return self._accounts.of(request.customer)

    def accounts(self, request: ParsedRequest, numbers: Iterable[str]) -> list[Account]:
        """Return the accounts of ``numbers``, which must belong to the customer in the path."""
        customer = request.path["customer_id"]
        if customer != "me" and not (self._numbers and customer == str(request.customer.number)):
            if customer != str(request.customer.number) and self._accounts.has_customer(customer):
                raise RefusedError.not_permitted()
            raise RefusedError.not_found("customer")
        return [self.account(request, number) for number in dict.fromkeys(numbers)]


class Handlers:
    """Handlers of one namespace: a method for each operation, with the state that they share.

    A method ``list`` comes last in its class because it hides the builtin there.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self._has = state.settings.has
        self._access = Access(state.accounts, numbers=not self._has("customer_is_me"))
        self._dialect = state.dialect
        self._catalogue = state.catalogue
        self._prices = state.prices
        self._calculator = state.margin_calculator
