"""What PyInstaller needs to know of this package; it asks by the entry point ``pyinstaller40``."""

from __future__ import annotations

from importlib.resources import files

__all__ = ["hook_dirs"]


def hook_dirs() -> list[str]:
    """Return the folder of the hooks, which is this one."""
    return [str(files("brokerage_async._pyinstaller"))]
