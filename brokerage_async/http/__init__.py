"""Everything that happens around one send."""
