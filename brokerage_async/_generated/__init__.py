"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "1d687701dc5ac14173d254bf4c9cbd69e2a8c20682cb5e82d95a3f2d7417ebeb"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
