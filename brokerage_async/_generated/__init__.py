"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "7ffb14bb0de71cfde93eb658013cf782cad33309eaac2404d0f70e97d13bb1f6"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
