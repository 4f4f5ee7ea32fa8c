"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "865f505294ca4632f4658a8e453b63088117ccea8ce2491623be4f8645655b52"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
