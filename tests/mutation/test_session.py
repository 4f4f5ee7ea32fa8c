"""Tests of a mutant import the changed source, and reasons are given for code that exists."""

import subprocess
import sys

import pytest

from tests.documents import ROOT
from tests.mutation.page import reasons

PROGRAM = """
import sys
from pathlib import Path
import pytest
from tests.mutation.session import OPTIONS, load_instead

path = "brokerage_async/protocol/order_status.py"
load_instead(path, Path(path).read_text("utf-8") + sys.argv[1])
raise SystemExit(pytest.main([*OPTIONS, "tests/protocol/test_order_status.py"]))
"""


def test_load_instead_changes_what_the_tests_import() -> None:
    pytest.importorskip("mutmut")
    codes = [
        subprocess.run([sys.executable, "-c", PROGRAM, change], cwd=ROOT, capture_output=True, check=False).returncode
        for change in ("", "raise RuntimeError('changed')\n")
    ]
    assert codes[0] == 0
    assert codes[1] != 0


def test_survivors_with_a_reason_are_in_the_code() -> None:
    kept = [(path, before) for path, _, before, *_ in reasons()]
    assert [each for each in kept if each[1] not in " ".join((ROOT / each[0]).read_text("utf-8").split())] == []
