"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "7b29bafc07439f02c34c818cd17633b5aad13e6feff8be003266a7f0e0e43968"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
