"""``python -m tests.proofs``: run the proofs at length, one after another, and report how long each took.

A proof shows one promise over many seeds, histories or kills. The ordinary tests run a small sample of each. This runs
them all, nightly and before a release. Name some to run only these. Further words go to a single one of them:
``python -m tests.proofs explore --scope fences``.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import attrs

ROOT = Path(__file__).parents[2]


@attrs.frozen
class Proof:
    """A program, the options that run it at length, and the server program that it needs."""

    module: str
    options: str = ""
    needs: str | None = None

    @property
    def missing(self) -> str | None:
        """Name of the server program that is not on this machine."""
        beside = map(str, Path("/usr/lib/postgresql").glob("*/bin"))  # Debian keeps them off the PATH
        path = os.pathsep.join((os.environ.get("PATH", os.defpath), *beside))
        return None if self.needs is None or shutil.which(self.needs, path=path) else self.needs


PROOFS = {
    "explore": Proof("tests.proofs.explore", "--exhaust --histories 100000"),
    "histories": Proof("tests.scenarios.test_order_entry_seeds", "1000"),
    "lives": Proof("tests.scenarios.test_order_life_seeds", "1000"),
    "kills": Proof("tests.proofs.kill.test_sigkill", "200 sqlite"),
    "kills-postgres": Proof("tests.proofs.kill.test_sigkill", "200 postgres", "initdb"),
    "lost-server": Proof("tests.proofs.kill.postgres_proof", "", "initdb"),
    "lost-server-capped": Proof("tests.proofs.kill.postgres_proof", "600 20 7 250", "initdb"),
    "killed-watchers": Proof("tests.proofs.kill.test_watch_sigkill", "200"),
    "killed-simulators": Proof("tests.proofs.kill.test_simulator_state", "50"),
    "simulate": Proof("tests.proofs.simulation", "--seeds 1000"),
    "books": Proof("tests.proofs.books", "1"),
    "paper": Proof("tests.proofs.paper.test_paper_day", "1800 5"),
    "ladders": Proof("tests.proofs.hands.ladders", "500"),
    "sweeps": Proof("tests.proofs.hands.sweeps", "20"),
    "tickets": Proof("tests.simulator.tickets", "1000"),
    "fills": Proof("tests.proofs.fills.test_fill_days", "1000"),
    "large-day": Proof("tests.scenarios.test_large_day"),
    "universe": Proof("tests.proofs.kill.test_universe"),
    "streams": Proof("tests.stream.seeds", "1000"),
    "mute-streams": Proof("tests.stream.mute", "1000"),
    "endurance": Proof("tests.stream.endurance"),
    "endurance-batches": Proof("tests.stream.endurance", "--batches"),
    "killed-recorders": Proof("tests.proofs.kill.test_record_sigkill", "50"),
    "latency": Proof("tests.stream.latency"),
    "fleet-start": Proof("tests.fleet.cold_start", "", "redis-server"),
    "fleet-budget": Proof("tests.fleet.shared_budget", "", "redis-server"),
    "fleet-outage": Proof("tests.fleet.outage", "", "redis-server"),
    "fleet-feed": Proof("tests.fleet.feed", "10000", "redis-server"),
}
"""Proofs by name. Those with an environment of their own are nox sessions: contract, interop, schema, browser."""


def main(words: Sequence[str]) -> int:
    """Run the named proofs, or all, and return 1 if one failed."""
    if words and words[0] not in PROOFS:
        print(f"unknown proof {words[0]!r}: choose from {', '.join(PROOFS)}", file=sys.stderr)
        return 2
    chosen = [word for word in words if word in PROOFS] or list(PROOFS)
    given = [word for word in words if word not in PROOFS]
    if given and len(chosen) > 1:
        print(f"options {' '.join(given)} belong to one proof, got {', '.join(chosen)}", file=sys.stderr)
        return 2
    ends = {name: run(name, PROOFS[name], given) for name in chosen}
    print("\n" + "\n".join(f"{name:18} {end}" for name, (_, end) in ends.items()))
    return int(any(code for code, _ in ends.values()))


def run(name: str, proof: Proof, given: Sequence[str]) -> tuple[int, str]:
    """Run one proof and return its exit code with a line about it."""
    options = given or proof.options.split()
    print(f"\n== {name}: python -m {' '.join((proof.module, *options))}", flush=True)
    if proof.missing is not None:
        return 0, f"skipped: needs {proof.missing}"
    began = time.monotonic()
    code = subprocess.call([sys.executable, "-m", proof.module, *options], cwd=ROOT)
    return code, f"{'held' if code == 0 else f'FAILED with {code}'} in {time.monotonic() - began:,.0f} s"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
