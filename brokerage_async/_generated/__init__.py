"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "618d84a0a9dc7c340efafb6d3bb1fbaf6603d8e19870333c90273d9cca79e947"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
