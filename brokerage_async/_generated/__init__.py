"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "67b22fcdc2da54685457b45f8e7481c8e2a306ceba8d92e861495f2451ea910d"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
