"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "4620f813339ffcff7f35f9bcc26120c471a1002af7c0296eb0c72efdd51f84f3"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
