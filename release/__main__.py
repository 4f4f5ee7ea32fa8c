"""Command ``python -m release DIST [AGAIN] [--final]``: check the built files, and that both builds are the same."""

from __future__ import annotations

import argparse
import hashlib
import sys
import tomllib
from pathlib import Path

from brokerage_async import __version__

from .contents import sdist_problems, wheel_problems
from .news import fragment_problems, upcoming
from .version import version_problems

ROOT = Path(__file__).resolve().parent.parent


def main(arguments: list[str] | None = None) -> int:
    """Run the command; print hashes and problems, and return 1 if there are problems."""
    parser = argparse.ArgumentParser(prog="python -m release", description=__doc__)
    parser.add_argument("dist", type=Path, help="folder of a wheel and an sdist")
    parser.add_argument("again", type=Path, nargs="?", help="folder of the same, built a second time")
    parser.add_argument("--final", action="store_true", help="demand what a published release needs")
    parser.add_argument("--tag", help="name of the tag that is to be published, such as v0.1.0")
    options = parser.parse_args(arguments)

    first = digests(options.dist)
    problems = [*changelog_problems(__version__, final=options.final)]
    problems += built_problems(options.dist, __version__)
    if options.again is not None and (second := digests(options.again)) != first:
        problems.append(f"two builds must have the same hashes, got {first} and {second}")
    if options.tag not in (None, f"v{__version__}"):
        problems.append(f"the tag must be v{__version__}, got {options.tag}")
    if options.final and "urls" not in project():
        problems.append("pyproject.toml must have [project.urls] with the address of the repository")
    for name, digest in first.items():
        print(f"{digest}  {name}")
    print(*(problems or [f"{__version__} is fit to be released"]), sep="\n")
    return 1 if problems else 0


def changelog_problems(version: str, *, final: bool) -> list[str]:
    """Return the problems of the changelog with its fragments, of which a ``final`` release leaves none."""
    problems = fragment_problems(ROOT / "changelog.d")
    news = upcoming(ROOT, version)
    if final and news:
        return [*problems, "CHANGELOG.md must hold all fragments of changelog.d: run `towncrier build`"]
    return [*problems, *version_problems(version, news + (ROOT / "CHANGELOG.md").read_text("utf-8"), final=final)]


def project() -> dict[str, object]:
    """Return the table ``[project]`` of pyproject.toml."""
    table: dict[str, object] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return table


def built_problems(folder: Path, version: str) -> list[str]:
    """Return the problems of a folder, which must hold one wheel and one sdist."""
    wheels, sdists = list(folder.glob("*.whl")), list(folder.glob("*.tar.gz"))
    if (len(wheels), len(sdists)) != (1, 1):
        return [f"{folder} must hold one wheel and one sdist, got {sorted(path.name for path in folder.iterdir())}"]
    return [*wheel_problems(wheels[0], version), *sdist_problems(sdists[0])]


def digests(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of the files of a folder, by name."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


if __name__ == "__main__":
    sys.exit(main())
