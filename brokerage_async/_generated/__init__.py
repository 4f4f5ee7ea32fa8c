"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "60ada759abeff0cca9f60b697879591f9c715cc844224aaf0408cd399f45a082"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
