"""Which accounts a customer may access."""

from __future__ import annotations

from collections.abc import Iterable

from ..accounts.accounts import Account, Accounts
from .parsed_request import ParsedRequest
from .wire import RefusedError

__all__ = ["Access"]


class Access:
    """Looks up accounts for a request: 404 for unknown ones, 403 for those of another customer.

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
