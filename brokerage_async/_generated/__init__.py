"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "736720411a421e4c7196b27f68f9633d186c07f191c1316b66d794cd06f05b2f"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
