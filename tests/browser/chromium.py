"""Chromium of the system (Debian's package ``chromium``), driven by playwright. And where there is neither."""

from __future__ import annotations

import contextlib
import importlib.util
import shutil
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.async_api import Browser

PROGRAM: str | None = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
MISSING: str | None = (
    "needs Chromium: install Debian's package chromium"
    if PROGRAM is None
    else "needs the package playwright: `nox -s browser` installs it"
    if importlib.util.find_spec("playwright") is None
    else None
)
"""What a browser lacks here, None if it can be started."""

OPTIONS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


@contextlib.asynccontextmanager
async def browser() -> AsyncIterator[Browser]:
    """Start a browser with a fresh profile, which is removed at the end."""
    from playwright.async_api import async_playwright

    async with async_playwright() as driver:
        started = await driver.chromium.launch(executable_path=PROGRAM, args=OPTIONS)
        try:
            yield started
        finally:
            await started.close()
