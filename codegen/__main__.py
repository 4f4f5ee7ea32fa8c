"""Command ``python -m codegen``: generate ``brokerage_async/_generated`` from ``schema/``, or check it.

With ``--schema DIR --out PKG``, generate a separate package from another schema; ``docs/any-endpoint.md`` shows how.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .bundle.document import render as render_bundle
from .read.clients import load_clients
from .read.document import Document
from .read.load import SchemaError, read
from .render import index, reference
from .render.write import render, stale_files, write

ROOT = Path(__file__).resolve().parent.parent
SCHEMA = ROOT / "schema"
CLIENTS = ROOT / "codegen" / "clients.yaml"
OUT = ROOT / "brokerage_async" / "_generated"


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit code: 1 for an invalid schema or stale files."""
    parser = argparse.ArgumentParser(prog="python -m codegen", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, fail if a file is stale")
    parser.add_argument("--schema", type=_absolute, default=SCHEMA, help="folder that contains openapi.yaml")
    parser.add_argument("--out", type=_absolute, default=OUT, help="package to write to, a folder")
    options = parser.parse_args(arguments)

    codes = []
    if options.schema == SCHEMA:
        listed = {index.INDEX: index.render(SCHEMA)}
        codes.append(_write_or_check(listed, SCHEMA, check=options.check, whole_folder=False))
    try:
        document = Document(options.schema, beside=SCHEMA)
        spec = read(document)
        comparison = load_clients(CLIENTS, spec) if options.out == OUT else None
        files = {**render(spec, is_own=options.out == OUT), "openapi.json.gz": render_bundle(document)}
    except SchemaError as error:
        count = f"{len(error.problems)} problem{'s' if len(error.problems) > 1 else ''}"
        print(f"{options.schema}: {count}", *error.problems, sep="\n  ", file=sys.stderr)
        return 1
    codes.append(_write_or_check(files, options.out, check=options.check, whole_folder=True))
    if comparison is not None:
        pages = {f"reference/{name}": page for name, page in reference.render(spec, comparison).items()}
        codes.append(_write_or_check(pages, ROOT / "docs", check=options.check, whole_folder=False))
    return max(codes)


def _absolute(path: str) -> Path:
    return Path(path).resolve()


def _write_or_check(files: dict[str, str], folder: Path, *, check: bool, whole_folder: bool) -> int:
    """Write the files, or report those that would change. Return the exit code."""
    if not check:
        changed = write(files, folder, whole_folder=whole_folder)
        print(f"{folder}: {', '.join(changed) if changed else 'no changes'}")
        return 0
    if stale := stale_files(files, folder, whole_folder=whole_folder):
        print(f"stale in {folder}: {', '.join(stale)}; run: python -m codegen", file=sys.stderr)
        return 1
    print(f"{folder}: up to date")
    return 0


if __name__ == "__main__":
    sys.exit(main())
