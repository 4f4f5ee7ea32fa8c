"""openapi-python-client: its parsers return typed rows for every list of the vectors."""

import importlib
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import httpx

from codegen.naming import snake
from tests.schema.bundle import Body, answers

from .results import Result, judged, properties_of

PACKAGE = "generated_python_client"


def run(bundle: Path, folder: Path) -> list[Result]:
    settings = folder / "openapi-python-client.yaml"
    settings.write_text("post_hooks: []\n", "utf-8")  # the generated code is read by programs only
    command = [sys.executable, "-m", "openapi_python_client", "generate", "--path", str(bundle)]
    command += ["--output-path", str(folder / PACKAGE), "--meta", "none", "--overwrite", "--fail-on-warning"]
    command += ["--config", str(settings)]
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)
    sys.path.insert(0, str(folder))
    models = importlib.import_module(f"{PACKAGE}.models")
    bodies = [body for body in answers() if body.exchange.status < 500]
    return judged("openapi-python-client", "answers parsed", partial(has_typed_rows, models), bodies, refusal)


def has_typed_rows(models: Any, component: str) -> bool:
    row = getattr(models, component)
    fields = [field for field in attrs.fields(row) if field.name != "additional_properties"]
    container = getattr(models, f"{component}List", None)
    typed = container is None or container.__annotations__["items"] == f"list[{component}]"
    return typed and len(fields) == len(properties_of(component))


def refusal(body: Body) -> str | None:
    """Return why the client does not parse an answer, or not as a model."""
    client = importlib.import_module(f"{PACKAGE}.client").Client(base_url="https://example.com")
    namespace, _, _ = body.exchange.operation.partition(".")
    module = importlib.import_module(f"{PACKAGE}.api.{namespace}.{snake(body.exchange.operation)}")
    response = httpx.Response(body.exchange.status, content=body.source)
    try:
        parsed = module._parse_response(client=client, response=response)
    except Exception as error:
        return repr(error)
    rows = parsed if isinstance(parsed, list) else [parsed]
    are_models = all(attrs.has(type(row)) or isinstance(row, str) for row in rows)
    return None if are_models else f"parsed as {type(parsed).__name__}"
