"""``python -m codegen``: write ``brokerage_async/_generated`` from ``schema/``, or check that it is up to date."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main(arguments: list[str] | None = None) -> int:
    """Run the command; 0 when all is well, 1 when the schema is wrong or the generated files are stale."""
    parser = argparse.ArgumentParser(prog="python -m codegen", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a file is stale")
    parser.add_argument("--schema", type=Path, default=ROOT / "schema", help="folder with openapi.yaml")
    parser.add_argument("--out", type=Path, default=ROOT / "brokerage_async" / "_generated", help="folder to write")
    options = parser.parse_args(arguments)

    from .load import SchemaError, load
    from .write import render, stale, write

    try:
        spec = load(options.schema)
    except SchemaError as error:
        many = "one problem" if len(error.problems) == 1 else f"{len(error.problems)} problems"
        print(f"{options.schema}: {many}", *error.problems, sep="\n  ", file=sys.stderr)
        return 1
    files = render(spec)
    if not options.check:
        changed = write(files, options.out)
        print(f"{options.out}: {', '.join(changed) if changed else 'nothing to change'}")
        return 0
    if differing := stale(files, options.out):
        print(f"stale in {options.out}: {', '.join(differing)}; run: python -m codegen", file=sys.stderr)
        return 1
    print(f"{options.out}: up to date")
    return 0


if __name__ == "__main__":
    sys.exit(main())
