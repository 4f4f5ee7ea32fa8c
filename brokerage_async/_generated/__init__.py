"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "0a1679bfcde46ef909118a1b1b47dc56e671a1c9a8c24a93a01f4b9dcd5d9ce5"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
