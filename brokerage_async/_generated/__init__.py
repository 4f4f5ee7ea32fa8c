"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "0d0da99789bdc339066fb5d9d617070a4396a2cd2f6201124d376327a79affb9"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
