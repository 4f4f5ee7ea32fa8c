"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "90e3ac46dd444e2b9b57618dcdeab43fc14ac5e10429e36e4260d2f37b2fb373"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
