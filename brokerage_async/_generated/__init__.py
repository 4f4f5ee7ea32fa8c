"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "fae26b69bad9482b24ac481e59edc86008808b898eac30b66fc0c2efb81e21a0"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
