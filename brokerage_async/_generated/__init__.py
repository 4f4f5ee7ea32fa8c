"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "96ea5d48c78aaaefc637a9e47d03c43e8d083c89d8f4fafedd5827c1208fa5ba"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
