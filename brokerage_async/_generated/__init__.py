"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "fe803649b81d6ad93da3ffaeb02d06a29072e649c3b22adf5af8efc9d953501d"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
