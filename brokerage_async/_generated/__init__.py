"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "bdf72824688f2796f748fd3be698683e24356ce326f0478f25ef6a000682bb98"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
