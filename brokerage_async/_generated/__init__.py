"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "2db72236b719611c3b31c7e16ee74c702d22c2c84d818cc3c6cfcb5287950c0b"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
