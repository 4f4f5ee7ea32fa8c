"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "8fd035f233cc2923585a155a38b19485d0faaa9e3a1223d737ba1e1a3c072984"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
