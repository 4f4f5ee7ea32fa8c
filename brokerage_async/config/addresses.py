"""Addresses of services: the form of a base address, and the origin that names it."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Collection, Mapping
from ipaddress import ip_address
from typing import Any
from urllib.parse import SplitResult, urlsplit

import attrs

from ..errors import ConfigurationError
from .fields import check_text

_IN_BRACKETS = re.compile(r"\[[^\[\]]+\](?::[0-9]*)?")


def split_address(name: str, text: str, schemes: Collection[str], wanted: str) -> SplitResult:
    """Return the parts of an absolute address that every reader of addresses splits in the same way, or raise."""
    rule = f"{name} must be {wanted}"
    if not text.isascii() or not text.isprintable() or " " in text or "\\" in text:
        raise ConfigurationError(f"{rule}, encoded: no spaces, backslashes, control or non-ASCII characters")
    try:
        parts = urlsplit(text)
        host, _ = (parts.hostname or "").strip("."), parts.port
        if ":" in host:
            ip_address(host)
    except ValueError:  # its message may quote a part of a password
        raise ConfigurationError(rule) from None
    if parts.scheme not in schemes or not host or "@" in parts.netloc:
        raise ConfigurationError(rule)
    if "[" in parts.netloc and not _IN_BRACKETS.fullmatch(parts.netloc):  # urlsplit ignores the rest
        raise ConfigurationError(f"{rule}, with nothing but a port beside an address in brackets")
    return parts


def base_address(value: object, name: str = "base_url") -> str:
    """Return ``value`` as ``scheme://host[:port][/prefix]`` without a trailing slash, or raise."""
    text = value.rstrip("/") if isinstance(value, str) else ""
    wanted = "an absolute http or https address without a user name, such as https://api.example.com"
    split_address(name, text, ("http", "https"), wanted)
    if "?" in text or "#" in text:
        raise ConfigurationError(f"{name} must not contain a query or a fragment")
    return text


def origin_of(address: str) -> str:
    """Return ``scheme://host[:port]`` of an address in one spelling.

    It is in lower case, without a default port and without the dot that ends an absolute host name.
    """
    parts = urlsplit(address)
    host = (parts.hostname or "").rstrip(".")
    if ":" in host:  # written by the system: Python 3.13 writes some addresses in another way than 3.11
        host = f"[{socket.inet_ntop(socket.AF_INET6, ip_address(host).packed)}]"
    default = {"http": 80, "https": 443}[parts.scheme]
    return f"{parts.scheme}://{host}" if parts.port in (None, default) else f"{parts.scheme}://{host}:{parts.port}"


def base_addresses(value: object) -> Mapping[str, str]:
    """Return the base addresses of further hosts by name. None for None."""
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise ConfigurationError(f"hosts must map names to addresses, got {type(value).__name__}")
    return {name: base_address(url, f"hosts[{name!r}]") for name, url in value.items()}


def address_validator(schemes: Collection[str], wanted: str) -> Callable[[Any, attrs.Attribute[Any], object], None]:
    """Return a validator of addresses with one of these schemes; ``wanted`` describes them in errors."""

    def check(instance: Any, attribute: attrs.Attribute[Any], value: object) -> None:
        check_text(instance, attribute, value)
        if value is not None:
            split_address(f"{type(instance).__name__}.{attribute.name}", str(value), schemes, f"an absolute {wanted}")

    return check
