"""Access tokens: one refresh for all calls, ahead of expiry."""

from .store import FileTokenStore, StoredToken, TokenStore

__all__ = ["FileTokenStore", "StoredToken", "TokenStore"]
