"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "cbf5b3ae681273db4d833044d0dc85bd1fbe0d2a6a63546bde3b2485ac5681a4"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
