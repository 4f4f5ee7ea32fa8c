"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "bd68a51349bf74646c5209089754d98bf35b9beb8553e35524eba8007ec4158d"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
