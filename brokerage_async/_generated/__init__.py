"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "f581e2786ce71dcb89230c788f77618ec0ffc2ae5656f4c6150a5df9622f6706"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
