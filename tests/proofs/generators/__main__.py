"""Command line: ``python -m tests.proofs.generators`` runs the tools on the bundled schema. See the package."""

import argparse
import shutil
import tempfile
from pathlib import Path

from tests.schema.bundle import SOURCE

from . import npm, openapi_generator, pydantic_models, python_client
from .results import report


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.proofs.generators", description=__doc__)
    parser.add_argument("--node", type=Path, help="folder with the node_modules of the tools from npm")
    tools = parser.parse_args().node
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bundle = folder / "openapi.json"
        bundle.write_text(SOURCE, "utf-8")
        results = [*python_client.run(bundle, folder), *pydantic_models.run(bundle, folder)]
        if shutil.which("java"):
            results += openapi_generator.run(bundle, folder)
        if tools is not None:
            for tool in (npm.typescript, npm.redoc, npm.lint):
                results += tool(bundle, tools.resolve(), folder)
    return report(results)


if __name__ == "__main__":
    raise SystemExit(main())
