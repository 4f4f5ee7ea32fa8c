"""Orders from entry to fill."""
