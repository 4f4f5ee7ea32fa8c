"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "58c3882d5f4f3fa6b150f53ad1dfabc8e3c9ba596a20bae845e2f5d21df71b50"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
