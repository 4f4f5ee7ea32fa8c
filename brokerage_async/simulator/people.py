"""Customers, accounts and credentials of a brokerage, as a test needs them."""

from __future__ import annotations

from .api.brokerage import Brokerage

__all__ = ["People"]


class People:
    """Identifiers and secrets of the owner, of the application, and of another customer."""

    brokerage: Brokerage

    @property
    def client_id(self) -> str:
        """Identifier of the registered application."""
        return self.brokerage.state.authorization_server.application.client_id

    @property
    def client_secret(self) -> str:
        """Secret of the registered application."""
        return self.brokerage.state.authorization_server.application.client_secret

    @property
    def redirect_uri(self) -> str:
        """Redirect address of the registered application."""
        return self.brokerage.state.authorization_server.application.redirect_uris[0]

    @property
    def refresh_token(self) -> str:
        """Refresh token of the owner's personal grant."""
        return self.brokerage.state.authorization_server.personal.refresh_token

    @property
    def customer_id(self) -> str:
        """Identifier of the owner: ``me``, or a number without the behaviour ``customer_is_me``."""
        state = self.brokerage.state
        return "me" if state.settings.has("customer_is_me") else str(state.owner.number)

    @property
    def account_numbers(self) -> tuple[str, ...]:
        """Accounts of the owner: an empty one, one with positions and complex orders, and a cash account."""
        state = self.brokerage.state
        return tuple(account.number for account in state.accounts.of(state.owner))

    @property
    def foreign_account_number(self) -> str:
        """Account of another customer."""
        state = self.brokerage.state
        return state.accounts.of(state.other_customer)[0].number

    @property
    def foreign_customer_id(self) -> str:
        """Identifier of the other customer."""
        return str(self.brokerage.state.other_customer.number)

    @property
    def complex_order_ids(self) -> dict[str, str]:
        """Identifiers of the complex orders in the second account, by type (``OTOCO``, ``OCO``, ``PAIRS``)."""
        return dict(self.brokerage.state.complex_order_ids)
