"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "13e25edabd803e9680ed5f5bdfdab39b57996dafc49ed11740a6115ef3e786ce"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
