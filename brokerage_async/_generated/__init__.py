"""Models, converters, operations and endpoints, generated from the schema."""

from __future__ import annotations

SCHEMA: str = "5de03db1f2e0604dfdc0ddc3edfe292c911901b8456402b9d2aa3315338f5b7f"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""


def openapi() -> str:
    """Return the OpenAPI document of the schema as JSON, which the package holds compressed."""
    import gzip
    from importlib.resources import files

    return gzip.decompress((files(__name__) / "openapi.json.gz").read_bytes()).decode()
