"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "66ac4426095ce9e408d17f5a1ca222aa54902d967c4ef8e35272220039357f83"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
