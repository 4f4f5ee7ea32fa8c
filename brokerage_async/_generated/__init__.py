"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "3ea14502a4509623c626ebf4c36ed119d42e0116fd2e0862918bc39433c6bd52"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
