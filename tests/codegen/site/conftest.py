"""The schema, read once for all tests of generated pages."""

import pytest

from codegen.read.load import load
from codegen.site.pages import ROOT
from codegen.spec import Spec


@pytest.fixture(scope="package")
def spec() -> Spec:
    return load(ROOT / "schema")
