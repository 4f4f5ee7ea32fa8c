"""Modules import from lower layers, or acyclically from their own room. No feature room imports another.

Wire keys and paths occur in the schema only: hand-written code takes them from the generated package. The search is for
paths of endpoints and for unmistakable keys: ``time-in-force``, not ``price``.
"""

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib.util import resolve_name
from pathlib import Path

import pytest

import brokerage_async
from brokerage_async._generated.converters import WIRES
from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.protocol.decoding.fields import wire_fields
from tests.tables import for_each

PACKAGE = "brokerage_async"
ROOT = Path(brokerage_async.__file__).parent

LAYERS = (
    {
        "_arguments", "_decimals", "_secrets", "_values", "_version", "_wire", "errors", "operation",
    },
    {"_generated", "config", "storage"},
    {"arrow", "chains", "models", "observers", "protocol", "symbols", "tickets"},
    {"http"},
    {"auth"},
    {"bulk", "journal", "stream", "watch"},
    {"fleet", "order_entry"},
    {"client"},
    {"conformance"},
    {"blocking", "cli", "pytest_plugin", "simulator"},
    {"__main__"},
)  # fmt: skip
"""Lowest first; a folder stands for all that is in it."""
LAYER = {name: number for number, names in enumerate(LAYERS) for name in names}

FEATURES = {"bulk", "fleet", "journal", "order_entry", "stream", "watch"}
OPENINGS = {("order_entry", "journal"), ("fleet", "watch")}
"""Walls stand between feature rooms, but for these (importer, imported)."""

EDGES = {"blocking", "cli", "pytest_plugin", "simulator"}
"""Rooms that no other one imports, but for `OUTER`, which start the embedded simulator."""
OUTER = {("cli", "simulator"), ("pytest_plugin", "simulator")}

SIMULATOR_SEES = {
    "_arguments", "_decimals", "_generated", "_secrets", "_values", "arrow", "errors", "models", "operation",
    "protocol", "simulator",
}  # fmt: skip
SIMULATOR_SHELL = {f"{PACKAGE}.simulator.{name}" for name in ("simulator", "virtual_run")}
"""Modules that hand out clients."""


FILES = {
    ".".join([PACKAGE, *path.relative_to(ROOT).with_suffix("").parts]).removesuffix(".__init__"): path
    for path in sorted(ROOT.rglob("*.py"))
}


@cache
def every_import(module: str) -> frozenset[str]:
    """Return the modules that a module imports: at its top, inside functions, or for types only."""
    found = set[str]()
    folder = module if FILES[module].name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(FILES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = resolve_name("." * node.level + (node.module or ""), folder)
            inner = {f"{base}.{alias.name}" for alias in node.names}
            found |= {name if name in FILES else base for name in inner}
    return frozenset(found)


def imports_of(module: str) -> frozenset[str]:
    return frozenset(name for name in every_import(module) if name.split(".")[0] == PACKAGE)


WITHIN = [module for module in FILES if module != PACKAGE]


def place(module: str) -> str:
    """The name that stands for a module in the layers."""
    return module.split(".")[1]


def breaches(module: str, imported: frozenset[str]) -> set[str]:
    """Return the imports of a module that lead upwards, through a wall, or to the package root."""
    room = place(module)
    found = {name for name in imported if name == PACKAGE}
    for name in imported - found:
        other = place(name)
        if other == room or (module in SIMULATOR_SHELL and other == "client"):
            continue
        behind_wall = {room, other} <= FEATURES and (room, other) not in OPENINGS
        behind_edge = other in EDGES and (room, other) not in OUTER and room != "__main__"
        if LAYER[other] > LAYER[room] or behind_wall or behind_edge:
            found.add(name)
    return found


@for_each("module", WITHIN)
def test_module_imports_lower_layers_and_no_other_feature(module: str) -> None:
    assert breaches(module, imports_of(module)) == set()


def test_forbidden_import_is_found() -> None:
    forbidden = {"watch.api": "order_entry.decisions", "stream.link": "watch.feed", "protocol.retry": "http.session",
                 "client": "simulator", "order_entry.api": ""}  # fmt: skip
    for module, name in forbidden.items():
        added = f"{PACKAGE}.{name}".rstrip(".")
        assert breaches(f"{PACKAGE}.{module}", imports_of(f"{PACKAGE}.{module}") | {added}) == {added}


def test_simulator_protocol_and_transport_keep_their_walls() -> None:
    graph = {module: imports_of(module) - {module} for module in WITHIN}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"a cycle: {' -> '.join(error.args[1])}")
    # And the client, which is handed sessions and trace configurations of aiohttp.
    packages = {module: {name.split(".")[0] for name in every_import(module)} for module in WITHIN}
    networked = [module for module in WITHIN if "aiohttp" in packages[module]]
    assert {place(module) for module in networked} <= {"client", "config", "http", "simulator"}
    forbidden = {"asyncio", "aiohttp", "random", "secrets", "socket", "time"}
    pure = {"protocol", "_generated", "errors", "operation", "_values", "models"}
    assert [module for module in WITHIN if place(module) in pure and packages[module] & forbidden] == []
    modules = sorted(path.name for path in ROOT.glob("*.py"))
    assert len(modules) <= 17, f"find a room for one of {modules}"
    # Else one mistake could be made on both sides and cancel out. Only its shell hands out clients.
    for module in WITHIN:
        if place(module) == "simulator":
            allowed = SIMULATOR_SEES | ({"client", "config"} if module in SIMULATOR_SHELL else set())
            assert {place(name) for name in imports_of(module)} <= allowed, module


