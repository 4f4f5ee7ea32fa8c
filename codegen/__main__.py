"""``python -m codegen``: write ``brokerage_async/_generated`` from ``schema/``, or check that it is up to date."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "brokerage_async" / "_generated"


def main(arguments: list[str] | None = None) -> int:
    """Run the command; 0 when all is well, 1 when the schema is wrong or the generated files are stale."""
    parser = argparse.ArgumentParser(prog="python -m codegen", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a file is stale")
    parser.add_argument("--schema", type=Path, default=ROOT / "schema", help="folder with openapi.yaml")
    parser.add_argument("--out", type=Path, default=OUT, help="folder to write")
    options = parser.parse_args(arguments)

    from .read.load import SchemaError, load
    from .render.write import render, render_proof

    try:
        spec = load(options.schema)
    except SchemaError as error:
        many = "one problem" if len(error.problems) == 1 else f"{len(error.problems)} problems"
        print(f"{options.schema}: {many}", *error.problems, sep="\n  ", file=sys.stderr)
        return 1
    codes = [_settle(render(spec), options.out, check=options.check, whole_folder=True)]
    if options.out == OUT:
        codes.append(_settle(render_proof(spec), ROOT / "tests" / "typing", check=options.check, whole_folder=False))
    return max(codes)


def _settle(files: dict[str, str], folder: Path, *, check: bool, whole_folder: bool) -> int:
    """Write the files, or only see whether they would change."""
    from .render.write import stale, write

    if not check:
        changed = write(files, folder, whole_folder=whole_folder)
        print(f"{folder}: {', '.join(changed) if changed else 'nothing to change'}")
        return 0
    if differing := stale(files, folder, whole_folder=whole_folder):
        print(f"stale in {folder}: {', '.join(differing)}; run: python -m codegen", file=sys.stderr)
        return 1
    print(f"{folder}: up to date")
    return 0


if __name__ == "__main__":
    sys.exit(main())
