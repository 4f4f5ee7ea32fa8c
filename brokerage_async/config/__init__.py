"""Plain values that configure a client: the environment, the credentials, what to repeat and how fast to go.

All of them are immutable, compare by value and can be shared between clients. None does any I/O. Secrets are kept as
`Secret`, which never shows in a ``repr``.
"""

from .._secrets import Secret
from .environment import (
    AuthorizationCode,
    Credentials,
    Environment,
    RefreshToken,
    StaticToken,
    TokenProvider,
    authorization_url,
    settings_from_env,
)
from .policies import Limits, RetryPolicy

__all__ = [
    "AuthorizationCode", "Credentials", "Environment", "Limits", "RefreshToken", "RetryPolicy", "Secret", "StaticToken",
    "TokenProvider", "authorization_url", "settings_from_env",
]  # fmt: skip
