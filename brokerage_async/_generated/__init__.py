"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "57ae701a6480f3461ca52d576820d46a62359bfcf36060c727dd98cd48b427c4"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
