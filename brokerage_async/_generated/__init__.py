"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "8d710e9fa307559df31e63e228aa0f15af128e3414e2810468dab304c451cead"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
