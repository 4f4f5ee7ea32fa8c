"""Tokens for the market-data streamer, which are good for a day."""

from __future__ import annotations

from .accounts.accounts import Customer
from .keyed_random import KeyedRandom

__all__ = ["LIFETIME", "QuoteTokens"]

LIFETIME = 86400.0
"""Lifetime of a token, in seconds."""

_KEY = 9


class QuoteTokens:
    """Issues and verifies the tokens of one environment.

    ``url`` is the address of the streamer, which nothing listens on until one is set.
    """

    def __init__(self, random: KeyedRandom) -> None:
        self.url: str = "wss://streamer.simulator.invalid/realtime"
        self._random = random
        self._count = 0
        self._issued: dict[str, tuple[Customer, float]] = {}

    def issue(self, customer: Customer, now: float) -> str:
        """Return a new token of a customer."""
        self._count += 1
        self._issued = {token: issued for token, issued in self._issued.items() if issued[1] > now}
        token = self._random.hex_digits(40, _KEY, self._count)
        self._issued[token] = customer, now + LIFETIME
        return token

    def identify(self, token: str, now: float) -> Customer | None:
        """Return the customer of a valid token, else None."""
        customer, expires = self._issued.get(token, (None, 0.0))
        return customer if now < expires else None
