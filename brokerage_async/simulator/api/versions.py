"""Interface versions that the service serves, by the ``Accept-Version`` header."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date

from .wire import RefusedError

__all__ = ["OLDEST_VERSION", "InterfaceVersions"]

OLDEST_VERSION = "20240501"
"""Oldest version that is served. All later dates are versions too, also those to come."""

_DATE = re.compile(r"[0-9]{8}")
_MARKET_SESSIONS_VERSION = "2.0.1"


def _is_version(text: str) -> bool:
    if text == _MARKET_SESSIONS_VERSION:
        return True
    try:
        return _DATE.fullmatch(text) is not None and bool(date.fromisoformat(text))
    except ValueError:
        return False


class InterfaceVersions:
    """All versions that exist, but for the withdrawn ones."""

    def __init__(self, withdrawn: Iterable[str] = ()) -> None:
        self.withdrawn: frozenset[str] = frozenset(withdrawn)
        for version in self.withdrawn:
            if not _is_version(version):
                raise ValueError(f"withdrawn versions must be dates of the form YYYYMMDD, got {version!r}")

    def require(self, version: str | None) -> str | None:
        """Return the version that a request asks for, None for the service's choice.

        Raises:
            RefusedError: 406, with an integer code, for a version that does not exist.
        """
        if version is None:
            return None
        is_market_sessions = version == _MARKET_SESSIONS_VERSION
        too_old = not is_market_sessions and version < OLDEST_VERSION
        if not _is_version(version) or too_old or version in self.withdrawn:
            raise RefusedError(406, 406, f"Version {version} is no longer supported")
        return None if is_market_sessions else version
