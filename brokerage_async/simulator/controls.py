"""Controls of a simulator in use: ledger, faults, limits, prices and tokens."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any, Literal

from .clock import Clock
from .faults import FaultPlan
from .ledger import Ledger
from .market.quotes import PriceSource
from .people import People
from .streams.server import StreamServer

__all__ = ["Controls"]


class Controls(People):
    """Controls of a brokerage at the time of a clock."""

    clock: Clock

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
        """Requests per second that are accepted; ``published``: by operation; None: no limit."""
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
        """Consent as the owner to the authorization request at ``address`` and return the redirect address."""
        redirect: str = self._act("authorize", address=address)
        return redirect

    def expire_tokens(self) -> None:
        """Invalidate every access token issued so far; refreshing still works."""
        self._act("expire_tokens")

    def revoke(self) -> None:
        """Delete the owner's personal grant: its tokens are rejected and cannot be refreshed any more."""
        self._act("revoke")

    def _act(self, name: str, **arguments: Any) -> Any:
        return self.brokerage.act(name, self.clock.now(), **arguments)
