"""Renderer of ``_generated/models.py``: attrs classes and enumerations by datamodel-code-generator.

The generator reads an OpenAPI document built from the Spec, with all names, orders and descriptions settled. Two small
templates replace its own for dataclasses and enumerations.
"""

from collections import defaultdict
from pathlib import Path
from typing import Any

from datamodel_code_generator import GenerateConfig, generate
from datamodel_code_generator.enums import DataModelType, InputFileType, OpenAPIScope
from datamodel_code_generator.format import DateClassType, DatetimeClassType, PythonVersion

from ..spec import Enum, Field, Model, Spec, Type
from . import docstrings

TEMPLATES = Path(__file__).parent / "templates"

_SCALARS: dict[str, dict[str, Any]] = {
    "string": {"type": "string"},
    "identifier": {"type": "string"},
    "integer": {"type": "integer"},
    "boolean": {"type": "boolean"},
    "decimal": {"type": "string", "format": "decimal"},
    "date": {"type": "string", "format": "date"},
    "date-time": {"type": "string", "format": "date-time"},
    "object": {"type": "object", "additionalProperties": True},
}


def render(spec: Spec, header: str) -> str:
    """Return the source of the module, not yet formatted."""
    restatements = _restatements(spec)
    bases = {enum.name: {"base": "AnyCaseStrEnum"} for enum in spec.enums.values() if enum.ignores_case}
    config = GenerateConfig(
        input_file_type=InputFileType.OpenAPI,
        openapi_scopes=[OpenAPIScope.Schemas],
        output_model_type=DataModelType.DataclassesDataclass,
        target_python_version=PythonVersion.PY_311,
        custom_template_dir=TEMPLATES,
        additional_imports=[
            "attrs",
            "typing.Any",
            "collections.abc.Mapping",
            *(f"brokerage_async._values.{name}" for name in _VALUES),
            *(f"brokerage_async.{name}" for name in _TERMS if restatements),
        ],
        snake_case_field=True,
        capitalise_enum_members=True,
        output_datetime_class=DatetimeClassType.Datetime,
        output_date_class=DateClassType.Date,
        use_schema_description=True,
        use_field_description=True,
        field_include_all_keys=True,
        field_extra_keys={"x-always", "x-array", "x-secret"},
        strict_refs=True,
        allow_remote_refs=False,
        disable_timestamp=True,
        custom_file_header=header,
        extra_template_data=restatements | bases,
        use_double_quotes=True,
        use_type_checking_imports=False,
        formatters=[],  # `write` formats, in the style of the project from any directory
    )
    schemas = {enum.name: _enum(enum) for enum in spec.enums.values()}
    schemas |= {model.name: _object(model) for model in spec.models.values()}
    info = {"title": "models", "version": "0"}
    document = {"openapi": "3.1.0", "info": info, "paths": {}, "components": {"schemas": schemas}}
    source = generate(document, config=config)
    if not isinstance(source, str):
        raise TypeError(f"datamodel-code-generator must return one module, got {type(source).__name__}")
    exported = "".join(f'    "{name}",\n' for name in sorted([*spec.enums, *spec.models]))
    return f"{source}\n\n__all__ = [\n{exported}]\n"


_VALUES = (
    "EMPTY", "AnyCaseStrEnum", "Model", "OpenStrEnum", "as_optional_object", "as_optional_tuple", "as_tuple",
    "raw_object",
)  # fmt: skip
_TERMS = ("_decimals.Amount", "_values.restate")
_HINTS = {"decimal": "Amount", "date": "date", "string": "str", "boolean": "bool"}


def _restatements(spec: Spec) -> defaultdict[str, dict[str, Any]]:
    """Return the data for the template of the class method ``of``, by model."""
    data: defaultdict[str, dict[str, Any]] = defaultdict(dict)
    for model in spec.models.values():
        if model.restates is not None:
            fields = [field for field in model.fields if field.name in model.restates.names]
            hints = {field.name: field.type.name or _HINTS[field.type.kind] for field in fields}
            data[model.name] = {"restated": hints, "sources": model.restates.sources, "takes": spec.takes}
    return data


def _enum(enum: Enum) -> dict[str, Any]:
    return {
        "type": "string",
        "description": docstrings.class_docstring(
            enum.description, enum.section, provenance=enum.provenance, observed_values=enum.observed_values
        ),
        "enum": [value for _, value in enum.members],
        "x-enum-varnames": [name for name, _ in enum.members],
    }


def _object(model: Model) -> dict[str, Any]:
    return {
        "type": "object",
        "description": docstrings.class_docstring(model.description, model.section, provenance=model.provenance),
        "required": [field.wire for field in model.fields if field.required],
        "properties": {field.wire: _property(field, model.provenance) for field in model.fields},
    }


def _property(field: Field, owner: str) -> dict[str, Any]:
    schema = _type(field.type)
    if field.type.array:
        schema = {"type": "array", "items": schema, "x-array": True}
    if field.type.secret:
        schema["x-secret"] = True
    if field.always:
        schema["x-always"] = True
    meaning = docstrings.with_provenance(field.description, field.provenance, owner)
    return {**schema, "description": docstrings.fill(meaning)}


def _type(type_: Type) -> dict[str, Any]:
    if type_.kind in ("enum", "model"):
        reference = {"$ref": f"#/components/schemas/{type_.name}"}
        return {"anyOf": [reference, {"type": "string"}]} if type_.kind == "model" and type_.wire else reference
    return dict(_SCALARS[type_.kind])
