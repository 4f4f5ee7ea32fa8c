"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "d469b7ec36b68b4c84d96a3e21b3bc86d3731adbe5a7aa08bc0c7e4420c131cd"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
