"""Exchanges typed by hand: what goes out for a call, what comes back for it, and what must be read out of that.

Shapes follow the documented interface (and, where ``observed`` is set, what services have been seen to send); every
value is invented. The same exchanges are replayed without I/O, over real HTTP, and against the simulator. The YAML
files beside this one hold them in the words of `Exchange`:

- ``!Name`` builds a model or a member of an enumeration, a number with a point is a `Decimal` (``10.`` too);
- ``$name`` in an answer stands for the text of the ``part`` of this name;
- the facts under ``path.*`` are facts of ``path``.
"""

import datetime as dt
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import yaml

from brokerage_async import models
from tests.vectors.exchange import Exchange

FAST: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Loader(FAST):
    """YAML with the types of the library: exact decimals, aware timestamps, models and enumerations."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012

    def model(self, name: str, node: yaml.Node) -> Any:
        made: Any = getattr(models, name)
        if isinstance(node, yaml.ScalarNode):
            return made(node.value)
        fields = self.construct_mapping(node, deep=True)
        return made(**{key: tuple(value) if isinstance(value, list) else value for key, value in fields.items()})


SCALARS: tuple[tuple[str, str, Any], ...] = (
    ("null", "null", lambda text: None),
    ("bool", "true|false", lambda text: text == "true"),
    ("int", r"-?\d+", int),
    ("decimal", r"-?\d+\.\d*", Decimal),
    ("date", r"\d{4}-\d\d-\d\d", dt.date.fromisoformat),
    ("timestamp", r"\d{4}-\d\d-\d\dT[\d:.]+[-+]\d\d:\d\d", dt.datetime.fromisoformat),
    ("float", "(?!)", float),
)


def flat(facts: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for path, fact in facts.items():
        if path.endswith(".*"):
            yield from flat(fact, prefix + path[:-1])
        else:
            yield prefix + path, tuple(fact) if isinstance(fact, list) else fact


def read(file: Path) -> Iterator[Exchange]:
    parts: dict[str, str] = {}
    for entry in yaml.load(file.read_text(encoding="utf-8"), Loader):
        if "part" in entry:
            parts[f"${entry['part']}"] = entry["text"]
            continue
        for name, text in parts.items():
            entry["answer"] = entry.get("answer", "").replace(name, text)
        arguments, facts = tuple(entry.pop("arguments", ())), dict(flat(entry.pop("facts", {})))
        yield Exchange(**entry, arguments=arguments, facts=facts)


for kind, pattern, convert in SCALARS:
    Loader.add_implicit_resolver(f"!{kind}", re.compile(f"(?:{pattern})$"), None)
    Loader.add_constructor(f"!{kind}", lambda loader, node, convert=convert: convert(node.value))
Loader.add_multi_constructor("!", Loader.model)

ALL = [exchange for file in sorted(Path(__file__).parent.glob("*.yaml")) for exchange in read(file)]
EXCHANGES = tuple(exchange for exchange in ALL if exchange.error is None)

REFUSALS = tuple(exchange for exchange in ALL if exchange.error is not None)
