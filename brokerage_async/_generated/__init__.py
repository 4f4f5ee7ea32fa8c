"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "0065202817120314033a968d720ba5d751e712d610784f44e7ba1912d42be215"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
