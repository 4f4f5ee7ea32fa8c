"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "b21d9def301ba76ea5de42c570f339570288113a029028e4e572d53330185b06"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
