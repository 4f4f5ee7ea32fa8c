"""Generated pages of the site, by their paths."""

from pathlib import Path

from brokerage_async import __version__, errors
from codegen.read.load import load
from codegen.spec import Spec

from . import copies, messages, namespaces

ROOT = Path(__file__).resolve().parents[2]
ERRORS = frozenset({*errors.__all__, *messages.HOMES})
GENERATED = ("docs/reference/messages.md", "docs/reference/operations/", "docs/reference/objects/", "docs/project/")
"""Where the generated pages are; git ignores them, and the copies of `copies.COPIES`."""
START = "<!-- the newest release follows -->\n"
"""Line of CHANGELOG.md under which towncrier writes a release."""


def render(spec: Spec) -> dict[str, str]:
    """Return every generated page by its path in the repository."""
    pages = {f"docs/reference/{name}": page for name, page in namespaces.render(spec).items()}
    sources = {source: (ROOT / source).read_text("utf-8") for source in copies.COPIES}
    sources["CHANGELOG.md"] = sources["CHANGELOG.md"].replace(START, copies.upcoming(ROOT, __version__))
    pages |= copies.render(sources)
    return {**pages, "docs/reference/messages.md": messages.render(ROOT / "brokerage_async", ERRORS)}


def write() -> None:
    """Write the pages that changed, and remove generated pages that are no longer made."""
    pages = {ROOT / path: page for path, page in render(load(ROOT / "schema")).items()}
    for folder in GENERATED:
        for stale in set((ROOT / folder).glob("*.md")) - set(pages):
            stale.unlink()
    for path, page in pages.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text("utf-8") != page:
            path.write_text(page, "utf-8")
