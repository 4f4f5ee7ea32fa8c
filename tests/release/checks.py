"""Checks of a release: version, changelog, contents of wheel and sdist, reproducibility.

``python -m tests.release.checks DIST [AGAIN] [--final]`` checks the built files, and that both builds are the same.
"""

import argparse
import hashlib
import re
import sys
import tarfile
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

from brokerage_async import __version__
from codegen.site.copies import upcoming

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "brokerage_async"
DATA = (
    f"{PACKAGE}/py.typed",
    f"{PACKAGE}/_generated/openapi.json.gz",
    *(f"{PACKAGE}/simulator/control/{name}" for name in ("page.css", "page.html", "page.js")),
    *(f"{PACKAGE}/simulator/control/{name}" for name in ("reference.html", "reference.js")),
    *(f"{PACKAGE}/fleet/lua/{path.name}" for path in sorted((ROOT / PACKAGE / "fleet" / "lua").glob("*.lua"))),
    f"{PACKAGE}/simulator/api/customer.json",
    f"{PACKAGE}/simulator/market/listed.txt",
)
"""Files of the package that hold no code."""
REQUIRED_IN_WHEEL = (
    *DATA,
    *(f"{PACKAGE}/{name}.py" for name in ("__init__", "_generated/models", "simulator/simulator")),
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
MAX_LINES = 6

_NAME = re.compile(r"[a-z0-9][a-z0-9-]*\.(added|changed|fixed)\.md")
_TEMPLATE = "template.md.jinja"
_VERSION = re.compile(r"\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?")
_HEADING = re.compile(r"^## (\S+) \((.+)\)$", re.MULTILINE)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


def main(arguments: list[str] | None = None) -> int:
    """Run the command. Print hashes and problems, and return 1 if there are problems."""
    parser = argparse.ArgumentParser(prog="python -m tests.release.checks", description=__doc__)
    parser.add_argument("dist", type=Path, help="folder of a wheel and an sdist")
    parser.add_argument("again", type=Path, nargs="?", help="folder of the same, built a second time")
    parser.add_argument("--final", action="store_true", help="demand what a published release needs")
    parser.add_argument("--tag", help="name of the tag that is to be published, such as v0.1.0")
    options = parser.parse_args(arguments)

    first = digests(options.dist)
    problems = fragment_problems(ROOT / "changelog.d")
    news = upcoming(ROOT, __version__)
    if options.final and news:
        problems.append("CHANGELOG.md must hold all fragments of changelog.d: run `towncrier build`")
    else:
        changelog = news + (ROOT / "CHANGELOG.md").read_text("utf-8")
        problems += version_problems(__version__, changelog, final=options.final)
    problems += built_problems(options.dist, __version__)
    if options.again is not None and (second := digests(options.again)) != first:
        problems.append(f"two builds must have the same hashes, got {first} and {second}")
    if options.tag not in (None, f"v{__version__}"):
        problems.append(f"the tag must be v{__version__}, got {options.tag}")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    if options.final and "urls" not in project:
        problems.append("pyproject.toml must have [project.urls] with the address of the repository")
    for name, digest in first.items():
        print(f"{digest}  {name}")
    print(*(problems or [f"{__version__} is fit to be released"]), sep="\n")
    return 1 if problems else 0


def built_problems(folder: Path, version: str) -> list[str]:
    wheels, sdists = list(folder.glob("*.whl")), list(folder.glob("*.tar.gz"))
    if (len(wheels), len(sdists)) != (1, 1):
        return [f"{folder} must hold one wheel and one sdist, got {sorted(path.name for path in folder.iterdir())}"]
    return [*wheel_problems(wheels[0], version), *sdist_problems(sdists[0])]


def digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


def wheel_problems(path: Path, version: str) -> list[str]:
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
    with tarfile.open(path) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    strangers = [name for name in names if set(name.split("/")) & set(UNWANTED)]
    return [
        *(f"{path.name} lacks {name}" for name in REQUIRED_IN_SDIST if name not in names),
        *(f"{path.name} must not hold {name}" for name in strangers),
    ]


def fragment_problems(folder: Path) -> list[str]:
    problems = []
    for path in sorted(set(folder.glob("*")) - {folder / _TEMPLATE}):
        if not _NAME.fullmatch(path.name):  # towncrier leaves a file with an unknown kind out without a word
            problems.append(f"a fragment must be named TOPIC.added.md, .changed.md or .fixed.md, got {path.name}")
        elif not 1 <= len(lines := path.read_text("utf-8").strip().splitlines()) <= MAX_LINES:
            problems.append(f"{path.name} must have 1 to {MAX_LINES} lines, got {len(lines)}")
        elif lines[0].startswith(("*", "#")) or any(line.startswith("- ") for line in lines[1:]):
            problems.append(f"{path.name} must be one entry without a heading, got {lines[0]!r}")
    return problems


def version_problems(version: str, changelog: str, *, final: bool) -> list[str]:
    """Return why ``version`` cannot be released with this changelog. A ``final`` release needs a day."""
    problems = []
    if not _VERSION.fullmatch(version):
        problems.append(f"version must be MAJOR.MINOR.PATCH, perhaps with a1, b1 or rc1, got {version!r}")
    headings = _HEADING.findall(changelog)
    if not headings or headings[0][0] != version:
        newest = headings[0][0] if headings else "none"
        return [*problems, f"the newest heading of CHANGELOG.md must be {version}, got {newest}"]
    day = headings[0][1]
    if not _DAY.fullmatch(day) and (final or day != "unreleased"):
        problems.append(f"CHANGELOG.md must give the day of {version} as (YYYY-MM-DD), got ({day})")
    entries = _HEADING.split(changelog)[3]
    if not re.search(r"^- ", entries, re.MULTILINE):
        problems.append(f"CHANGELOG.md must list what changed in {version}, got no entries")
    return problems


if __name__ == "__main__":
    sys.exit(main())
