"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "9b0ba13a26fd3c8b32983c4fd43f1ae5ed7ef90baf8099772913b617b48f6503"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
