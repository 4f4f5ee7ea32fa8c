"""Command line: ``python -m tests.proofs.interop`` runs the clients and writes the page. See the package."""

import argparse
import asyncio
import sys
from pathlib import Path

from . import javascript, python_sdk
from .results import ClientRun, failures, page

ENVIRONMENTS = ("production", "sandbox")


def absolute(path: str) -> Path:
    return Path(path).resolve()


async def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.proofs.interop", description=__doc__)
    parser.add_argument("--javascript", type=absolute, help="folder with the node_modules of the JavaScript client")
    parser.add_argument("--page", type=Path, help="page to write")
    arguments = parser.parse_args()
    clients: list[list[ClientRun]] = [[await python_sdk.run(environment) for environment in ENVIRONMENTS]]
    if arguments.javascript is not None:
        clients.append([await javascript.run(environment, arguments.javascript) for environment in ENVIRONMENTS])
    written = page(clients)
    if arguments.page is None:
        print(written)
    else:
        arguments.page.write_text(written, "utf-8")
    failed = [line for runs in clients for line in failures(runs)]
    print(*failed, sep="\n", file=sys.stderr)
    return bool(failed)


if __name__ == "__main__":
    raise SystemExit(asyncio.run(main()))
