"""Models, converters, operations and endpoints, generated from the schema."""

from __future__ import annotations

SCHEMA: str = "48dbd5bb9ea619c626a2103953a05d69ae1ca8d53a325ddb461f8dea0bf12f0b"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""


def openapi() -> str:
    """Return the OpenAPI document of the schema as JSON, which the package holds compressed."""
    import gzip
    from importlib.resources import files

    return gzip.decompress((files(__name__) / "openapi.json.gz").read_bytes()).decode()
