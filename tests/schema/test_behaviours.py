"""The list of recorded behaviour: every test that it names exists, every switch is used."""

import re
from pathlib import Path

import pytest

from brokerage_async._generated.behaviours import BEHAVIOURS, SWITCHES
from brokerage_async._generated.operations import OPERATIONS, REQUEST_MODELS
from brokerage_async.simulator import Simulator
from codegen.read.document import parse

ROOT = Path(__file__).parents[2]
ENTRIES = parse((ROOT / "schema" / "behaviours.yaml").read_text("utf-8"))["behaviours"]


def test_behaviours_name_tests_that_exist_and_switches_that_the_simulator_reads() -> None:
    missing = []
    for name, entry in ENTRIES.items():
        file, _, function = entry["test"].partition("::")
        if function and not re.search(rf"def {function}\(", (ROOT / file).read_text("utf-8")):
            missing.append((name, entry["test"]))
    assert missing == []
    holders = [*REQUEST_MODELS.values(), *OPERATIONS.values()]
    rules = [rule for holder in holders for rule in (*holder.rules, *holder.service_rules)]
    used = {rule.behaviour for rule in rules}
    source = "".join(path.read_text("utf-8") for path in (ROOT / "brokerage_async" / "simulator").rglob("*.py"))
    unused = [name for name in SWITCHES if name not in used and f'"{name}"' not in source]
    assert unused == []


def test_simulator_without_unknown_behaviour_is_refused() -> None:
    for name in ("no_such_thing", *(BEHAVIOURS.keys() - SWITCHES)):
        with pytest.raises(ValueError, match="without must name behaviours"):
            Simulator(without=[name])
