"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "5ac4b6fd566154abd82eebfd6bd527e38bb501395e95e8bad3f6ffd03c0f9674"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
