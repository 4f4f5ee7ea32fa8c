"""YAML files of a schema folder, with the location and the problems of every value."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import yaml

#: File of a reference such as ``common.yaml#/schemas/ItemEnvelope``.
_REFERRED = re.compile(r"([\w.-]+\.yaml)#/")

_BOOLEAN = re.compile(r"(?:true|false)\Z")
_DROPPED = ("tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:bool")


class SchemaError(Exception):
    """Invalid schema; ``problems`` lists all problems as ``file: JSON path: reason``."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


@attrs.frozen
class Node:
    """Value in a schema file, with its location."""

    document: Document = attrs.field(repr=False)
    file: str
    path: tuple[str | int, ...]
    value: Any = attrs.field(repr=False)

    def problem(self, reason: str) -> None:
        """Record a problem at this location."""
        line = f"{self.file}: {self.json_path}: {reason}"
        if line not in self.document.problems:
            self.document.problems.append(line)

    @property
    def json_path(self) -> str:
        """Location, such as ``$.schemas.Order.properties.order-type.x-wire[0]``."""
        return "$" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in self.path)

    @property
    def members(self) -> dict[str, Any]:
        """Members of the object at this location. Empty for any other value."""
        return self.value if isinstance(self.value, dict) else {}

    def get(self, *keys: str) -> Node | None:
        """Return the member at the end of ``keys``, each with its ``$ref`` resolved, or None."""
        node: Node | None = self
        for key in keys:
            node = node and node.unresolved(key)
            node = node and node.resolved()
        return node

    def string(self, key: str, default: str = "") -> str:
        """Return a member as a `str` on one line. Blanks within a line stay."""
        return " ".join(line.strip() for line in str(self.members.get(key, default)).splitlines())

    def items(self, *keys: str) -> Iterator[tuple[str, Node]]:
        """Yield the members of the object at ``keys``, if there is one, each with its ``$ref`` resolved."""
        yield from ((key, child.resolved()) for key, child in _parts(self.get(*keys), dict))

    def children(self, key: str) -> Iterator[tuple[str, Node]]:
        """Yield the members of the object under ``key``, if there is one, each with its ``$ref`` unresolved.

        Unlike elsewhere, null is not taken for an empty object: most likely the properties below it lack their indent.
        """
        node = self.unresolved(key)
        if node is not None and node.value is None:
            node.problem("must be an object, got None")
        yield from _parts(node, dict)

    def elements(self, *keys: str) -> Iterator[Node]:
        """Yield the items of the array at ``keys``, if there is one, each with its ``$ref`` resolved."""
        yield from (child.resolved() for _, child in _parts(self.get(*keys), list))

    def reference(self) -> str | None:
        """Return the unresolved ``$ref`` at this location, if any."""
        return self.members.get("$ref")

    def resolved(self) -> Node:
        """Return the target of ``$ref``, overlaid with sibling keys, or the node itself."""
        reference = self.reference()
        if reference is None:
            return self
        target = self.document.resolve(self, reference)
        siblings = {key: value for key, value in self.value.items() if key != "$ref"}
        if not isinstance(target.value, dict):
            return target
        return attrs.evolve(target, value={**target.value, **siblings})

    @property
    def component(self) -> str | None:
        """Name of the component at this location, if any."""
        return str(self.path[1]) if len(self.path) == 2 and self.path[0] == "schemas" else None

    def unresolved(self, key: str) -> Node | None:
        """Return a member with its ``$ref`` unresolved, or None."""
        if not isinstance(self.value, dict) or key not in self.value:
            return None
        return self.child(key, self.value[key])

    def child(self, part: str | int, value: Any) -> Node:
        """Return a node one level down."""
        return Node(self.document, self.file, (*self.path, part), value)


def _parts(node: Node | None, kind: type[dict[Any, Any] | list[Any]]) -> Iterator[tuple[Any, Node]]:
    """Yield the members of an object or the items of an array, if there is one. Record any other value."""
    value: Any = None if node is None else node.value
    if node is not None and isinstance(value, kind):
        parts = ((str(key), each) for key, each in value.items()) if isinstance(value, dict) else enumerate(value)
        yield from ((part, node.child(part, each)) for part, each in parts)
    elif node is not None and value is not None:
        node.problem(f"must be an {'object' if kind is dict else 'array'}, got {value!r}")


