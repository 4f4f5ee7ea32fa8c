"""datamodel-code-generator: its pydantic models have typed rows and accept every answer of the vectors."""

import importlib.util
import operator
import sys
from functools import partial, reduce
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

from datamodel_code_generator import GenerateConfig, generate
from datamodel_code_generator.enums import DataModelType, InputFileType
from datamodel_code_generator.format import Formatter, PythonVersion
from pydantic import BaseModel, TypeAdapter, ValidationError

from tests.schema.bundle import Body, alternatives, answers, name_of, requests

from .results import Result, judged, properties_of


def run(bundle: Path, folder: Path) -> list[Result]:
    models = generated(bundle, folder)
    bodies = [*answers(), *requests()]
    typed, refused = partial(has_typed_rows, models), partial(refusal, models)
    return judged("datamodel-code-generator", "bodies accepted", typed, bodies, refused)


def generated(bundle: Path, folder: Path) -> ModuleType:
    path = folder / "pydantic_models.py"
    config = GenerateConfig(
        input_file_type=InputFileType.OpenAPI,
        output=path,
        output_model_type=DataModelType.PydanticV2BaseModel,
        target_python_version=PythonVersion.PY_311,
        formatters=[Formatter.BUILTIN],
    )
    generate(bundle, config=config)
    spec = importlib.util.spec_from_file_location("generated_pydantic_models", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module  # where pydantic looks for the names in annotations
    spec.loader.exec_module(module)
    return module


def has_typed_rows(models: ModuleType, component: str) -> bool:
    container = vars(models).get(f"{component}List")
    row = get_args(container.model_fields["items"].annotation)[0] if container else vars(models)[component]
    if not (isinstance(row, type) and issubclass(row, BaseModel)):
        return False
    keys = {field.alias or name for name, field in row.model_fields.items()}
    return keys == set(properties_of(component))


def kind_of(models: ModuleType, schema: dict[str, Any]) -> Any:
    """Return the type that takes the bodies of a schema: a model, or a list of what its items are."""
    if schema.get("type") == "array":
        return list[kind_of(models, schema["items"])]
    return vars(models)[name_of(schema)] if "$ref" in schema else str


def refusal(models: ModuleType, body: Body) -> str | None:
    kinds = [kind_of(models, each) for each in alternatives(body.schema)]
    try:
        TypeAdapter(reduce(operator.or_, kinds)).validate_json(body.source)
    except ValidationError as error:
        return " ".join(str(error).split())
    return None
