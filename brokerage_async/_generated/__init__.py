"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "d5fc3b5986657de62b56492200e91c01c26a963bd449d0cbd19a3d94cc621f2f"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
