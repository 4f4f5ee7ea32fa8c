"""Command line: ``python -m tests.interop`` runs the clients and writes the page; see the package."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

from . import python_sdk
from .results import failures, table


async def main() -> int:
    runs=[await python_sdk.run(e) for e in ("production","sandbox")]
    print(table(runs))
    print("\n".join(failures(runs)))
    return 0


if __name__ == "__main__":
    raise SystemExit(asyncio.run(main()))
