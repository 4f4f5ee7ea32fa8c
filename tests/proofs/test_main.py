"""The table of proofs: every program exists, the order of names and options is checked, a failure is reported."""

import importlib.util
from typing import Any

import pytest

from tests.proofs import __main__ as proofs


def test_every_proof_is_a_program() -> None:
    assert [name for name, proof in proofs.PROOFS.items() if importlib.util.find_spec(proof.module) is None] == []


def test_main_with_an_unknown_name_or_shared_options_runs_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert proofs.main(["nonsense"]) == 2
    assert "choose from explore" in capsys.readouterr().err
    assert proofs.main(["kills", "books", "--seed"]) == 2
    assert "belong to one proof" in capsys.readouterr().err


def test_main_reports_each_end_and_fails_if_one_failed(monkeypatch: Any, capsys: pytest.CaptureFixture[str]) -> None:
    table = {
        "good": proofs.Proof("this", ""),
        "bad": proofs.Proof("tests.proofs.nowhere"),
        "elsewhere": proofs.Proof("this", needs="no-such-server"),
    }
    monkeypatch.setattr(proofs, "PROOFS", table)
    assert proofs.main([]) == 1
    said = capsys.readouterr().out
    assert "good               held in" in said
    assert "bad                FAILED with 1 in" in said
    assert "elsewhere          skipped: needs no-such-server" in said
    assert proofs.main(["good", "elsewhere"]) == 0
