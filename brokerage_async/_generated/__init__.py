"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "e32ffdd2ac120210a184ceacc4b3c81677c7b3d464335f44d0d2e7170d961f0e"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
