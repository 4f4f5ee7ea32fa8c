"""The client for synchronous code, against the simulator over HTTP."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import AsyncMock, Mock

import pytest

from brokerage_async import errors
from brokerage_async.blocking import Blocking
from brokerage_async.simulator import Simulator

from .documents import ROOT, blocks
from .loops import ThreadLoop


@pytest.fixture(scope="module")
def simulator() -> Iterator[Simulator]:
    """Return a simulator that is served by a separate event loop in a thread."""
    with ThreadLoop() as loop:
        served = loop.call(Simulator(equities=1200).__aenter__)
        yield served
        loop.call(served.__aexit__, None, None, None)


def loops() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "brokerage-async"]


def test_blocking_calls_iterates_and_leaves_no_thread(simulator: Simulator) -> None:
    with Blocking(simulator.client) as b:
        assert b.run(b.client.instruments.equity("AAPL")).symbol == "AAPL"
        assert b.run(b.client.bulk.equities(["AAPL", "NOPE"])).missing == ["NOPE"]
        assert len(list(b.iterate(b.client.instruments.equities(per_page=500)))) == 1200
        for _, equity in b.iterate(b.client.bulk.equities(["AAPL", "MSFT"], batch_size=1)):
            assert equity.symbol in {"AAPL", "MSFT"}
            break
        with pytest.raises(errors.NotFoundError):
            b.run(b.client.instruments.warrant("NOPE"))
    assert loops() == []
    for use in (lambda: b.run(asyncio.sleep(0)), lambda: b.client):
        with pytest.raises(errors.ConfigurationError, match="not open"):
            use()
    b.close()


def test_blocking_eight_threads_share_one_client(simulator: Simulator) -> None:
    with Blocking(simulator.client) as b, ThreadPoolExecutor(8) as pool:
        symbols = ["AAPL", "MSFT", "SPY"] * 16
        found = list(pool.map(lambda symbol: b.run(b.client.instruments.equity(symbol)).symbol, symbols))
    assert found == symbols


async def test_blocking_works_where_a_loop_runs_already(simulator: Simulator) -> None:
    with Blocking(simulator.client) as b:  # as a cell of a notebook would
        assert b.run(b.client.instruments.equity("AAPL")).symbol == "AAPL"


def test_blocking_call_from_its_own_loop_is_refused(simulator: Simulator) -> None:
    with Blocking(simulator.client) as b:

        async def inside() -> str:
            with pytest.raises(errors.ConfigurationError, match="wait for itself") as caught:
                b.run(asyncio.sleep(0))
            return str(caught.value)

        assert "await" in b.run(inside())


def test_blocking_timeout_cancels_the_call_and_tells_its_end(simulator: Simulator) -> None:
    with Blocking(simulator.client) as b:

        async def slow() -> None:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError as error:
                error.add_note("cancelled in the middle")
                raise

        with pytest.raises(TimeoutError) as caught:
            b.run(slow(), timeout=0.05)
        assert caught.value.__cause__.__notes__ == ["cancelled in the middle"]
        with pytest.raises(TimeoutError, match="of the call"):
            b.run(AsyncMock(side_effect=TimeoutError("of the call"))())


def test_blocking_factory_that_fails_leaves_no_thread() -> None:
    factory = Mock(side_effect=errors.ConfigurationError("no credentials"))
    with pytest.raises(errors.ConfigurationError, match="no credentials"):
        Blocking(factory).open()
    assert loops() == []


def test_blocking_dropped_without_close_leaves_no_thread(simulator: Simulator) -> None:
    Blocking(simulator.client).open()
    assert loops() == []


PROGRAM = """
    import asyncio, sys
    from brokerage_async import Client
    from brokerage_async.blocking import Blocking
    b = Blocking(Client.from_env).open()
    print(b.run(b.client.instruments.equity("AAPL")).symbol, flush=True)
    if sys.argv[1] in ("left", "closed"):
        left = [b.iterate(b.client.stream.quotes(["AAPL"])), b.iterate(b.client.instruments.equities(per_page=5))]
        print(*(type(next(each)).__name__ for each in left), flush=True)
        if sys.argv[1] == "closed":
            b.close()
        sys.exit(0)
    async def slow():
        print("waiting", flush=True)
        try:
            await asyncio.sleep(60)
        finally:
            print("cancelled", flush=True)
    try:
        b.run(slow())
    except KeyboardInterrupt as error:
        print(type(error.__cause__).__name__, flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
def test_blocking_ctrl_c_and_exit_hang_nowhere(simulator: Simulator) -> None:
    for how, expected in (
        ("left", ["AAPL", "Quote Equity"]),
        ("closed", ["AAPL", "Quote Equity"]),
        ("interrupt", ["AAPL", "waiting", "cancelled", "CancelledError"]),
    ):
        command = [sys.executable, "-W", "error", "-c", textwrap.dedent(PROGRAM), how]
        with subprocess.Popen(
            command, env=os.environ | simulator.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as program:
            first = [program.stdout.readline().strip() for _ in expected[:2]]
            if how == "interrupt":
                time.sleep(0.1)  # until the main thread waits
                program.send_signal(signal.SIGINT)
            output, complaints = program.communicate(timeout=30)
        assert [*first, *output.split()] == expected
        assert (program.returncode, complaints) == (0, "")


BLOCKING_CELLS = (
    "import os, threading\nfrom brokerage_async import Client\nfrom brokerage_async.blocking import Blocking",
    "b = Blocking(Client.from_env).open()",
    "print(b.run(b.client.instruments.equity('AAPL')).symbol)",
    "b.close()\nprint([thread.name for thread in threading.enumerate() if thread.name == 'brokerage-async'])",
)


def test_blocking_and_awaited_cells_run_in_a_kernel(simulator: Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real kernel runs the cells of the page, then some with a blocking client, and ends within seconds."""
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    pytest.importorskip("pandas")
    for name, value in simulator.environ.items():
        monkeypatch.setenv(name, value)
    page = [cell for _, cell in blocks(ROOT / "docs" / "synchronous.md", "notebook")]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in [*page, *BLOCKING_CELLS]])
    nbclient.NotebookClient(notebook, timeout=60, kernel_name="python3").execute()  # raises for a cell that fails
    shown = ["".join(output.get("text", "") for output in cell.outputs) for cell in notebook.cells]
    assert "['NOPE']" in shown[1]
    assert shown[3].endswith("changes\n")
    assert shown[-2:] == ["AAPL\n", "[]\n"]
