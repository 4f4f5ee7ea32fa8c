"""Tools from npm: rows that TypeScript knows, the page of Redoc with every field, and linters without an error."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from codegen.naming import pascal
from tests.schema.bundle import OPERATIONS

from .results import LISTS, Result, properties_of

#: ``Typed<Rows, Keys>`` is true for an object type with these keys. False for any, unknown and never.
HELPERS = """\
import type { operations } from "./openapi-typescript";
import type * as hey from "./hey-api/types.gen";
type Member<T, K extends string> = T extends unknown ? (K extends keyof T ? NonNullable<T[K]> : never) : never;
type Items<T> = T extends readonly unknown[] ? T : Member<Member<T, "data">, "items">;
type Rows<T> = Items<T> extends readonly (infer R)[] ? R : never;
type IsAny<T> = 0 extends 1 & T ? true : false;
type Typed<R, K extends string> =
  IsAny<R> extends true ? false : [R] extends [never] ? false : [K] extends [keyof R] ? true : false;
export const rejected: [Typed<any, "id">, Typed<unknown, "id">, Typed<never, "id">, Typed<{ id?: string }, "name">] =
  [false, false, false, false];
"""

_ERROR = re.compile(r"^check\.ts\((\d+),")


def run_npm(tools: Path, name: str, *arguments: str | Path, folder: Path, check: bool = True) -> str:
    command = [tools / "node_modules" / ".bin" / name, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=check, timeout=300).stdout


def typescript(bundle: Path, tools: Path, folder: Path) -> list[Result]:
    run_npm(tools, "openapi-typescript", bundle, "-o", "openapi-typescript.d.ts", folder=folder)
    run_npm(tools, "openapi-ts", "-i", bundle, "-o", "hey-api", "-p", "@hey-api/typescript", folder=folder)
    source, lines = assertions()
    (folder / "check.ts").write_text(source, "utf-8")
    (folder / "tsconfig.json").write_text(
        json.dumps({"compilerOptions": {"strict": True, "noEmit": True, "skipLibCheck": True}, "files": ["check.ts"]})
    )
    failed = problems(run_npm(tools, "tsc", "-p", ".", "--pretty", "false", folder=folder, check=False), lines)
    return [
        Result(tool=tool, check="typed rows", total=len(LISTS), problems=tuple(failed.get(tool, ())))
        for tool in ("openapi-typescript", "@hey-api/openapi-ts")
    ]


def assertions() -> tuple[str, dict[int, tuple[str, str]]]:
    """Return the assertions of both tools, with the tool and operation of each line."""
    source = HELPERS
    lines: dict[int, tuple[str, str]] = {}
    for operation, component in LISTS.items():
        status = next(status for status in OPERATIONS[operation]["responses"] if status[0] == "2")
        keys = " | ".join(json.dumps(key) for key in properties_of(component))
        types = {
            "openapi-typescript": f'operations["{operation}"]["responses"][{status}]["content"]["application/json"]',
            "@hey-api/openapi-ts": f"hey.{pascal(operation)}Responses[{status}]",
        }
        for tool, answer in types.items():
            lines[source.count("\n") + 1] = (tool, operation)
            source += f"export const line{len(lines)}: Typed<Rows<{answer}>, {keys}> = true;\n"
    return source, lines


def problems(output: str, lines: dict[int, tuple[str, str]]) -> dict[str, list[str]]:
    """Return the operations whose assertion does not compile, by tool. Any other error concerns all tools."""
    found: dict[str, list[str]] = {}
    for line in output.splitlines():
        match = _ERROR.match(line)
        tool, operation = lines.get(int(match[1]), ("", "")) if match else ("", "")
        tools = {tool} if tool else {each for each, _ in lines.values()}
        for each in tools if "error TS" in line else ():
            found.setdefault(each, []).append(operation or line)
    return found


#: Start of the definition that the page shows.
DEFINITION = "const __redoc_definition = "


def redoc(bundle: Path, tools: Path, folder: Path) -> list[Result]:
    page = folder / "redoc.html"
    run_npm(tools, "redocly", "build-docs", bundle, "-o", page, folder=folder)
    shown = definition(page.read_text("utf-8"))
    operations = {each["operationId"]: each for item in shown["paths"].values() for each in item.values()}
    hidden = tuple(name for name, operation in operations.items() if not shows_fields(shown, name, operation))
    return [Result(tool="Redoc", check="answers with fields", total=len(operations), problems=hidden)]


def definition(page: str) -> Any:
    found, _ = json.JSONDecoder().raw_decode(page, page.index(DEFINITION) + len(DEFINITION))
    return found


def shows_fields(shown: Any, name: str, operation: Any) -> bool:
    """Return whether an answer, if it has a body, has fields at every level, and a list also its rows' fields."""
    answer = next(response for status, response in operation["responses"].items() if status[0] == "2")
    if "content" not in answer:
        return True
    levels = list(fields(shown, answer["content"]["application/json"]["schema"]))
    return all(levels) and (name not in LISTS or set(properties_of(LISTS[name])) in levels)


def fields(shown: Any, schema: Any) -> Iterator[set[str]]:
    schema = schema["items"] if schema.get("type") == "array" else schema
    if schema.get("type") == "string":
        return  # a list of identifiers
    if "$ref" in schema:
        schema = shown["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    if "anyOf" in schema:
        for alternative in schema["anyOf"]:
            yield from fields(shown, alternative)
        return
    properties = schema.get("properties", {})
    yield set(properties)
    for key in ("data", "items"):
        inner = properties.get(key, {})
        inner = inner.get("items", inner)
        if "$ref" in inner:
            yield from fields(shown, inner)


def lint(bundle: Path, tools: Path, folder: Path) -> list[Result]:
    ruleset = folder / "spectral.yaml"
    ruleset.write_text('extends: ["spectral:oas"]\n', "utf-8")
    commands = {
        "@redocly/cli lint": ["redocly", "lint", bundle],
        "@stoplight/spectral-cli lint": ["spectral", "lint", bundle, "-r", ruleset, "--fail-severity", "error"],
    }
    results = []
    for tool, (name, *arguments) in commands.items():
        command = [tools / "node_modules" / ".bin" / name, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        said = (done.stdout + done.stderr,) if done.returncode else ()
        results.append(Result(tool=tool, check="without errors", total=1, problems=said))
    return results
