"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "0face844c66ea26ec243d752a382fc9cd6ed28b0701e87b2be4aced333dd5b37"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
