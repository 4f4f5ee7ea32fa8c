"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "d9747ec892d2b95b28a860bd0d534d92bf215cc9f0cd1bae68815d834368f175"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
