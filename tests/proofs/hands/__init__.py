"""Ladders of `OrderEntry.work` and calls of `OrderEntry.cancel_all` under faults, held against the books."""
