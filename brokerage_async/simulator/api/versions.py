"""Interface versions that the service serves, by the ``Accept-Version`` header, and what each of them changed."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from datetime import date

from ..state import Settings
from .wire import RefusedError

VERSIONS: tuple[str, ...] = ("20240501", "20250715", "20250813", "20261012")
"""Versions that are alive by default, oldest first."""

CHANGES: Mapping[str, str] = {
    "balances_are_a_list": "20240501",
    "equity_options_in_pages": "20250715",
    "account_live_list_in_pages": "20250813",
    "customer_live_list_in_pages": "20261012",
    "order_searches_need_a_start": "20261012",
}
"""Recorded behaviours that began with a version."""

_DATE = re.compile(r"[0-9]{8}")
_MARKET_SESSIONS_VERSION = "2.0.1"


def _is_version(text: str) -> bool:
    with suppress(ValueError):
        return text == _MARKET_SESSIONS_VERSION or bool(_DATE.fullmatch(text) and date.fromisoformat(text))
    return False


class InterfaceVersions:
    """The versions that are alive, but for the withdrawn ones, and the behaviours of each."""

    def __init__(self, settings: Settings, alive: Iterable[str] | None = None, withdrawn: Iterable[str] = ()) -> None:
        self._settings = settings
        self.alive: tuple[str, ...] = tuple(sorted(VERSIONS if alive is None else alive))
        self.withdrawn: frozenset[str] = frozenset(withdrawn)
        for name, versions in (("versions", self.alive), ("withdrawn versions", self.withdrawn)):
            for version in versions:
                if not _is_version(version):
                    raise ValueError(f"{name} must be dates of the form YYYYMMDD, got {version!r}")

    def without(self, withdrawn: Iterable[str]) -> InterfaceVersions:
        return InterfaceVersions(self._settings, self.alive, withdrawn)

    def require(self, asked: str | None) -> str:
        """Return the newest version that is not newer than the one asked for, or refuse with a 406 as its code."""
        alive = [version for version in self.alive if version not in self.withdrawn]
        has, gone = self._settings.has, asked in self.withdrawn or not alive
        if asked in (None, _MARKET_SESSIONS_VERSION) and not gone:
            return alive[0] if has("no_version_gets_the_oldest") else alive[-1]
        found = [version for version in alive if asked is not None and version <= asked]
        if gone or asked is None or not _is_version(asked) or (not found and has("older_versions_get_a_406")):
            raise RefusedError(406, 406, f"Version {asked} is no longer supported")
        return found[-1] if found else alive[0]

    def behaviours(self, version: str) -> Collection[str]:
        """Return the `CHANGES` that are in force in a version."""
        return frozenset(name for name, since in CHANGES.items() if version >= since and self._settings.has(name))
