"""YAML as the schema is written in: close to YAML 1.2, with two booleans, dates as `str`, and no duplicate keys."""

from __future__ import annotations

import re
from typing import Any

import yaml

__all__ = ["parse"]

_BOOLEAN = re.compile(r"(?:true|false)\Z")
_DROPPED = ("tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:bool")


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
