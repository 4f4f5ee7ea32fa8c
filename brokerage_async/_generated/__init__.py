"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "457180f196b71404d906e37a8ab99ee4d28ba1f895180b86f4b6f50dfd41618c"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
