"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "cb98b6322ba6a5245039094cf37a919cc4ea582021cf620d2b026339ec308375"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
