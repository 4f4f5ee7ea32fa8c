"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "5131e6a52ed7fe65f6d70fb76369846ecec6ecbe86e4be15fa3936db0013c9f9"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
