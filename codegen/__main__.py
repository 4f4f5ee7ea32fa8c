"""Command ``python -m codegen``: generate ``brokerage_async/_generated`` from ``schema/``, or check it.

With ``--schema DIR --out PKG``, generate a separate package from another schema; ``docs/any-endpoint.md`` shows how.
"""

import argparse
import sys
from pathlib import Path

from .bundle.document import render as render_bundle
from .read.clients import load_clients
from .read.document import Document, SchemaError
from .read.load import read
from .render import index, reference
from .render.write import render, write

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

    def put(files: dict[str, str], folder: Path, *, whole_folder: bool) -> int:
        """Write the files, or report those that would change. Return the exit code."""
        changed = ", ".join(write(files, folder, whole_folder=whole_folder, check=options.check))
        if options.check and changed:
            print(f"stale in {folder}: {changed}; run: python -m codegen", file=sys.stderr)
            return 1
        print(f"{folder}: {'up to date' if options.check else changed or 'no changes'}")
        return 0

    codes = []
    if options.schema == SCHEMA:
        codes.append(put({index.INDEX: index.render(SCHEMA)}, SCHEMA, whole_folder=False))
    is_own = options.out == OUT
    try:
        document = Document(options.schema, beside=SCHEMA)
        spec = read(document)
        comparison = load_clients(CLIENTS, spec) if is_own else None
        files = {**render(spec, is_own=is_own), "openapi.json.gz": render_bundle(document)}
    except SchemaError as error:
        count = f"{len(error.problems)} problem{'s' if len(error.problems) > 1 else ''}"
        print(f"{options.schema}: {count}", *error.problems, sep="\n  ", file=sys.stderr)
        return 1
    codes.append(put(files, options.out, whole_folder=True))
    if comparison is not None:
        pages = {f"reference/{name}": page for name, page in reference.render(spec, comparison).items()}
        codes.append(put(pages, ROOT / "docs", whole_folder=False))
    return max(codes)


def _absolute(path: str) -> Path:
    return Path(path).resolve()


if __name__ == "__main__":
    sys.exit(main())
