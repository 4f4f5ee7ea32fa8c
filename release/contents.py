"""Contents of wheel and sdist: all that belongs there, and nothing else."""

from __future__ import annotations

import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

__all__ = ["sdist_problems", "wheel_problems"]

PACKAGE = "brokerage_async"
DATA = (
    f"{PACKAGE}/py.typed",
    f"{PACKAGE}/_generated/openapi.json",
    *(f"{PACKAGE}/simulator/control/{name}" for name in ("page.css", "page.html", "page.js")),
    *(f"{PACKAGE}/simulator/control/{name}" for name in ("reference.html", "reference.js")),
    f"{PACKAGE}/simulator/api/customer.json",
    f"{PACKAGE}/simulator/market/listed.txt",
)
"""Files of the package that hold no code."""
REQUIRED_IN_WHEEL = (
    *DATA,
    f"{PACKAGE}/__init__.py",
    f"{PACKAGE}/_generated/models.py",
    f"{PACKAGE}/simulator/simulator.py",
)
REQUIRED_IN_SDIST = (
    "CHANGELOG.md",
    "LICENSE",
    "README.md",
    "SECURITY.md",
    "brokerage_async/py.typed",
    "codegen/__main__.py",
    "docs/index.md",
    "noxfile.py",
    "pyproject.toml",
    "schema/openapi.yaml",
    "tests/conftest.py",
)
UNWANTED = ("__pycache__", ".nox", ".venv", ".git", "_build", ".hypothesis", ".pytest_cache", ".mypy_cache")


def wheel_problems(path: Path, version: str) -> list[str]:
    """Return the problems of a wheel."""
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        info = f"{PACKAGE}-{version}.dist-info"
        metadata = Parser().parsestr(archive.read(f"{info}/METADATA").decode() if f"{info}/METADATA" in names else "")
    problems = [f"{path.name} lacks {name}" for name in REQUIRED_IN_WHEEL if name not in names]
    for name in names:
        inside = name in DATA or (name.startswith(f"{PACKAGE}/") and name.endswith(".py"))
        if not inside and not name.startswith(f"{info}/"):
            problems.append(f"{path.name} must hold the package only, got {name}")
    if metadata["Version"] != version:
        problems.append(f"{path.name} must have version {version} in its metadata, got {metadata['Version']}")
    if not any(name.startswith(f"{info}/licenses/") for name in names):
        problems.append(f"{path.name} lacks the license")
    return problems


def sdist_problems(path: Path) -> list[str]:
    """Return the problems of a source distribution."""
    with tarfile.open(path) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    strangers = [name for name in names if set(name.split("/")) & set(UNWANTED)]
    return [
        *(f"{path.name} lacks {name}" for name in REQUIRED_IN_SDIST if name not in names),
        *(f"{path.name} must not hold {name}" for name in strangers),
    ]
