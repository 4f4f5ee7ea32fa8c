"""Fake build artefacts, complete except for the parts that a test leaves out or adds."""

import io
import tarfile
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from .checks import REQUIRED_IN_SDIST, REQUIRED_IN_WHEEL

INFO = "brokerage_async-1.0.0.dist-info"
Build = Callable[..., Path]


@pytest.fixture
def wheel(tmp_path: Path) -> Build:
    def build(without: Iterable[str] = (), more: Iterable[str] = (), version: str = "1.0.0") -> Path:
        path = tmp_path / "brokerage_async-1.0.0-py3-none-any.whl"
        names = {*REQUIRED_IN_WHEEL, f"{INFO}/licenses/LICENSE", *more} - set(without)
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(f"{INFO}/METADATA", f"Name: brokerage-async\nVersion: {version}\n")
            for name in sorted(names):
                archive.writestr(name, "")
        return path

    return build


@pytest.fixture
def sdist(tmp_path: Path) -> Build:
    def build(without: Iterable[str] = (), more: Iterable[str] = ()) -> Path:
        path = tmp_path / "brokerage_async-1.0.0.tar.gz"
        with tarfile.open(path, "w:gz") as archive:
            for name in sorted({*REQUIRED_IN_SDIST, *more} - set(without)):
                archive.addfile(tarfile.TarInfo(f"brokerage_async-1.0.0/{name}"), io.BytesIO())
        return path

    return build
