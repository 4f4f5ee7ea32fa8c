"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "d9f6784f8162a776c548e9e6f158d412ce3fef0977967559fce0da0bddc2cf5f"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
