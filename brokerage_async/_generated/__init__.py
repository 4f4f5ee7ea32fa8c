"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "2d492fa5532be770d0a562c6030b7f6f5f7012c9e50d799d57bf3a5200c453d7"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
