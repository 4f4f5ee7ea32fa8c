"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "a7a4cef3cfbb751ec14861883a3a3a0e094e7cf22029360ba7c15ea1f3be72f5"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
