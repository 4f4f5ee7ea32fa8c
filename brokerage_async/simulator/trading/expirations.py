"""End of positions in options at their expiration: their value is paid in cash."""

from __future__ import annotations

from ..accounts.accounts import Accounts
from ..event_queue import EventQueue
from ..market.instrument import Instrument
from ..market.prices import Prices
from .bookkeeping import Bookkeeping

__all__ = ["Expirations"]


class Expirations:
    """Settles options of all accounts once they expire. Shares and futures are not delivered."""

    def __init__(self, accounts: Accounts, bookkeeping: Bookkeeping, prices: Prices, event_queue: EventQueue) -> None:
        self._accounts = accounts
        self._bookkeeping = bookkeeping
        self._prices = prices
        self._event_queue = event_queue
        self._awaited: set[str] = set()
        bookkeeping.on_execution(self._await)

    def _await(self, instrument: Instrument, now: float) -> None:
        expires_at = instrument.expires_at
        if not instrument.is_option or expires_at is None or instrument.symbol in self._awaited:
            return
        self._awaited.add(instrument.symbol)
        self._event_queue.at(max(now, expires_at), lambda at: self._settle(instrument, at))

    def _settle(self, instrument: Instrument, now: float) -> None:
        self._awaited.discard(instrument.symbol)
        worth = self._prices.intrinsic(instrument, now)
        for account in self._accounts.all():
            held = account.held(instrument.symbol)
            if held:
                self._bookkeeping.expire_position(account, instrument, held, worth, now)
