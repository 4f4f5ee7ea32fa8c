"""Faults of the streams: they lose, double, delay and break the messages of the server.

::

    sim.streams.faults.add("duplicate", kind="Order")
    sim.streams.faults.add("late(2)", times=3)
    sim.streams.faults.add("lose", kind="protocol")  # the next answer of the server, such as that to a heartbeat
    sim.streams.faults.is_half_open = True

==================  ====================================================================
``lose``            the message is never sent
``duplicate``       it is sent twice
``reorder``         it is sent after the next one
``late(2)``         it is sent two seconds late, later ones overtake it
``unknown``         a message of an unknown kind is sent before it
``garbage``         a message that is not JSON is sent before it
``drop``            the connection is closed instead
==================  ====================================================================
"""

from __future__ import annotations

import re

import attrs

PROTOCOL = "protocol"
"""Kind of the messages that are not events: greetings, answers, settings."""

_NAMES = ("lose", "duplicate", "reorder", "unknown", "garbage", "drop")
_LATE = re.compile(r"late\((?P<seconds>[0-9]+(?:\.[0-9]+)?)\)")


@attrs.frozen
class Delivery:
    """Fate of one message."""

    name: str
    delay: float = 0.0

    @classmethod
    def parse(cls, name: str) -> Delivery:
        """Return the fate that a short string names.

        Raises:
            ValueError: it is unknown.
        """
        if name in _NAMES:
            return cls(name)
        if (match := _LATE.fullmatch(name)) is not None:
            return cls("late", float(match["seconds"]))
        raise ValueError(f"fault must be one of {', '.join(_NAMES)} or late(seconds), got {name!r}")


DELIVER = Delivery("deliver")
"""A message without a fault."""


@attrs.define
class _Planned:
    delivery: Delivery
    kind: str | None
    times: int


class StreamFaults:
    """Faults still to come.

    Attributes:
        is_half_open: whether connections stay open but carry nothing in either direction.
        is_deaf: whether connections carry nothing from the client to the server.
        refusals: tokens of the next clients that are refused.
    """

    def __init__(self) -> None:
        self._planned: list[_Planned] = []
        self.is_half_open: bool = False
        self.is_deaf: bool = False
        self.refusals: int = 0

    def add(self, name: str, *, kind: str | None = None, times: int = 1) -> None:
        """Let the next ``times`` events (of type ``kind``, if given) meet a fault.

        Kind ``protocol`` stands for all messages that are not events. Without a kind none of them meets a fault.
        """
        self._planned.append(_Planned(Delivery.parse(name), kind, times))

    def clear(self) -> None:
        self._planned.clear()
        self.is_half_open, self.is_deaf, self.refusals = False, False, 0

    def deliver(self, kind: str) -> Delivery:
        """Return the delivery of an event of type ``kind``. Protocol messages have no type."""
        for planned in self._planned:
            if planned.kind == (kind or PROTOCOL) or (kind and planned.kind is None):
                planned.times -= 1
                if not planned.times:
                    self._planned.remove(planned)
                return planned.delivery
        return DELIVER

    def refuses(self) -> bool:
        if self.refusals:
            self.refusals -= 1
            return True
        return False
