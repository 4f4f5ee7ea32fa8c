"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "3c07a2e83d283ae1362a0a7845e1a7552ea35e715e3f884b44ec78c01164b31a"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
