"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "d4556d4310d1cad3ecbc2add9b305dd6157dd5e3779252446a6d34e1ed74258c"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
