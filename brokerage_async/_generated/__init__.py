"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "aae9ec7fb0c61cf20a472f5dc4f3b33f2c4c36df0c1639a1e19ece599ccb4556"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
