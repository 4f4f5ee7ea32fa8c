"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "088db2319952b82dc22969aa4a5acac2e48fcfe9182d7978afe6f1d8c36f09b2"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
