"""Models, converters, operations and endpoints, generated from the schema."""

from __future__ import annotations

SCHEMA: str = "23e9257413aff86c7cce21b1699c704ad8624bdf3536efa45b7eede0f6600870"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""


def openapi() -> str:
    """Return the OpenAPI document of the schema as JSON, which the package holds compressed."""
    import gzip
    from importlib.resources import files

    return gzip.decompress((files(__name__) / "openapi.json.gz").read_bytes()).decode()
