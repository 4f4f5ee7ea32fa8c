"""openapi-generator: its Python models take every answer of the vectors. Needs Java."""

import importlib
import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import openapi_generator_cli

from tests.schema.bundle import Body, alternatives, answers, name_of

from .results import Result, judged, properties_of

PACKAGE = "generated_by_openapi_generator"


def run(bundle: Path, folder: Path) -> list[Result]:
    output = folder / PACKAGE
    jar = Path(openapi_generator_cli.__file__).with_name("openapi-generator.jar")
    command = ["java", "-jar", str(jar), "generate", "-g", "python", "-i", str(bundle), "-o", str(output)]
    command += ["--package-name", PACKAGE]
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)
    sys.path.insert(0, str(output))
    models = importlib.import_module(f"{PACKAGE}.models")
    bodies = [body for body in answers() if body.exchange.status < 500]
    typed, refused = partial(has_typed_rows, models), partial(refusal, models)
    return judged("openapi-generator", "answers parsed", typed, bodies, refused)


def has_typed_rows(models: Any, component: str) -> bool:
    container = getattr(models, f"{component}List", None)
    typed = container is None or f"[{component}]" in str(container.__annotations__["items"])
    keys = {field.alias or name for name, field in getattr(models, component).model_fields.items()}
    return typed and set(properties_of(component)) <= keys


def refusal(models: Any, body: Body) -> str | None:
    """Return why the models of its operation do not take an answer, or that they read nothing from it."""
    errors = []
    for schema in alternatives(body.schema):
        try:
            if is_read(models, schema, json.loads(body.source)):
                return None
        except Exception as error:
            errors.append(" ".join(repr(error).split()))
    return "; ".join(errors) or "nothing was read"


def is_read(models: Any, schema: dict[str, Any], raw: Any) -> bool:
    if schema.get("type") == "array":
        return all(is_read(models, schema["items"], item) for item in raw)
    return bool(getattr(models, name_of(schema)).from_dict(raw).to_dict()) if "$ref" in schema else isinstance(raw, str)
