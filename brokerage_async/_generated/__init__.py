"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "d22a902b976f2fe4cadee6dce87c05e0930010b6edf1032a0c59da5cb2ec6c64"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
