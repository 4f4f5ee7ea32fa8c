"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "afd4a4eff9c5e58991319121e3cd61cbddcaab95279f4ab3e7da67e3bd0e0225"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
