"""Keys, errors and Lua scripts of change feeds: electing a poller, publishing under its lease, reading by groups.

Entries of the stream have the ids ``1-0``, ``2-0`` and so on, without a hole: a hole that a reader finds was trimmed.
"""

from __future__ import annotations

import attrs

from .._arguments import check_count
from ..errors import BrokerageError, ConfigurationError
from .fleet import Connection, Script, check_lease, check_name

__all__ = [
    "ACK", "ELECT", "EXTEND", "LOAD", "MARGIN", "PUBLISH", "READ", "RENEW", "STATUS", "TAKE", "FeedGapError",
    "FeedKeys", "LeaseLostError",
]  # fmt: skip

MARGIN = 0.1
"""Part of a lease before whose end its holder stops: its clock and that of the engine may differ in speed."""


class FeedGapError(BrokerageError):
    """Changes are lost to this reader: trimmed, lost by the engine, or not to be decoded; ``anext`` goes on after them.

    ``lost`` is their number. Read the list itself to see the present state.
    """

    def __init__(self, message: str = "", *, lost: int = 0) -> None:
        super().__init__(message)
        self.lost = lost


class LeaseLostError(BrokerageError):
    """Another process polls by now, or reads these changes: work under the lease may be repeated."""


@attrs.frozen(kw_only=True)
class FeedKeys:
    """One feed in the engine.

    Attributes:
        connection: connection to the engine.
        name: name of the feed, the same for pollers and readers.
        lease: seconds until a process that died is replaced.
        keep: number of entries kept for readers without a group.
        max_length: most entries kept for the slowest group.
    """

    connection: Connection
    name: str
    lease: float
    keep: int
    max_length: int

    def __attrs_post_init__(self) -> None:
        check_name(self.name)
        check_lease(self.lease)
        if check_count("max_length", self.max_length) < check_count("keep", self.keep):
            raise ConfigurationError(f"max_length must be at least keep ({self.keep}), got {self.max_length}")

    @property
    def lease_ms(self) -> int:
        """Milliseconds of the lease."""
        return int(self.lease * 1000)

    def key(self, *parts: str) -> str:
        """Return the name of a key."""
        return self.connection.key("feed", self.name, *parts)

    def keys(self, *names: str) -> list[str]:
        """Return the names of several keys."""
        return [self.key(name) for name in names]

    def group_keys(self, group: str) -> list[str]:
        """Return the keys that the scripts of a group take."""
        return [*self.keys("stream", "meta"), *(self.key("group", group, part) for part in ("queues", "ready"))]


ELECT = Script.read("feed_elect")
RENEW = Script.read("feed_renew")
LOAD = Script.read("feed_load")
PUBLISH = Script.read("feed_common", "feed_publish")
READ = Script.read("feed_common", "feed_read")
STATUS = Script.read("feed_common", "feed_status")
TAKE = Script.read("feed_common", "feed_group", "feed_take")
ACK = Script.read("feed_common", "feed_group", "feed_ack")
EXTEND = Script.read("feed_common", "feed_group", "feed_extend")
