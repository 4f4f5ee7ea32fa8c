"""Addresses of services: what a base address is, and the one way to name where it leads."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any
from urllib.parse import urlsplit

import attrs

from ..errors import ConfigurationError
from .fields import check_text

__all__ = ["address_validator", "base_address", "base_addresses", "origin_of"]

_IN_BRACKETS = re.compile(r"\[[^\[\]]+\](?::[0-9]*)?")


def base_address(value: object, name: str = "base_url") -> str:
    """Return ``value`` as ``scheme://host[:port][/prefix]`` without a trailing slash.

    Raises:
        ConfigurationError: it is not an absolute http or https address, or contains a user name, a query, a fragment
            or characters that an address cannot hold.
    """
    text = value.rstrip("/") if isinstance(value, str) else ""
    if not text.isascii() or not text.isprintable() or " " in text:
        raise ConfigurationError(f"{name} must be encoded: no spaces, control or non-ASCII characters")
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise ConfigurationError(f"invalid {name}: {error}") from None
    if "[" in parts.netloc and not _IN_BRACKETS.fullmatch(parts.netloc):  # urlsplit ignores the rest
        raise ConfigurationError(f"{name} must have nothing but a port beside an address in brackets")
    if "@" in parts.netloc or "?" in text or "#" in text:
        raise ConfigurationError(f"{name} must not contain a user name, a query or a fragment")
    if parts.scheme not in {"http", "https"} or not host:
        raise ConfigurationError(f"{name} must be an absolute http or https address, such as https://api.example.com")
    return text


def origin_of(address: str) -> str:
    """Return ``scheme://host[:port]`` of an address, in lower case and without a default port."""
    parts = urlsplit(address)
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    default = {"http": 80, "https": 443}[parts.scheme]
    return f"{parts.scheme}://{host}" if parts.port in (None, default) else f"{parts.scheme}://{host}:{parts.port}"


def base_addresses(value: object) -> Mapping[str, str]:
    """Return the base addresses of further hosts by name; none for None."""
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise ConfigurationError(f"hosts must map names to addresses, got {type(value).__name__}")
    return {name: base_address(url, f"hosts[{name!r}]") for name, url in value.items()}


def address_validator(schemes: Collection[str], wanted: str) -> Callable[[Any, attrs.Attribute[Any], object], None]:
    """Return a validator of addresses with one of these schemes; ``wanted`` describes them in errors."""

    def check(instance: Any, attribute: attrs.Attribute[Any], value: object) -> None:
        check_text(instance, attribute, value)
        if value is None:
            return
        try:
            parts = urlsplit(str(value))
            usable = parts.scheme in schemes and bool(parts.hostname) and "@" not in parts.netloc
        except ValueError:
            usable = False
        if not usable or " " in str(value):
            raise ConfigurationError(f"{type(instance).__name__}.{attribute.name} must be an absolute {wanted}")

    return check
