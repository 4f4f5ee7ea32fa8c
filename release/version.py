"""Version and changelog agree, and say what a release needs."""

from __future__ import annotations

import re

__all__ = ["version_problems"]

_VERSION = re.compile(r"\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?")
_HEADING = re.compile(r"^## (\S+) \((.+)\)$", re.MULTILINE)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


def version_problems(version: str, changelog: str, *, final: bool) -> list[str]:
    """Return why ``version`` cannot be released with this changelog; a ``final`` release needs a day."""
    problems = []
    if not _VERSION.fullmatch(version):
        problems.append(f"version must be MAJOR.MINOR.PATCH, perhaps with a1, b1 or rc1, got {version!r}")
    headings = _HEADING.findall(changelog)
    if not headings or headings[0][0] != version:
        newest = headings[0][0] if headings else "none"
        return [*problems, f"the newest heading of CHANGELOG.md must be {version}, got {newest}"]
    day = headings[0][1]
    if not _DAY.fullmatch(day) and (final or day != "unreleased"):
        problems.append(f"CHANGELOG.md must give the day of {version} as (YYYY-MM-DD), got ({day})")
    entries = _HEADING.split(changelog)[3]
    if not re.search(r"^- ", entries, re.MULTILINE):
        problems.append(f"CHANGELOG.md must list what changed in {version}, got no entries")
    return problems
