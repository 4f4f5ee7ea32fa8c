"""Formatting of the rendered modules, comparison with the committed ones, and writing."""

import gzip
import subprocess
import sys
from pathlib import Path
from typing import Any

from ..spec import Spec
from ..template import HEADER, from_template
from . import converters, endpoints, models, operations

#: First lines of models.py. S105 mistakes names such as ``REFRESH_TOKEN`` for hard-coded secrets.
MODELS_HEADER = f'{HEADER}\n# ruff: noqa: S105\n"""Models and enumerations of the service."""'

ATTRIBUTES = "*.py linguist-generated=true\nopenapi.json.gz linguist-generated=true\n"


def render(spec: Spec, *, is_own: bool = True) -> dict[str, str]:
    """Return the contents of all files of a package, by name: this library's, or one from another schema."""
    values: dict[str, dict[str, Any]] = {
        "converters.py": converters.values(spec),
        "operations.py": operations.values(spec),
        "endpoints.py": endpoints.values(spec),
    }
    if is_own:
        values["behaviours.py"] = {"entries": spec.behaviours}
        if statuses := spec.enums.get("OrderStatus"):
            values["order_statuses.py"] = {"statuses": statuses.transitions}
    if spec.stream_caps:
        values["stream_caps.py"] = {"caps": spec.stream_caps}
    return {
        ".gitattributes": ATTRIBUTES,
        "__init__.py": from_template("__init__.py", {"digest": spec.digest, "is_own": is_own}),
        "models.py": formatted(models.render(spec, MODELS_HEADER) + from_template("takes.py", {"kinds": spec.takes})),
        **{name: formatted(from_template(name, each)) for name, each in values.items()},
    }


def formatted(source: str) -> str:
    """Return the source formatted by ruff, in the project's style from any directory."""
    for arguments in (["check", "--fix-only", "--select", "I,F401"], ["format"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *arguments, "--quiet", "--isolated", *_STYLE, "-"],
            input=source,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"ruff rejected the generated code: {done.stderr.strip()}")
        source = done.stdout
    return source


_SETTINGS = ("line-length=120", "target-version='py311'", "lint.isort.known-first-party=['brokerage_async']")
_STYLE = (*(part for setting in _SETTINGS for part in ("--config", setting)), "--stdin-filename", "generated.py")


def write(files: dict[str, str], folder: Path, *, whole_folder: bool = True, check: bool = False) -> list[str]:
    """Write stale files, remove left-over ones from a ``whole_folder``, and return the names of both.

    With ``check``, return the names and write nothing.
    """
    changed = [name for name, content in files.items() if _read(folder / name) != content]
    if whole_folder:
        changed += sorted(path.name for path in folder.glob("*.py") if path.name not in files)
    if check:
        return changed
    folder.mkdir(parents=True, exist_ok=True)
    for name in changed:
        if name in files:
            content = files[name].encode()
            (folder / name).write_bytes(gzip.compress(content, mtime=0) if name.endswith(".gz") else content)
        else:
            (folder / name).unlink()
    return changed


def _read(path: Path) -> str | None:
    if not path.is_file():
        return None
    content = path.read_bytes()
    return (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
