"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "3e8952763d7fe0f9e389ae08206d1bde63d49654b7be54abbfe61f13bec9e1c9"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
