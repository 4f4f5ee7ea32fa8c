"""YAML files of a schema folder: parsing, problems and resolution of ``$ref``."""

from pathlib import Path
from typing import Any

import yaml

from codegen.read import document as loader
from codegen.read.document import Document
from tests.codegen.support import document, problems_of
from tests.tables import for_each


@for_each("parser", [loader._FAST, loader._EXACT])
@for_each(
    "content, expected",
    [
        ("{a: true, b: false}", {"a": True, "b": False}),
        ("[yes, no, on, off, Yes, TRUE]", ["yes", "no", "on", "off", "Yes", "TRUE"]),
        ("{true-code: 1, falsehood: true}", {"true-code": 1, "falsehood": True}),
        ("day: 2026-06-12", {"day": "2026-06-12"}),
        ("{number: 7, price: 1.25, nothing: null}", {"number": 7, "price": 1.25, "nothing": None}),
        ("", None),
    ],
)
def test_both_parsers_give_the_same(parser: Any, content: str, expected: Any) -> None:
    assert yaml.load(content, Loader=parser) == loader.parse(content) == expected


@for_each(
    "content, problem",
    [
        (b"paths: [unclosed", "invalid YAML at line 1, column 17: expected ',' or ']'"),
        (b"a: 1\nb: 2\na: 3\n", "invalid YAML at line 3, column 1: duplicate key 'a'"),
        (b"a: \x07", "invalid YAML: unacceptable character #x0007"),
        (b"a: \xff", "invalid YAML: 'utf-8' codec can't decode"),
    ],
)
def test_document_invalid_yaml_names_file_and_place(content: bytes, problem: str, tmp_path: Path) -> None:
    (tmp_path / "openapi.yaml").write_bytes(content)
    [found] = Document(tmp_path).problems
    assert found.startswith(f"openapi.yaml: $: {problem}")


def test_document_several_invalid_files_are_all_reported(tmp_path: Path) -> None:
    problems = document(tmp_path, "a: [", common="b: {", garden="c: 1\nc: 2").problems
    assert [problem.partition(":")[0] for problem in problems] == ["common.yaml", "garden.yaml", "openapi.yaml"]


def test_document_without_openapi_yaml_is_a_problem(tmp_path: Path) -> None:
    assert Document(tmp_path).problems == [f"{tmp_path}: openapi.yaml is missing"]
    assert problems_of(tmp_path) == [f"{tmp_path}: openapi.yaml is missing"]


def test_document_digest_depends_on_names_and_contents(tmp_path: Path) -> None:
    first = document(tmp_path, "a: 1", common="b: 1").digest
    assert Document(tmp_path).digest == first
    assert document(tmp_path, "a: 1 # a comment").digest != first
    (tmp_path / "openapi.yaml").write_text("a: 1")
    (tmp_path / "common.yaml").rename(tmp_path / "other.yaml")
    assert Document(tmp_path).digest != first


def test_strings_come_on_one_line_and_keys_are_strings(tmp_path: Path) -> None:
    root = document(tmp_path, "a: |\n  one\n  two  three\nb: {200: {}}\n").root()
    assert root.string("a") == "one two  three"
    assert [(key, node.json_path) for key, node in root.items("b")] == [("200", "$.b.200")]


def test_document_takes_missing_files_from_the_folder_beside(tmp_path: Path) -> None:
    own, beside = tmp_path / "own", tmp_path / "beside"
    common = 'paths: {A: {get: {$ref: "shared.yaml#/B"}}}'
    document(beside, "paths: {}", common=common, shared="B: {summary: found}", other="C: {}")
    assert list(document(own, 'paths: {/a: {$ref: "common.yaml#/paths/A"}}').files) == ["openapi.yaml"]
    found = Document(own, beside=beside)
    assert list(found.files) == ["openapi.yaml", "common.yaml", "shared.yaml"]
    (beside / "shared.yaml").write_text("B: {summary: changed}")
    assert Document(own, beside=beside).digest != found.digest
