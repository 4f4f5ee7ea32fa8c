"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "bd6d8f95caf57d28c64b0eda5b6e6ee552897682bbfc7d65f499d2c4f0462e2e"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
