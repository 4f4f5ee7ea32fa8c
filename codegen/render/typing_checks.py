"""Renderer of ``tests/typing/every_field.py``: the expected type of every field.

datamodel-code-generator determines the types of the models; the expected types come from the Spec. mypy and pyright
report any difference.
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
    """Return the source of the module, not yet formatted."""
    views = [
        (model.name, snake(model.name), [(field.name, _annotation(field)) for field in model.fields])
        for model in spec.models.values()
    ]
    return environment.get_template("every_field.py.jinja2").render(views=views)


def _annotation(field: Field) -> str:
    python = _PYTHON.get(field.type.kind, f"models.{field.type.name}")
    if field.type.kind == "model" and field.type.wire:
        python += " | str"
    whole = f"tuple[{python}, ...]" if field.type.array else python
    return whole if field.required else f"{whole} | None"
