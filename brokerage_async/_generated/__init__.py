"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "a3ff1fde0cef325648a2f25571a252c45443193fe04d81197e289a94830b9c97"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
