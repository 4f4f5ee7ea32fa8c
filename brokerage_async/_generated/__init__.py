"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "01534032425cb4bd37b62fffd666698227a9358731ad263f952a581559dcea67"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
