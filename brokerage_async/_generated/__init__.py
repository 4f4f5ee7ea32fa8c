"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "c8deb9ba043f558fb404a617e8e9a4f1a639efc5bafb1e4d8b778a302523b9d0"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
