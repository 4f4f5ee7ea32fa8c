"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "7ba7fca7b042559a75cf540f6df37a97e25b0679b000d61fb196827b71b47d5c"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
