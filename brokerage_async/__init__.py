"""Asyncio client library for a brokerage HTTP and JSON service.

Everything that most programs need is importable from here, and loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from . import errors as errors
    from . import models as models
    from .client import Client
    from .config import (
        AuthorizationCode,
        Environment,
        Limits,
        RefreshToken,
        RetryPolicy,
        StaticToken,
        authorization_url,
    )
    from .operation import Effect
    from .protocol.response import RawResponse

__all__ = [
    "AuthorizationCode", "Client", "Effect", "Environment", "Limits", "RawResponse", "RefreshToken", "RetryPolicy",
    "StaticToken", "__version__", "authorization_url", "errors", "models",
]  # fmt: skip

_HOMES = {"Client": "client", "Effect": "operation", "RawResponse": "protocol.response"}  # the others: config


def __getattr__(name: str) -> Any:
    if name in ("errors", "models"):
        return import_module(f".{name}", __name__)
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f".{_HOMES.get(name, 'config')}", __name__), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
