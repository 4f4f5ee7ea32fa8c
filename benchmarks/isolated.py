"""Measurements that need a separate process: ``python -m benchmarks.isolated NAME`` prints one number.

Run without a name by the other modules: ``measure`` starts the processes in turns and compares.
"""

import asyncio
import gc
import resource
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from .rounds import Result, ratios, result, times

ROOT = Path(__file__).parent.parent
HELD = 100


def measure(rounds: int) -> list[Result]:
    """Measure memory, the gaps in an event loop, imports, the start of the console."""
    from . import bodies

    few = max(2, rounds // 4)
    held, theirs = run("memory", "ours"), run("memory", "peer")
    chain = asyncio.run(bodies.chain()).body
    decoding = {name: partial(run, "gap", body=change(chain)) for name, change in ENVELOPES.items()}
    gaps = times(decoding, 2 * few, warm_up=0)
    imports = times({name: partial(run, "import_time", name) for name in IMPORTS}, 2 * few, warm_up=0)
    base, console = imports["aiohttp"], imports["typer"]
    return [
        result(
            "memory per equity (100,000 held), x peer", [held / theirs], bound=0.22, aim=0.19,
            note=f"{held:.0f} and {theirs:.0f} bytes",
        ),
        *[result(name, values, bound=15, aim=8, unit="ms") for name, values in gaps.items()],
        result("import brokerage_async, x import aiohttp", ratios(imports["package"], base), bound=1.5, aim=1.25),
        result(
            "from brokerage_async import Client, models, x import aiohttp", ratios(imports["client"], base),
            bound=1.25,
        ),
        result("    and first use of every model, x import aiohttp", ratios(imports["everything"], base)),
        result("brokerage-async --help, x import typer, rich.console", ratios(imports["help"], console), bound=1.6),
        result(
            "    and completion of a command, x import typer, rich.console", ratios(imports["completion"], console),
            bound=1.6,
        ),
    ]  # fmt: skip


_START = b'{"data":{"items":['

#: The chain of 20,000 rows in each envelope.
ENVELOPES: Mapping[str, Callable[[bytes], bytes]] = {
    "longest gap while a 20,000-row chain is decoded": lambda body: body,
    "    the same, the list directly under data": lambda body: _moved(body, b'{"data":['),
    "    the same, the items at the root": lambda body: _moved(body, b'{"items":['),
    "    the same, a price N/A on every row": lambda body: body.replace(b'"strike-price":"', b'"strike-price":"N/A '),
}


def _moved(body: bytes, start: bytes) -> bytes:
    """Return the body with its list in another place."""
    assert body.startswith(_START)
    rows, _, rest = body.removeprefix(_START).rpartition(b"]}")
    return start + rows + b"]" + rest


def run(*arguments: str, body: bytes = b"") -> float:
    """Return the number that one process prints, with the body as its input."""
    command = [sys.executable, "-m", "benchmarks.isolated", *arguments]
    return float(subprocess.run(command, cwd=ROOT, input=body, capture_output=True, check=True).stdout)


IMPORTS = {
    "aiohttp": "import aiohttp",
    "package": "import brokerage_async",
    "client": "from brokerage_async import Client, models; models.Order",
    "everything": "from brokerage_async import Client; from brokerage_async.protocol.registry import wires; wires()",
    "typer": "import typer, rich.console",
    "help": "import sys; sys.argv = ['brokerage-async', '--help']; from brokerage_async.cli import main; main()",
    "completion": (
        "import os, sys; sys.argv = ['brokerage-async', 'orders', 'pl']; "
        "os.environ['_BROKERAGE_ASYNC_COMPLETE'] = '1'; from brokerage_async.cli import main; main()"
    ),
}


def import_time(name: str) -> float:
    """Milliseconds of CPU that an import adds to the start of an interpreter."""

    def start(code: str) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    return (min(start(IMPORTS[name]) for _ in range(4)) - min(start("pass") for _ in range(4))) * 1e3


def memory(whose: str) -> float:
    """Bytes per equity of 100,000 that are held."""
    from brokerage_async import models
    from brokerage_async.protocol.decoding import codec

    from . import bodies, peers

    page = bodies.page_of(models.Equity)
    decode = {
        "ours": lambda body: codec.decode(page.operation, body).value,
        "peer": peers.peer_from_bytes(page.model),
    }[whose]
    decode(page.body)
    gc.collect()
    tracemalloc.start()
    held = [decode(page.body) for _ in range(HELD)]
    gc.collect()
    size, _ = tracemalloc.get_traced_memory()
    return size / sum(map(len, held))


def gap() -> float:
    """CPU milliseconds between two turns of a loop, the most, while the input is decoded as a client decodes it."""
    from brokerage_async._generated.operations import INSTRUMENTS_FUTURES_OPTION_CHAIN
    from brokerage_async.protocol.decoding import codec
    from brokerage_async.protocol.registry import wires

    wires()  # loaded when a client is made
    body = sys.stdin.buffer.read()
    gaps: list[float] = []

    async def decode() -> Any:
        steps = codec.decode_chunks(INSTRUMENTS_FUTURES_OPTION_CHAIN, body)
        while True:
            try:
                next(steps)
            except StopIteration as end:
                return end.value
            await asyncio.sleep(0)

    async def main() -> None:
        task, last = asyncio.create_task(decode()), time.thread_time()
        while not task.done():
            await asyncio.sleep(0)
            now = time.thread_time()
            gaps.append(now - last)
            last = now
        assert len(task.result().value) == 20_000

    asyncio.run(main())
    return max(gaps) * 1e3


if __name__ == "__main__":
    name, *arguments = sys.argv[1:]
    print({"memory": memory, "gap": gap, "import_time": import_time}[name](*arguments))
