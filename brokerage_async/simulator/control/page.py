"""Page of the control server: a document, a style sheet and two scripts, as files of this folder."""

from __future__ import annotations

from pathlib import Path

__all__ = ["PAGE", "POLICY", "REFERENCE_SCRIPT", "SCRIPT", "STYLE"]

_FOLDER = Path(__file__).parent

PAGE: str = (_FOLDER / "page.html").read_text("utf-8")
SCRIPT: str = (_FOLDER / "page.js").read_text("utf-8")
REFERENCE_SCRIPT: str = (_FOLDER / "reference.js").read_text("utf-8")
STYLE: str = (_FOLDER / "page.css").read_text("utf-8")

POLICY: str = "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
"""Content security policy: nothing from elsewhere, and no inline scripts."""
