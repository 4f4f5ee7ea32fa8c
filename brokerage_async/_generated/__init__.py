"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "034d9ae0a66b6eb1838319d9ef0115a5ce603066439f46cd28ce2a12c54973ec"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
