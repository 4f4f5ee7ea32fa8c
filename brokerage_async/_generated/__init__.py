"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "547c19dad0b74c43cc6947175e252baefe1c8053a5a7020679ba430f146b0afa"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
