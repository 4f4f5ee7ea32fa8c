"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "48fd9ba23854e86889d9130a5bd72911e9f411887a1a7f242b166eed2bce9458"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
