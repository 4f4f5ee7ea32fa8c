"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "a795e02f42562c364a59a3a413602d181afc239fc3edc17485e5ab61ef3616cc"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
