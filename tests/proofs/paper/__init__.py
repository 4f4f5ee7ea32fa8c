"""Proof of paper trading: orders stay here, fills are at prices that the source shows, and never at stale ones."""
