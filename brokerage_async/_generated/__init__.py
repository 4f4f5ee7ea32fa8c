"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "bee5b14210358ca7bf08355cb5d93dbbf7630f4840865dad564895268dd08041"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
