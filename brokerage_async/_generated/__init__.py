"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "59f71a10868c75ad200e18258e0ac71ad495992e1ff9068573b82dc3bb42955a"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
