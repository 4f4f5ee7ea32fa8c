"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "6471e603472cd0a074563dbcbd2cdb2de9374cfbd55a712069c6e30765296944"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
