"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "a5f12b94e4cf1bd78643fce31a8e85ed22801c77adbee5f6c957a188af58700d"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
