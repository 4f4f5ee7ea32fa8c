"""Common part of the server's sessions: the way out, and the watch over a silent client."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import msgspec

from .faults import StreamFaults

__all__ = ["SILENCE", "Session"]

SILENCE = 60.0
"""Seconds of silence after which a client is disconnected."""

Send = Callable[[str, float], None]


class Session(ABC):
    """Server's side of one connection.

    Attributes:
        is_closed: whether the server has closed it.
        is_mute: whether it answers the client, but pushes no event.
    """

    def __init__(self, faults: StreamFaults, now: float) -> None:
        self._faults = faults
        self._heard = now
        self._send: Send | None = None
        self._close: Callable[[], None] | None = None
        self._held: list[str] = []
        self.is_closed: bool = False
        self.is_mute: bool = False

    def connect(self, send: Send, close: Callable[[], None]) -> None:
        """Deliver messages with ``send(message, delay)``, and end the connection with ``close()``."""
        self._send, self._close = send, close

    def hear(self, now: float) -> None:
        """Take a sign of life, such as a ping."""
        self._heard = now

    def receive(self, data: str | bytes, now: float) -> None:
        """Process a message of the client; one that is lost by a fault is not seen."""
        if self.is_closed or self._faults.is_half_open or self._faults.is_deaf:
            return
        self._heard = now
        try:
            message = msgspec.json.decode(data)
        except msgspec.MsgspecError:
            message = None
        self._process(message if isinstance(message, dict) else None, now)

    def check(self, now: float) -> None:
        """Disconnect a client that was silent for too long."""
        if not self.is_closed and now - self._heard >= SILENCE:
            self._timed_out()
            self.close()

    @property
    def expires(self) -> float:
        """When the client is disconnected unless it sends something."""
        return self._heard + SILENCE

    def close(self) -> None:
        """Close the connection."""
        if not self.is_closed:
            self.is_closed = True
            if self._close is not None:
                self._close()

    def push(self, message: dict[str, Any], *, kind: str = "") -> None:
        """Send a message as the faults have it; ``kind`` is that of an event, empty for protocol messages."""
        if self.is_closed or self._faults.is_half_open or (self.is_mute and kind):
            return
        delivery = self._faults.deliver(kind)
        text = msgspec.json.encode(message).decode()
        match delivery.name:
            case "drop":
                self.close()
                return
            case "lose":
                return
            case "reorder":
                self._held.append(text)
                return
            case "duplicate":
                self._deliver(text)
            case "unknown":
                self._deliver('{"type":"Weather","channel":0,"data":{"outlook":"fair"}}')
            case "garbage":
                self._deliver("<html>not JSON</html>")
        self._deliver(text, delivery.delay)
        held, self._held = self._held, []
        for each in held:
            self._deliver(each)

    def _deliver(self, text: str, delay: float = 0.0) -> None:
        if self._send is not None:
            self._send(text, delay)

    @abstractmethod
    def _process(self, message: dict[str, Any] | None, now: float) -> None:
        """Process a message, None for one that is not a JSON object."""

    @abstractmethod
    def _timed_out(self) -> None:
        """Say farewell to a silent client."""
