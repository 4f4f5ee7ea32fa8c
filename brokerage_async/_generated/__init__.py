"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "b4cd1090eb432041be6b53ea88db5cc2055a1ab97f36a0bacc5b501b9f8634fd"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
