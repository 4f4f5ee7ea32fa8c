"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "6db294036f65eadf980ce1956a6010268459f6fe844d3e6279f88dcd21a96c37"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
