"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "af29dffd8463d5269d7d93c5aa813dc7f203db810cb4d77a284e96b8db58088d"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
