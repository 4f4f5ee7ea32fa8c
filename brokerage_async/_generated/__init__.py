"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "af5fbac32f65c3c74dda9f516a675a39601c31de5e972532af4de8226ab4326b"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
