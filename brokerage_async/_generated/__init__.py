"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "6f2d5d376ebfdbf8241fdb9bf90b9ba9493f92012d2e1d0e6161f3bd291c323c"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
