"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "5780aa7c98bdcfd185e2a903172aaac7c977259e9310a1256c48844b16e1aa3d"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
