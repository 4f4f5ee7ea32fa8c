"""Command ``python -m codegen.site.screenshots``: run console commands as in a terminal, and draw it at the end."""

import asyncio
import io
import os
import re
import sys
from pathlib import Path

import rich.console
import rich.text

from brokerage_async.simulator import Simulator
from brokerage_async.tickets import buy_to_open, limit, market, sell_to_open

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "pictures"
COLUMNS = 106
TERMINAL = {"COLUMNS": str(COLUMNS), "LINES": "40", "TERM": "xterm-256color", "FORCE_COLOR": "1"}
"""Variables that make the console write as on a terminal."""
COMMANDS = {
    "demo": ("demo", None),
    "watch": ("watch positions --account {rich} --marks", 15.0),
    "orders": ("orders list --account {account}", None),
    "chain": ("chain AAPL --days 45 --strikes 6", None),
}
"""Name of the picture, command, and seconds after which a command without an end is stopped."""

_REDRAWN = re.compile(r"(?:\r?\x1b\[2K|\x1b\[1A|\x1b\[\?25[lh]|\x1b\[H|\x1b\[2J|\r(?!\n))+")
_FONT = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)


def picture(title: str, frame: str) -> str:
    """Return a terminal with these lines as SVG, which loads nothing from elsewhere."""
    console = rich.console.Console(record=True, width=COLUMNS, file=io.StringIO(), color_system="truecolor")
    console.print(rich.text.Text.from_ansi(frame.replace("\r\n", "\n").rstrip()))
    drawn = console.export_svg(title=title, unique_id=re.sub(r"\W", "", title.split()[1]))
    return _FONT.sub("", drawn)


async def run(arguments: str, environ: dict[str, str], seconds: float | None) -> str:
    """Run the console as on a terminal, and return everything that it writes there."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "brokerage_async", *arguments.split(),
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL, env=environ,
    )  # fmt: skip
    reading = asyncio.create_task(process.communicate())
    if seconds is not None:
        await asyncio.sleep(seconds)
        process.terminate()
    output, _ = await reading
    return output.decode()


async def main() -> None:
    """Run the command."""
    FOLDER.mkdir(exist_ok=True)
    async with Simulator(environment="production", equities=600) as simulator, simulator.client() as client:
        account, wealthy, _ = simulator.account_numbers
        for order in (
            market(buy_to_open("AAPL", 10)), limit(buy_to_open("MSFT", 5), price="440.00"),
            limit(sell_to_open("SPY", 3), price="640.00"),
        ):  # fmt: skip
            await client.orders.submit(account, order)
        simulator.clock.advance(30)
        for symbol in ("MSFT", "SPY"):
            await client.orders.submit(wealthy, market(buy_to_open(symbol, 20)))
        simulator.clock.advance(30)
        simulator.set_price("AAPL", "203.40")
        simulator.set_price("MSFT", "468.05")
        plain = {**os.environ, **TERMINAL}
        for name, (command, seconds) in COMMANDS.items():
            arguments = command.format(account=account, rich=wealthy)
            environ = plain if command == "demo" else plain | simulator.environ
            output = await run(arguments, environ, seconds)
            frames = [each for each in _REDRAWN.split(output) if each.strip()]  # a table is drawn over and over
            frame = frames[-1] if frames else ""
            (FOLDER / f"{name}.svg").write_text(picture(f"brokerage-async {arguments}", frame), "utf-8")
            print(f"{name}.svg: {len(frame.splitlines())} lines")


if __name__ == "__main__":
    asyncio.run(main())
