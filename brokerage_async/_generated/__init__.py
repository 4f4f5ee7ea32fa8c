"""Models, converters, operations and endpoints, generated from the schema."""

from __future__ import annotations

SCHEMA: str = "8e51d2eb824f44022b9e2ddc5b8b39357eb00fccf061d1b47fd37e14b90911e7"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""


def openapi() -> str:
    """Return the OpenAPI document of the schema as JSON, which the package holds compressed."""
    import gzip
    from importlib.resources import files

    return gzip.decompress((files(__name__) / "openapi.json.gz").read_bytes()).decode()
