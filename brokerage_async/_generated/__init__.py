"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "1866a6568712d26793e39226929306c6634a5e9ef94bb56e841e778f183263ba"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
