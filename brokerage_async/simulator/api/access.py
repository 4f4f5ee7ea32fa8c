"""Which accounts a caller may see."""

from __future__ import annotations

from collections.abc import Iterable

from ..accounts.accounts import Account, Accounts
from .call import Call
from .wire import RefusedError

__all__ = ["Access"]


class Access:
    """Finds accounts for a caller: 404 for what does not exist, 403 for what is somebody else's."""

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts

    def account(self, call: Call, number: str | None = None) -> Account:
        """The account of the path, or the one of ``number``."""
        account = self._accounts.get(call.path["account_number"] if number is None else number)
        if account is None:
            raise RefusedError.not_found("account")
        if account.customer != call.customer:
            raise RefusedError.not_permitted()
        return account

    def accounts(self, call: Call, numbers: Iterable[str]) -> list[Account]:
        """The accounts of ``numbers``, of the customer of the path."""
        customer = call.path["customer_id"]
        if customer not in ("me", str(call.customer.number)):
            if self._accounts.knows(customer):
                raise RefusedError.not_permitted()
            raise RefusedError.not_found("customer")
        return [self.account(call, number) for number in dict.fromkeys(numbers)]
