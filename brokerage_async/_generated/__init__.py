"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "d085d0f79453ab9ce8c5a0241c24deac465bcd4aa7509acb2571d99fbe9d1953"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
