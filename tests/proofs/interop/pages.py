"""Pages for users of other clients: their side exists, and runs unchanged against the simulator.

    python -m tests.proofs.interop.pages

It runs the blocks under the mark ``tastytrade``, and resolves the names in the columns *Theirs* whose calls
the report does not list. JavaScript names are methods that the interop session has called.
"""

import asyncio
import importlib
import inspect
import os
import re
import sys
from pathlib import Path

from brokerage_async.simulator import Simulator
from tests.documents import ROOT, THEIRS, blocks

DOCS = ROOT / "docs"
PAGES = (DOCS / "from-other-clients.md",)


PLACES = {
    "DXLinkStreamer": "tastytrade:DXLinkStreamer",
    "AlertStreamer": "tastytrade:AlertStreamer",
    "Session": "tastytrade:Session",
    "TastytradeError": "tastytrade.utils:TastytradeError",
    "Tastytrade": "tastytrade_sdk:Tastytrade",
    "Tastytrade.logout": "tastytrade_sdk:Tastytrade.logout",
    "Tastytrade.api.get": "tastytrade_sdk.api:Api.get",
    "Tastytrade.api.post": "tastytrade_sdk.api:Api.post",
    "Tastytrade.market_data.subscribe": "tastytrade_sdk.market_data.market_data:MarketData.subscribe",
}
"""Where names are that no call of the report has: ``module:name``."""

SCRIPT = frozenset({"TastytradeClient", "quoteStreamer.subscribe", "accountStreamer"})
"""Names of the JavaScript client that the report does not list, and that its package declares."""

_PRELUDE = """\
import os
import tastytrade.session
tastytrade.session.API_URL = tastytrade.session.CERT_URL = os.environ["BROKERAGE_BASE_URL"]
"""


def theirs(page: Path) -> list[str]:
    """Return the names in the first column of the tables of a page, without arguments."""
    cells = re.findall(r"^\| (`[^|]*) \|", page.read_text("utf-8"), re.MULTILINE)
    names = [name for cell in cells for name in re.findall(r"`(?:new )?([^`]+)`", cell)]
    return [re.sub(r"\(.*$", "", name) for name in names]


def called() -> frozenset[str]:
    report = (DOCS / "reference" / "reports" / "interop.md").read_text("utf-8")
    return frozenset(re.findall(r"^\| `([\w.]+)[^`]*` \|", report, re.MULTILINE))


def unresolved(names: list[str]) -> list[str]:
    """Return the names of `PLACES` that the installed packages lack."""
    lacking = []
    for name in names:
        module, _, path = PLACES[name].partition(":")
        try:
            found: object = importlib.import_module(module)
            for part in path.split("."):
                found = inspect.getattr_static(found, part)
        except (ImportError, AttributeError) as error:
            lacking.append(f"{name}: {error}")
    return lacking


async def run(block: str) -> int:
    async with Simulator(environment="production", equities=600) as simulator:
        environ = {**os.environ, **simulator.environ, "NO_PROXY": "127.0.0.1"}
        program = await asyncio.create_subprocess_exec(sys.executable, "-c", _PRELUDE + block, env=environ)
        return await asyncio.wait_for(program.wait(), 60)


def main() -> int:
    found = [block for page in PAGES for _, block in blocks(page, THEIRS)]
    failed = sum(asyncio.run(run(block)) != 0 for block in found)
    lacking = unresolved([name for page in PAGES for name in theirs(page) if name in PLACES])
    print(*lacking, f"{len(found)} programs of theirs ran, {failed} failed; {len(lacking)} names missing", sep="\n")
    return 1 if failed or lacking or not found else 0


if __name__ == "__main__":
    sys.exit(main())
