"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "de13e26de068f4e0cce1ae2a9ff030fad10c876bdd47f7de4774f496988cd7f3"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
