"""Guard against web pages: the simulator serves programs, not what an untrusted page sends through a browser.

A page can send requests to a loopback port. With a name that resolves to 127.0.0.1 (DNS rebinding) it can also read
the responses. Such requests give themselves away by their ``Origin`` or their ``Host``.
"""

from __future__ import annotations

from collections.abc import Container
from ipaddress import ip_address
from urllib.parse import urlsplit

__all__ = ["page_behind"]


def _is_loopback(name: str) -> bool:
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")


def _name_of(host: str) -> str:
    """Return the name in a ``Host`` header, in lower case, without port and brackets."""
    try:
        return (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return ""


def page_behind(host: str | None, origin: str | None, bound: str, names: Container[str] = frozenset()) -> str | None:
    """Return what shows that a request comes from a web page, None for a request of a program.

    Args:
        host: header ``Host``. It must name the address that the server listens on, or the loopback interface. A server
            that listens on other interfaces has names that it cannot know: there any name will do.
        origin: header ``Origin``, which browsers send and programs do not. It must be the server itself.
        bound: address that the server listens on.
        names: further names of the server, in lower case.
    """
    if host is not None and _is_loopback(bound):
        name = _name_of(host)
        if name != bound.lower() and name not in names and not _is_loopback(name):
            return f"Host must name this simulator, got {host}"
    if origin is not None and origin.lower() not in {f"{scheme}://{host}".lower() for scheme in ("http", "https")}:
        return f"Origin must be this simulator, got {origin}"
    return None
