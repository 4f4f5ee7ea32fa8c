"""Wheel and sdist hold their own files, all of them and no others."""

from __future__ import annotations

from tests.tables import for_each

from .checks import REQUIRED_IN_SDIST, REQUIRED_IN_WHEEL, sdist_problems, wheel_problems
from .conftest import INFO, Build


def test_whole_files_have_no_problems(wheel: Build, sdist: Build) -> None:
    assert wheel_problems(wheel(), "1.0.0") == []
    assert sdist_problems(sdist()) == []


@for_each("name", REQUIRED_IN_WHEEL)
def test_wheel_without_a_part_is_refused(wheel: Build, name: str) -> None:
    path = wheel(without=[name])
    assert wheel_problems(path, "1.0.0") == [f"{path.name} lacks {name}"]


@for_each(
    "name", ["tests/test_client.py", "codegen/spec.py", "schema/openapi.yaml", "brokerage_async/orders.json", "x.py"]
)
def test_wheel_with_tests_or_schema_tools_is_refused(wheel: Build, name: str) -> None:
    path = wheel(more=[name])
    assert wheel_problems(path, "1.0.0") == [f"{path.name} must hold the package only, got {name}"]


def test_wheel_of_another_version_or_without_license_is_refused(wheel: Build) -> None:
    assert "version 1.0.0 in its metadata, got 0.9" in wheel_problems(wheel(version="0.9"), "1.0.0")[0]
    assert "lacks the license" in wheel_problems(wheel(without=[f"{INFO}/licenses/LICENSE"]), "1.0.0")[0]


@for_each("name", REQUIRED_IN_SDIST)
def test_sdist_without_a_part_is_refused(sdist: Build, name: str) -> None:
    path = sdist(without=[name])
    assert sdist_problems(path) == [f"{path.name} lacks {name}"]


@for_each("name", ["docs/_build/html/index.html", ".nox/x", "tests/__pycache__/a.pyc"])
def test_sdist_with_caches_is_refused(sdist: Build, name: str) -> None:
    path = sdist(more=[name])
    assert sdist_problems(path) == [f"{path.name} must not hold {name}"]
