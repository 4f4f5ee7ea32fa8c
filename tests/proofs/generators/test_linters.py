"""Errors in the output of the linters. Warnings do not count."""

from __future__ import annotations

from tests.proofs.generators.linters import redocly_errors, spectral_errors


def test_redocly_errors_are_named_with_their_place() -> None:
    problem = {"ruleId": "struct", "message": "Wrong", "severity": "error", "location": [{"pointer": "#/info"}]}
    output = {"problems": [problem, {**problem, "severity": "warn"}]}
    assert list(redocly_errors(output)) == ["struct: Wrong at #/info"]


def test_spectral_errors_are_named_with_their_place() -> None:
    problem = {"code": "oas3-schema", "message": "Wrong", "severity": 0, "path": ["paths", 0]}
    assert list(spectral_errors([problem, {**problem, "severity": 1}])) == ["oas3-schema: Wrong at paths/0"]
