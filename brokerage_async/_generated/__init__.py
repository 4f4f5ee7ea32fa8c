"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "11b216c2ae5d934b6fd3697677754b5dacdc5cd4fb6c0d64176b5d9192493727"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
