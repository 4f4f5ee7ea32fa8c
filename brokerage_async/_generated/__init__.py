"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "617e12ef4bb6a62247acb163cc414aeba76e8eda3e67f92ede17d5dbd4f9faf6"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
