"""Settings of the documentation site, which ``nox -s docs`` builds."""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from sphinx.addnodes import pending_xref

from brokerage_async import __version__
from codegen.site import copies, pages, public

if TYPE_CHECKING:
    from docutils.nodes import Element, document
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

project = "brokerage_async"
author = "the brokerage_async authors"
copyright = f"2026, {author}"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
default_role = "py:obj"

myst_heading_anchors = 3
myst_enable_extensions = ["deflist"]

autodoc_default_options = {"members": True, "show-inheritance": True}
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_member_order = "bysource"
napoleon_numpy_docstring = False
napoleon_use_ivar = True

html_theme = "furo"
html_title = f"brokerage_async {version}"
html_copy_source = False
html_show_sphinx = False
html_search_scorer = str(Path(__file__).parent / "scorer.js")

HOMES = {each.name: each.full for each in public.names()}  # the last module is the most specific one
SEVERAL_NAMES = re.compile(r"^ +\w+(, \w+)+(?=:)")
CONSTANTS = [each for each in public.names() if not (inspect.isclass(each.value) or inspect.isroutine(each.value))]


def fit_links(app: Sphinx, name: str, content: list[str]) -> None:
    """Let links to files outside of the site lead to their pages in it."""
    path = f"docs/{name}.md"
    content[0] = copies.relink(content[0], path, path)


def drop_signature(app: Sphinx, what: str, name: str, *rest: Any) -> tuple[str, None] | None:
    """Leave out the arguments of models: a table of the fields follows each."""
    return ("", None) if what == "class" and name.startswith("brokerage_async.models.") else None


def add_docstring(app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Give constants and aliases the docstring written at their definition, instead of their type's docstring."""
    for each in CONSTANTS:
        if each.full == name:
            lines[:] = inspect.cleandoc(each.doc or "").splitlines()


def find_home(app: Sphinx, env: BuildEnvironment, node: Element, shown: Element) -> Element | None:
    """Resolve a bare public name, such as `Client`, in a docstring of another module."""
    full = HOMES.get(node.get("reftarget", "")) if node.get("refdomain") == "py" else None
    if full is None:
        return None
    python = env.domains.python_domain
    return python.resolve_xref(env, node["refdoc"], app.builder, "obj", full, node, shown)


def drop_fields(app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Leave out the fields of models, as `drop_signature` does."""
    if what == "class" and name.startswith("brokerage_async.models.") and "Attributes:" in lines:
        del lines[lines.index("Attributes:") :]


def join_names(app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Write ``host, port: ...`` without its blank: napoleon would take the first name for the type of the second."""
    lines[:] = [SEVERAL_NAMES.sub(lambda match: match[0].replace(", ", ","), line) for line in lines]


def unlink_fields(app: Sphinx, document: document) -> None:
    """Take the links off the names of described attributes: they would lead to any attribute of that name."""
    for node in list(document.findall(pending_xref)):
        if node.get("refdomain") == "py" and node["reftype"] == "obj" and node.get("refspecific"):
            node.replace_self(node.children)


def setup(app: Sphinx) -> None:
    """Write the generated pages before anything is read."""
    pages.write()
    app.connect("source-read", fit_links)
    app.connect("autodoc-process-signature", drop_signature)
    app.connect("autodoc-process-docstring", add_docstring)
    app.connect("autodoc-process-docstring", drop_fields, priority=100)
    app.connect("autodoc-process-docstring", join_names, priority=100)  # before napoleon
    app.connect("doctree-read", unlink_fields)
    app.connect("missing-reference", find_home)
