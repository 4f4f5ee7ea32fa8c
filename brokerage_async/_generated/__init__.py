"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "bc2f1987d9bed5adf3aac8db1be2afe42c7908c18ddf4ad9784ede7e38704c3a"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
