"""Access tokens: one refresh for all callers, kept fresh ahead of time."""

from .store import FileTokenStore, StoredToken, TokenStore

__all__ = ["FileTokenStore", "StoredToken", "TokenStore"]
