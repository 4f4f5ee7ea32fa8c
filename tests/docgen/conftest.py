"""The schema, read once for all tests of generated pages."""

from __future__ import annotations

import pytest

from codegen.read.load import load
from codegen.spec import Spec
from docgen.pages import ROOT


@pytest.fixture(scope="package")
def spec() -> Spec:
    return load(ROOT / "schema")
