"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "d43d1d1358f08df9cf8ab0f7089a2a1bcccc11de1e9986e86e1c17118d553c9c"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
