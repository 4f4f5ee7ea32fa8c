"""JSON bytes into models: the fast path, and what it does with rows that do not fit."""
