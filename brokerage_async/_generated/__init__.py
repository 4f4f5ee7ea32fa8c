"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "1a3d7b7a9a81de4fab0290e81196561cf69b08749264f0f5d931358e29292045"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
