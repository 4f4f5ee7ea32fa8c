"""The table of proofs: every program exists."""

import importlib.util

from tests.proofs import __main__ as proofs


def test_every_proof_is_a_program() -> None:
    assert [name for name, proof in proofs.PROOFS.items() if importlib.util.find_spec(proof.module) is None] == []
