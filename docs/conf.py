"""Settings of the documentation site, which ``nox -s docs`` builds."""

from __future__ import annotations

import builtins
import enum
import inspect
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import attrs
from sphinx.addnodes import pending_xref
from sphinx.util.inspect import signature as typed_signature
from sphinx.util.inspect import stringify_signature

from brokerage_async import __version__
from codegen.site import copies, pages, plain, public, signatures

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

ELSEWHERE = {each.name for each in public.names() if inspect.isclass(each.value)} | {*vars(builtins)}
"""Classes whose members are not described again under those that inherit them."""

autodoc_default_options = {
    "members": True,
    "show-inheritance": True,
    "inherited-members": ",".join([*ELSEWHERE, "Protocol", "Generic", "Enum", "StrEnum", "IntFlag"]),
}
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_member_order = "bysource"
napoleon_numpy_docstring = False
napoleon_use_ivar = True

html_theme = "furo"
html_title = f"brokerage_async {version}"
html_copy_source = False
html_show_sphinx = False
html_static_path = ["static"]
html_js_files = ["copy.js"]
html_css_files = ["site.css"]
html_search_scorer = str(Path(__file__).parent / "scorer.js")

HOMES = {each.name: each.full for each in public.names()}  # the last module is the most specific one
SEVERAL_NAMES = re.compile(r"^ +\w+(, \w+)+(?=:)")
CONSTANTS = [each for each in public.names() if not (inspect.isclass(each.value) or inspect.isroutine(each.value))]


def fit_links(app: Sphinx, name: str, content: list[str]) -> None:
    """Let links to files outside of the site lead to their pages in it."""
    path = f"docs/{name}.md"
    content[0] = copies.relink(content[0], path, path)
    if name == "reference/operations":  # in the repository they have no pages
        sections = re.split(r"(?m)^## client\.(\w+)$", content[0])
        for at in range(1, len(sections), 2):
            link = rf"\1[\2](operations/{sections[at]}.md#\3)"
            sections[at + 1] = re.sub(r"(?m)^(\| \**)(`(\w+)`)", link, sections[at + 1])
            sections[at] = f"## client.{sections[at]}"
        content[0] = "".join(sections)


QUALIFIED = re.compile(r"~?\b(?:brokerage_async|collections)(?:\.\w+)*\.([A-Z]\w*)")
"""A type with the module that it comes from, which is private."""
PUBLIC = {f"{each.value.__module__}.{each.name}": each.full for each in public.names() if inspect.isclass(each.value)}


def fit_signature(
    app: Sphinx, what: str, name: str, value: Any, options: Any, signature: str | None, returns: str | None
) -> tuple[str, str | None] | None:
    """Leave out the arguments of models: a table of the fields follows each. Elsewhere show defaults by their value."""
    if what in ("class", "exception") and name.startswith("brokerage_async.models."):
        return "", None
    if signature is None:
        return None
    if attrs.has(value) and attrs.fields(value):
        made = typed_signature(value.__init__ if inspect.isclass(value) else value, bound_method=True)
        signature = stringify_signature(signatures.with_values(value, made), unqualified_typehints=True)
    return QUALIFIED.sub(public_type, signatures.plainly(signature)), returns


def public_type(found: re.Match[str]) -> str:
    """Return a type as a link to its public name, or its bare name without one."""
    name = PUBLIC.get(found[0].lstrip("~"), found[0].lstrip("~"))
    return f"~{name}" if name in PUBLIC.values() else found[1]


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
    """Leave out the fields of models, as `fit_signature` does."""
    if what == "class" and name.startswith("brokerage_async.models.") and "Attributes:" in lines:
        del lines[lines.index("Attributes:") :]


def join_names(app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Write ``host, port: ...`` without its blank: napoleon would take the first name for the type of the second."""
    lines[:] = [SEVERAL_NAMES.sub(lambda match: match[0].replace(", ", ","), line) for line in lines]
    is_enum = inspect.isclass(value) and issubclass(value, enum.Enum) and ".models." not in name
    if is_enum and not public.explained_below(value):
        lines += ["", "Members: " + ", ".join(f"``{each} = {each.value!r}``" for each in value), ""]


def shorten_types(app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Show types of fields by their public names, and no words before a colon as the type of an attribute."""
    if what in ("attribute", "property", "data"):
        for line in [line for line in lines if line.startswith(":type: ")]:
            lines.remove(line)
            lines[0] = f"{line.removeprefix(':type: ')}: {lines[0]}"
    lines[:] = [QUALIFIED.sub(public_type, line) if line.startswith(":vartype") else line for line in lines]


def unlink_fields(app: Sphinx, document: document) -> None:
    """Take the links off the names of described attributes: they would lead to any attribute of that name."""
    for node in list(document.findall(pending_xref)):
        if node.get("refdomain") == "py" and node["reftype"] == "obj" and node.get("refspecific"):
            node.replace_self(node.children)


def shorten_contents(app: Sphinx, domain: str, kind: str, content: Element) -> None:
    """Leave methods and attributes out of the contents of pages, which are written once per page of the site."""
    if domain == "py" and kind not in ("class", "exception", "function", "data"):
        for signature in content.parent.children[:-1]:
            signature["_toc_name"] = ""


def write_plain(app: Sphinx, error: Exception | None) -> None:
    """Write the pages as Markdown as well."""
    if error is None and app.builder.name == "html":
        titles = {name: title.astext() for name, title in app.env.titles.items()}
        sources = {}
        for name in titles:
            content = [Path(app.env.doc2path(name)).read_text("utf-8")]
            fit_links(app, name, content)
            sources[name] = content[0]
        summary = sources["index"].split("\n\n")[1]
        plain.write(Path(app.outdir), sources, titles, summary)


def setup(app: Sphinx) -> None:
    """Write the generated pages before anything is read."""
    pages.write()
    app.connect("source-read", fit_links)
    app.connect("autodoc-process-signature", fit_signature)
    app.connect("autodoc-process-docstring", add_docstring)
    app.connect("autodoc-process-docstring", drop_fields, priority=100)
    app.connect("autodoc-process-docstring", join_names, priority=100)  # before napoleon
    app.connect("autodoc-process-docstring", shorten_types, priority=900)  # after napoleon
    app.connect("object-description-transform", shorten_contents)
    app.connect("doctree-read", unlink_fields)
    app.connect("missing-reference", find_home)
    app.connect("build-finished", write_plain)
