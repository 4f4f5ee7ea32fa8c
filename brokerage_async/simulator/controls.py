"""Controls of a simulator in use: ledger, faults, limits, prices, customers, accounts and tokens."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any, Literal

import attrs

from .api.brokerage import Brokerage
from .clock import Clock
from .faults import FaultPlan
from .ledger import Ledger
from .market.quotes import PriceSource
from .streams.server import StreamServer


@attrs.frozen(kw_only=True)
class SimulatedCustomer:
    """A customer who uses the application.

    Attributes:
        username: name on the sign-in page, and the value of the key ``customer`` of an authorization request.
        account_numbers: accounts of this customer.
        refresh_token: of the customer's personal grant.
    """

    username: str
    account_numbers: tuple[str, ...]
    refresh_token: str = attrs.field(repr=False)


class Controls:
    """Controls of a brokerage at the time of a clock, with identifiers and secrets of its customers."""

    brokerage: Brokerage
    clock: Clock

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
        """First redirect address of the registered application."""
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
    def customers(self) -> tuple[SimulatedCustomer, ...]:
        """The customers who use the application, the owner first."""
        state = self.brokerage.state
        return tuple(
            SimulatedCustomer(
                username=customer.username,
                account_numbers=tuple(account.number for account in state.accounts.of(customer)),
                refresh_token=grant.refresh_token,
            )
            for customer, grant in zip(state.customers, state.authorization_server.personals, strict=True)
        )

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

    @property
    def ledger(self) -> Ledger:
        """Every request that arrived and every transition of every order."""
        return self.brokerage.ledger

    @property
    def faults(self) -> FaultPlan:
        """Faults still to come."""
        return self.brokerage.faults

    @property
    def streams(self) -> StreamServer:
        """Both streams: ``streams.faults.add("duplicate")`` scripts a fault, ``streams.drop()`` closes connections."""
        return self.brokerage.streams

    @property
    def rate_limit(self) -> float | Literal["published"] | None:
        """Requests per second that are accepted; ``published``: by operation. None: no limit."""
        return self.brokerage.rate_limit

    @rate_limit.setter
    def rate_limit(self, value: float | Literal["published"] | None) -> None:
        self.brokerage.rate_limit = value

    @property
    def withdrawn_versions(self) -> frozenset[str]:
        """Values of ``Accept-Version`` that get a 406, besides those that are older than all versions."""
        return self.brokerage.versions.withdrawn

    @withdrawn_versions.setter
    def withdrawn_versions(self, versions: Iterable[str]) -> None:
        self.brokerage.versions = self.brokerage.versions.without(versions)

    def settle(self) -> None:
        """Run everything that is due by now, so that the ledger shows it."""
        self.brokerage.advance(self.clock.now())

    def price(self, symbol: str) -> Decimal:
        """Return the current price of an equity, future or cryptocurrency."""
        return self.brokerage.state.prices.underlying_price(symbol, self.clock.now())

    def set_price(self, symbol: str, price: Decimal | int | str) -> None:
        """Set and hold the price of an equity, future or cryptocurrency. Any quantity trades at it.

        Raises:
            ValueError: ``price`` is not positive, or not below 10**9.
        """
        self._act("set_price", symbol=symbol, price=str(Decimal(price)))

    def set_source(self, symbol: str, source: PriceSource) -> None:
        """Take the prices of an equity, future or cryptocurrency from ``source`` from now on."""
        self._act("set_source", symbol=symbol, source=source)

    def release_price(self, symbol: str) -> None:
        """Let a price that `set_price` holds follow its source again."""
        self._act("release_price", symbol=symbol)

    def fill_order(
        self, order_id: str, quantity: Decimal | int | str | None = None, price: Decimal | int | str | None = None
    ) -> None:
        """Fill an order now, whatever the market does, on its way or after a request to cancel it, too.

        Args:
            order_id: identifier of the order.
            quantity: of its first leg, in shares or contracts. By default all that remains.
            price: in dollars, of an order with one leg. By default the market price.

        Raises:
            LookupError: the order is unknown.
            ValueError: its status does not allow it, or ``quantity`` or ``price`` is invalid.
        """
        given = {"quantity": quantity, "price": price}
        self._act(
            "fill_order", order_id=order_id, **{key: str(value) for key, value in given.items() if value is not None}
        )

    def bust_fill(self, order_id: str, fill_id: str, price: Decimal | int | str | None = None) -> None:
        """Make a fill void or, with ``price``, correct its price. See the invented behaviour ``fills_are_busted``.

        Args:
            order_id: identifier of the order.
            fill_id: identifier of the fill.
            price: its right price in dollars. None if it never was.

        Raises:
            LookupError: the order or the fill is unknown.
            ValueError: ``price`` is invalid.
        """
        given = {} if price is None else {"price": str(price)}
        self._act("bust_fill", order_id=order_id, fill_id=fill_id, **given)

    def reject_order(self, order_id: str, reason: str = "Rejected by the exchange") -> None:
        """Reject an order that is live or on its way, as with ``Session offline`` in the sandbox.

        Raises:
            LookupError: the order is unknown.
            ValueError: its status does not allow it.
        """
        self._act("reject_order", order_id=order_id, reason=reason)

    def expire_order(self, order_id: str) -> None:
        """Expire an order.

        Raises:
            LookupError: the order is unknown.
            ValueError: its status does not allow it.
        """
        self._act("expire_order", order_id=order_id)

    def remove_order(self, order_id: str, status: str | None = None) -> None:
        """Remove an order as an administrator does.

        Args:
            order_id: identifier of the order.
            status: ``Removed``, ``Partially Removed``, ``Remove Pending`` or ``Dead``. By default one of the first two.

        Raises:
            LookupError: the order is unknown.
            ValueError: its status does not allow it.
        """
        self._act("remove_order", order_id=order_id, status=status)

    def hold_order(self, order_id: str, status: str | None = None) -> None:
        """Let nothing happen automatically to an order while it is in a status.

        It waits in ``Routed`` or ``In Flight``. A cancellation waits in ``Cancel Requested``, so that `fill_order`
        comes first. The fills of further legs wait in ``Filled``.

        Args:
            order_id: identifier of the order, ``*`` for every order from now on.
            status: by default its present one, required for ``*``.

        Raises:
            LookupError: the order is unknown.
            ValueError: nothing happens automatically in that status.
        """
        self._act("hold_order", order_id=order_id, status=status)

    def release_order(self, order_id: str = "*") -> None:
        """Undo `hold_order` for an order, or for all. Events that have become due happen now."""
        self._act("release_order", order_id=order_id)

    def move_cash(self, account_number: str, amount: Decimal | int | str) -> None:
        """Deposit cash in an account or, if negative, withdraw it.

        Raises:
            ValueError: the account is unknown, or ``amount`` is not a number other than 0.
        """
        self._act("move_cash", account_number=account_number, amount=str(amount))

    def publish_watchlist(self, name: str, symbols: Iterable[str]) -> None:
        """Publish a watchlist of equities, or replace the entries of one that is public already.

        Raises:
            ValueError: a symbol is unknown.
        """
        self._act("publish_watchlist", watchlist=name, symbols=list(symbols))

    def authorize(self, address: str) -> str:
        """Consent to the authorization request at ``address`` and return the redirect address.

        The owner consents, or the customer whose username is the ``customer`` of its query.
        """
        redirect: str = self._act("authorize", address=address)
        return redirect

    def expire_tokens(self) -> None:
        """Invalidate every access token issued so far. Refreshing still works."""
        self._act("expire_tokens")

    def revoke(self) -> None:
        """Delete the owner's personal grant: its tokens are rejected and cannot be refreshed any more."""
        self._act("revoke")

    def _act(self, name: str, **arguments: Any) -> Any:
        return self.brokerage.act(name, self.clock.now(), **arguments)
