"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "ceb48f9c69bbcd939a0cf06edd2476b143bc2885de27c057b4d586081942b34f"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
