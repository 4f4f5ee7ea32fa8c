"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "0fcf1a8625ce1d1e870c1cfd4152e8fe5fe6dcd1689d848d850319e8dc8aaf1a"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
