"""Access tokens: one refresh for all calls, ahead of expiry."""

from .store import FileTokenStore, RefusalStore, StoredRefusal, StoredToken, TokenStore

__all__ = ["FileTokenStore", "RefusalStore", "StoredRefusal", "StoredToken", "TokenStore"]