PROJECT = ROOT.parent
GENERATED = ROOT / "_generated"

KEYS = {
    *(key for wire in WIRES.values() for key in wire_fields(wire)),
    *(parameter.wire for operation in OPERATIONS.values() for parameter in operation.parameters),
}
PATHS = {operation.path for operation in OPERATIONS.values()}
DISTINCTIVE = {key for key in KEYS if "-" in key or "[" in key}

ALLOWED = {
    "brokerage_async/http/pager.py": {"page-offset", "per-page"},  # keys of pagination
    "brokerage_async/bulk/universe.py": {"option-products"},  # of a row in a checkpoint, which is not decoded for it
    # JSON of the console.
    "brokerage_async/cli/market.py": {"underlying-symbol", "root-symbol"},
    "brokerage_async/protocol/streams/events.py": {"account-number"},  # of an event whose type the schema lacks
    "brokerage_async/simulator/streams/server.py": {"expires-at"},  # has another form there than in answers
    "brokerage_async/simulator/api/margin.py": {"account-number"},  # in an error message
    # The peers of the benchmarks write their requests by hand.
    "benchmarks/bulk.py": {"symbol[]", "per-page", "/instruments/equities"},
    "benchmarks/calls.py": {"page-offset", "per-page", "/instruments/equities"},
    "benchmarks/streams.py": {"/api-quote-tokens", "dxlink-url"},
}
"""Exceptions: wire keys and paths allowed outside the schema, by file."""


def constants(path: Path) -> Iterator[str]:
    """Yield the string constants of a module, docstrings excluded."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


def test_statuses_that_pass_have_one_home() -> None:
    numbers = {
        module: {node.value for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Constant)}
        for module, path in FILES.items()
        if place(f"{module}.") not in {"_generated", "simulator"}
    }
    assert [module for module in numbers if numbers[module] & {408, 425}] == [f"{PACKAGE}.protocol.retry"]


def test_sources_contain_no_wire_key_or_path_but_those_that_they_need() -> None:
    assert "time-in-force" in DISTINCTIVE & set(constants(PROJECT / "tests" / "simulator" / "harness.py"))
    folders = ("brokerage_async", "codegen", "benchmarks")
    files = [path for folder in folders for path in (PROJECT / folder).rglob("*.py") if GENERATED not in path.parents]
    found = {path.relative_to(PROJECT).as_posix(): set(constants(path)) & (DISTINCTIVE | PATHS) for path in files}
    assert {name: keys for name, keys in found.items() if keys} == ALLOWED
