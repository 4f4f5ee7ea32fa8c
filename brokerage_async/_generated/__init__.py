"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "f9159f60fa3a5344aa83f6ef4ffbe429bbeb1cb31e96a3ac1b999cef57a585b3"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
