"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "8fef268f494dc9508e987b7f5169187b9ee0a111db962b78e18a2caf49187556"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
