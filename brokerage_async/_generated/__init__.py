"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "9b8cdcaa7833c0ab6026c978e90a939cbd0329e575b10081f61f1fec61a85043"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
