"""openapi-typescript and @hey-api/openapi-ts: the compiler checks the type of the rows of every list."""

import json
import re
from pathlib import Path

from codegen.naming import pascal
from tests.schema.bundle import OPERATIONS

from .results import LISTS, Result, properties_of, run_npm

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


def run(bundle: Path, tools: Path, folder: Path) -> list[Result]:
    run_npm(tools, "openapi-typescript", [bundle, "-o", "openapi-typescript.d.ts"], folder=folder)
    run_npm(tools, "openapi-ts", ["-i", bundle, "-o", "hey-api", "-p", "@hey-api/typescript"], folder=folder)
    source, lines = assertions()
    (folder / "check.ts").write_text(source, "utf-8")
    (folder / "tsconfig.json").write_text(
        json.dumps({"compilerOptions": {"strict": True, "noEmit": True, "skipLibCheck": True}, "files": ["check.ts"]})
    )
    failed = problems(run_npm(tools, "tsc", ["-p", ".", "--pretty", "false"], folder=folder, check=False), lines)
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
