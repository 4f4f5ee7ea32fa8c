"""Models, converters, operations and endpoints, generated from the schema."""

from __future__ import annotations

SCHEMA: str = "ccd75543ca31034f2c6849ac9551618cfb1d0d6eb66f0e7608f1a7093435f439"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""


def openapi() -> str:
    """Return the OpenAPI document of the schema as JSON, which the package holds compressed."""
    import gzip
    from importlib.resources import files

    return gzip.decompress((files(__name__) / "openapi.json.gz").read_bytes()).decode()