class Document:
    """All YAML files of a schema folder. Files that it refers to and lacks come from the folder ``beside``, if any."""

    def __init__(self, folder: Path, *, beside: Path | None = None) -> None:
        self.folder = folder
        self.problems: list[str] = []
        self.files: dict[str, Any] = {}
        self._hash = hashlib.sha256()
        pending = sorted(folder.glob("*.yaml"))
        while pending:
            path = pending.pop(0)
            content, self.files[path.name] = self._read(path)
            named = {each.name for each in pending} | self.files.keys()
            missing = sorted(set(_REFERRED.findall(content)) - named) if beside else []
            pending += [beside / name for name in missing if beside and (beside / name).is_file()]
        if "openapi.yaml" not in self.files:
            self.problems.append(f"{folder}: openapi.yaml is missing")

    def _read(self, path: Path) -> tuple[str, Any]:
        """Return the content of a file and its value. Record an invalid one and return an empty object."""
        content = ""
        try:
            content = path.read_text(encoding="utf-8")
            self._hash.update(f"{path.name}\0{content}\0".encode())
            return content, parse(content)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            where = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
            self.problems.append(f"{path.name}: $: invalid YAML{where}: {error.problem or error.context}")
        except (UnicodeDecodeError, yaml.YAMLError) as error:
            self.problems.append(f"{path.name}: $: invalid YAML: {' '.join(str(error).split())}")
        return content, {}

    @property
    def digest(self) -> str:
        """SHA-256 of the names and contents of all files."""
        return self._hash.hexdigest()

    def root(self, file: str = "openapi.yaml") -> Node:
        """Return the root node of a file."""
        return Node(self, file, (), self.files.get(file, {}))

    def resolve(self, origin: Node, reference: str, trail: tuple[str, ...] = ()) -> Node:
        """Return the target of a ``$ref``. Record a dangling one and return an empty node."""
        name, _, pointer = str(reference).partition("#")
        file = name or origin.file
        node = self.root(file)
        if file not in self.files:
            origin.problem(f"$ref {reference!r}: unknown file {file}")
            return Node(self, origin.file, origin.path, {})
        for part in filter(None, pointer.split("/")):
            if not isinstance(node.value, dict) or part not in node.members:
                origin.problem(f"$ref {reference!r}: {part!r} not found in {file}")
                return Node(self, origin.file, origin.path, {})
            node = Node(self, file, (*node.path, part), node.value[part])
        onward = node.reference()
        if onward is None:
            return node
        if reference in trail:
            origin.problem(f"$ref {reference!r} is circular")
            return Node(self, origin.file, origin.path, {})
        return self.resolve(node, onward, (*trail, reference))

    def objects(self) -> Iterator[Node]:
        """Yield every object of every file."""
        pending = [self.root(file) for file in self.files]
        while pending:
            node = pending.pop()
            if isinstance(node.value, (dict, list)):
                pending += [child for _, child in _parts(node, type(node.value))]
            if isinstance(node.value, dict):
                yield node


# -- YAML as the schema is written in: close to YAML 1.2, with two booleans, dates as `str`, and no duplicate keys


def parse(content: str) -> Any:
    """Return the value of a document.

    Raises:
        yaml.YAMLError: the document is invalid. The error comes from the Python parser, which names the place better
            than the one in C.
    """
    try:
        return yaml.load(content, Loader=_FAST)  # noqa: S506 - a SafeLoader
    except yaml.YAMLError:
        return yaml.load(content, Loader=_EXACT)  # noqa: S506 - a SafeLoader


def _loader(base: Any) -> Any:
    """Return a loader with the rules of this module."""
    loader: Any = type("Loader", (base,), {})
    resolvers = yaml.SafeLoader.yaml_implicit_resolvers.items()
    loader.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in pairs if tag not in _DROPPED] for first, pairs in resolvers
    }
    loader.add_implicit_resolver("tag:yaml.org,2002:bool", _BOOLEAN, list("tf"))
    loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _construct_unique_mapping)
    return loader


def _construct_unique_mapping(loader: Any, node: yaml.MappingNode) -> dict[Any, Any]:
    keys: list[Any] = []
    for key_node, _ in node.value:
        key = loader.construct_object(key_node)
        if key in keys and key != "<<":
            raise yaml.MarkedYAMLError(problem=f"duplicate key {key!r}", problem_mark=key_node.start_mark)
        keys.append(key)
    return dict(yaml.SafeLoader.construct_mapping(loader, node, deep=True))


_FAST: Any = _loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader))
_EXACT: Any = _loader(yaml.SafeLoader)
