"""``simulator ctl``: one operation of the control API of a running simulator."""

from __future__ import annotations

import json
import os
import re
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import quote

import msgspec

from ..errors import ConfigurationError
from ..simulator import CONTROL_ROUTES

__all__ = ["steer"]

_TIMEOUT = 30.0


def steer(name: str, given: list[str]) -> Any:
    """Call an operation with ``key=value`` arguments and return its answer.

    Raises:
        ConfigurationError: no simulator is named or reached, or it refuses the call.
    """
    address, token = (os.environ.get(f"BROKERAGE_CONTROL_{part}", "") for part in ("URL", "TOKEN"))
    if not re.fullmatch(r"http://127\.0\.0\.1:\d+", address) or not token:
        raise ConfigurationError(
            "BROKERAGE_CONTROL_URL and BROKERAGE_CONTROL_TOKEN must name a running simulator: they are among the lines "
            "that `brokerage-async simulator` prints"
        )
    method, path, body = _request(name, given)
    request = urllib.request.Request(  # noqa: S310 - the address was checked
        address + path, data=body, method=method, headers={"Authorization": f"Bearer {token}"}
    )
    try:
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with direct.open(request, timeout=_TIMEOUT) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            message = json.load(error)["error"]["message"]
        raise ConfigurationError(f"{name}: {message}") from None
    except OSError as error:
        raise ConfigurationError(f"no simulator answers at {address}: {error}") from None


def _request(name: str, given: list[str]) -> tuple[str, str, bytes | None]:
    """Return method, path and body of a call."""
    routes = {route.name.replace("_", "-"): route for route in CONTROL_ROUTES}
    route = routes.get(name)
    if route is None:
        raise ConfigurationError(f"unknown operation {name}; use one of {', '.join(routes)}")
    pairs = (item.partition("=") for item in given)
    values = {key: value for key, _, value in pairs}
    needed = re.findall(r"\{(\w+)\}", route.path)
    missing = [each for each in needed if each not in values]
    if missing or not all("=" in item for item in given):
        wanted = ", ".join(f"{each}=..." for each in missing) or "key=value arguments"
        raise ConfigurationError(f"{name} needs {wanted}, got {' '.join(given) or 'none'}")
    path = route.path.format(**{each: quote(values.pop(each), safe="") for each in needed})
    if route.body is None:
        if values:
            raise ConfigurationError(f"{name} does not take {', '.join(values)}")
        return route.method, path, None
    fields = {key: None if value == "null" else value for key, value in values.items()}
    try:
        return route.method, path, msgspec.json.encode(msgspec.convert(fields, route.body, strict=False))
    except msgspec.ValidationError as error:
        raise ConfigurationError(f"{name}: {error}") from None
