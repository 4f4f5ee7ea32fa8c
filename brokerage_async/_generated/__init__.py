"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "0919269c43a506a2ce00622c324d3a57f69001372081d1dfd60102bad3f7400c"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
