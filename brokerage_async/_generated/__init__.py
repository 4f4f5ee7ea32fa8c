"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "327ba7b3086f2fe0c8800c05c98e51f712bc1876dca73eddb0567c0524e2afc1"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
