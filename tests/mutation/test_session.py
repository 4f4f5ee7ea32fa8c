"""Tests of a mutant import the changed source, and reasons are given for code that exists."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import brokerage_async
from tests.documents import ROOT

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
    command = [sys.executable, "-c", PROGRAM, "import os\nos._exit(77)\n"]
    assert subprocess.run(command, cwd=ROOT, capture_output=True, check=False).returncode == 77


def test_survivors_with_a_reason_are_in_the_code() -> None:
    listed = tomllib.loads(Path(__file__).with_name("survivors.toml").read_text("utf-8"))["survivor"]
    installed = Path(brokerage_async.__file__).parents[1]
    texts = {each["path"]: " ".join((installed / each["path"]).read_text("utf-8").split()) for each in listed}
    assert [each for each in listed if each["before"] not in texts[each["path"]]] == []
