"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "c5a7c5e88ee45b442218e258331b2074065aaf6d737b3ca4d204ca8e5567eb44"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
