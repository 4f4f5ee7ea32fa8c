"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "e7c1322f810fae382e1220492be044543953922b5a920ed3f3be6d9e71249963"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
