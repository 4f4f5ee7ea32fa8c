"""Fixtures: a toy schema that may be edited, the package generated from it, and the real schema."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from codegen.__main__ import SCHEMA
from codegen.read.load import load
from codegen.spec import Spec
from tests.codegen.support import TOY, Package, imported


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(TOY, tmp_path / "schema"))


@pytest.fixture(scope="session")
def garden(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Package]:
    with imported(TOY, tmp_path_factory.mktemp("garden")) as package:
        yield package


@pytest.fixture(scope="session")
def spec() -> Spec:
    return load(SCHEMA)
