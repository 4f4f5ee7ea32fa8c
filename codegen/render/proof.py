"""Renders ``tests/typing/every_field.py``: the type that the schema gives every field, for type checkers to compare.

The models get their types from datamodel-code-generator; here they come from the Spec. Where the two differ, mypy and
pyright say so.
"""

from __future__ import annotations

from jinja2 import Environment

from ..naming import snake
from ..spec import Field, Spec

_PYTHON = {
    "string": "str",
    "identifier": "str",
    "integer": "int",
    "boolean": "bool",
    "decimal": "Decimal",
    "date": "date",
    "date-time": "datetime",
    "object": "Mapping[str, Any]",
}


def render(spec: Spec, environment: Environment) -> str:
    """The source of the module, not yet formatted."""
    views = [
        (model.name, snake(model.name), [(field.name, _annotation(field)) for field in model.fields])
        for model in spec.models.values()
    ]
    return environment.get_template("every_field.py.jinja2").render(views=views)


def _annotation(field: Field) -> str:
    python = _PYTHON.get(field.type.kind, f"models.{field.type.name}")
    whole = f"tuple[{python}, ...]" if field.type.array else python
    return whole if field.required else f"{whole} | None"
