"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "273cb4e727582e6634839a18e9e5795ff1de2e50e888630070089328d072fa88"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
