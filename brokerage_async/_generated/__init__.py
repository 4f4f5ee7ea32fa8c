"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "92f259bd1f5c70bddccd9e0c9ea44df3543630da1988f1b7cbb7ec489d875a58"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
