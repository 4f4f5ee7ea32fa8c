"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "8358e72d3063cf6051ae2e872bfa662e0ca5db8517a9ceb494b596d4c31fc1cf"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
