"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "ab28a2c384b95b7df563c2f7892e586c272f877ba6f5626110f054ed38406618"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
