"""Every page as Markdown beside the HTML, and ``llms.txt``, the list of them, for programs that read."""

import inspect
import re
from collections.abc import Mapping
from pathlib import Path

import attrs

from . import public, signatures

_BLOCK = re.compile(r"^```\{(eval-rst|toctree|py:method)\}([^\n]*)\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
_QUALIFIED = re.compile(r"\bbrokerage_async\.[\w.]*\.|'")
_ROLE = re.compile(r"\{py:obj\}`(?:[^`<]*<)?~?([^`>]*)>?`")


def render(page: str) -> str:
    """Return a page without the directives of Sphinx: names are described in their place, as Python shows them."""

    def block(found: re.Match[str]) -> str:
        kind, argument, body = found.groups()
        if kind == "toctree":
            return ""
        if kind == "py:method":
            return f"```python\n{argument.strip()}\n```\n"
        modules = re.findall(r"automodule:: (\S+)", body) if ":no-members:" not in body else []
        wanted = [*(f"{name}." for name in modules), *re.findall(r"auto(?:class|data|method|property):: (\S+)", body)]
        return "\n".join(
            _described(each)
            for each in public.names()
            if any(each.full == name or (name.endswith(".") and each.full.startswith(name)) for name in wanted)
        )

    return _ROLE.sub(r"`\1`", _BLOCK.sub(block, page))


def _described(name: public.Name) -> str:
    try:
        made = inspect.signature(name.value)
        if attrs.has(name.value):
            made = signatures.with_values(name.value, made)
        signature = signatures.plainly(_QUALIFIED.sub("", str(made)))
    except (TypeError, ValueError):
        signature = ""
    heading = f"{name.full}{signature}" if len(signature) < 1000 else name.full
    return f"### `{heading}`\n\n{inspect.cleandoc(name.doc or '')}\n"


def index(titles: Mapping[str, str], summary: str) -> str:
    """Return ``llms.txt``: a link to every page, guides first."""
    parts = {"Guides": "", "Design": "design/", "Project": "project/", "Reference": "reference/"}
    lines = ["# brokerage_async", "", f"> {' '.join(summary.split())}"]
    for heading, folder in parts.items():
        names = [name for name in sorted(titles) if name.startswith(folder) and (folder or "/" not in name)]
        lines += ["", f"## {heading}", "", *(f"- [{titles[name]}]({name}.md)" for name in names)]
    return "\n".join([*lines, ""])


def write(site: Path, pages: Mapping[str, str], titles: Mapping[str, str], summary: str) -> None:
    """Write every page and the list of them into the folder of a built site."""
    for name, page in pages.items():
        (site / f"{name}.md").parent.mkdir(parents=True, exist_ok=True)
        (site / f"{name}.md").write_text(render(page), "utf-8")
    (site / "llms.txt").write_text(index(titles, summary), "utf-8")
