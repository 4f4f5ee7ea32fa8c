"""The YAML files of a schema folder, the places in them, and what is wrong at those places."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import yaml

_BOOLEAN = re.compile(r"true|false")


class SchemaError(Exception):
    """The schema cannot be generated from; ``problems`` holds one line for everything that is wrong with it."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class _Loader(yaml.SafeLoader):
    """YAML 1.2 as far as it matters: only true and false are booleans, dates are text, a key occurs once."""


_Loader.yaml_implicit_resolvers = {
    first: [
        (tag, pattern)
        for tag, pattern in resolvers
        if tag not in ("tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:bool")
    ]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", _BOOLEAN, list("tf"))


def _mapping_without_repeats(loader: _Loader, node: yaml.MappingNode) -> dict[Any, Any]:
    keys = [loader.construct_object(key) for key, _ in node.value]
    for (key_node, _), key in zip(node.value, keys, strict=True):
        if keys.count(key) > 1 and key != "<<":
            raise yaml.MarkedYAMLError(problem=f"the key {key!r} occurs twice", problem_mark=key_node.start_mark)
    return dict(yaml.SafeLoader.construct_mapping(loader, node, deep=True))


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping_without_repeats)


@attrs.frozen
class Node:
    """A value in a file, and where it stands."""

    document: Document = attrs.field(repr=False)
    file: str
    path: tuple[str | int, ...]
    value: Any = attrs.field(repr=False)

    def problem(self, reason: str) -> None:
        """Note that something is wrong here."""
        line = f"{self.file}: {self.json_path}: {reason}"
        if line not in self.document.problems:
            self.document.problems.append(line)

    @property
    def json_path(self) -> str:
        """Where it stands, such as ``$.schemas.Order.properties.order-type.x-wire[0]``."""
        return "$" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in self.path)

    @property
    def members(self) -> dict[str, Any]:
        """The object that stands here as a dict; empty when it is something else."""
        return self.value if isinstance(self.value, dict) else {}

    def get(self, key: str) -> Node | None:
        """The member of this name, its ``$ref`` followed; None when there is none."""
        if not isinstance(self.value, dict) or key not in self.value:
            return None
        return self.child(key, self.value[key]).resolved()

    def text(self, key: str, default: str = "") -> str:
        """The member of this name as text on one line."""
        return " ".join(str(self.members.get(key, default)).split())

    def items(self) -> Iterator[tuple[str, Node]]:
        """The members of an object, each with its ``$ref`` followed."""
        if isinstance(self.value, dict):
            for key, value in self.value.items():
                yield str(key), self.child(str(key), value).resolved()
        elif self.value is not None:
            self.problem(f"expected an object, found {self.value!r}")

    def elements(self) -> Iterator[Node]:
        """The items of an array, each with its ``$ref`` followed."""
        if isinstance(self.value, list):
            for index, value in enumerate(self.value):
                yield self.child(index, value).resolved()
        elif self.value is not None:
            self.problem(f"expected an array, found {self.value!r}")

    def reference(self) -> str | None:
        """The text of ``$ref``, if there is one and it was not followed."""
        return self.members.get("$ref")

    def resolved(self) -> Node:
        """What ``$ref`` points at, overlaid with the keys that stand beside it; the node itself without one."""
        reference = self.reference()
        if reference is None:
            return self
        target = self.document.find(self, reference)
        beside = {key: value for key, value in self.value.items() if key != "$ref"}
        if not isinstance(target.value, dict):
            return target
        return attrs.evolve(target, value={**target.value, **beside})

    @property
    def component(self) -> str | None:
        """The name of the schema that stands here, when it is one of the named ones."""
        return str(self.path[1]) if len(self.path) == 2 and self.path[0] == "schemas" else None

    def raw(self, key: str) -> Node | None:
        """The member of this name as it stands, its ``$ref`` not followed."""
        if not isinstance(self.value, dict) or key not in self.value:
            return None
        return self.child(key, self.value[key])

    def child(self, part: str | int, value: Any) -> Node:
        """A place one step further down."""
        return Node(self.document, self.file, (*self.path, part), value)


class Document:
    """All YAML files of a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.problems: list[str] = []
        self.files: dict[str, Any] = {}
        self._hash = hashlib.sha256()
        for path in sorted(folder.glob("*.yaml")):
            self.files[path.name] = self._parse(path)
        if "openapi.yaml" not in self.files:
            self.problems.append(f"{folder}: there is no openapi.yaml in this folder")

    def _parse(self, path: Path) -> Any:
        try:
            text = path.read_text(encoding="utf-8")
            self._hash.update(f"{path.name}\0{text}\0".encode())
            # The loader is a SafeLoader.
            return yaml.load(text, Loader=_Loader)  # noqa: S506
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            where = f"line {mark.line + 1}, column {mark.column + 1}" if mark else "somewhere"
            self.problems.append(f"{path.name}: $: not readable as YAML, {where}: {error.problem or error.context}")
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            self.problems.append(f"{path.name}: $: not readable as YAML: {' '.join(str(error).split())}")
        return {}

    @property
    def digest(self) -> str:
        """SHA-256 over names and texts of all files."""
        return self._hash.hexdigest()

    def root(self, file: str = "openapi.yaml") -> Node:
        """The whole of one file."""
        return Node(self, file, (), self.files.get(file, {}))

    def find(self, origin: Node, reference: str, trail: tuple[str, ...] = ()) -> Node:
        """What a ``$ref`` points at; an empty node, and a problem, when it points at nothing."""
        name, _, pointer = str(reference).partition("#")
        file = name or origin.file
        node = self.root(file)
        if file not in self.files:
            origin.problem(f"$ref to {reference!r}: there is no file {file}")
            return Node(self, origin.file, origin.path, {})
        for part in filter(None, pointer.split("/")):
            if not isinstance(node.value, dict) or part not in node.members:
                origin.problem(f"$ref to {reference!r}: {file} has no {part!r} there")
                return Node(self, origin.file, origin.path, {})
            node = Node(self, file, (*node.path, part), node.value[part])
        onward = node.reference()
        if onward is None:
            return node
        if reference in trail:
            origin.problem(f"$ref to {reference!r} leads back to itself")
            return Node(self, origin.file, origin.path, {})
        return self.find(node, onward, (*trail, reference))

    def everywhere(self) -> Iterator[Node]:
        """Every object of every file."""
        for file in self.files:
            stack = [self.root(file)]
            while stack:
                node = stack.pop()
                if isinstance(node.value, dict):
                    stack.extend(node.child(part, value) for part, value in node.members.items())
                    yield node
                elif isinstance(node.value, list):
                    stack.extend(node.child(part, value) for part, value in enumerate(node.value))
