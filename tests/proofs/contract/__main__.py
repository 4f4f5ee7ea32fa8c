"""Command line: ``python -m tests.proofs.contract``. See the package."""

import argparse
import asyncio
import tempfile
from collections import Counter
from pathlib import Path

from brokerage_async.simulator import Simulator
from tests.proofs.contract import requested
from tests.schema.bundle import OPERATIONS
from tests.simulator.test_statuses import NOT_REACHED


async def generate(examples: int, seed: int) -> tuple[int, requested.Statuses]:
    sizes = {"equities": 200, "equity_options": 200, "chain_rows": 200, "warrants": 10}
    async with Simulator(environment="production", seed=seed, **sizes) as simulator:
        simulator.clock.speed = 0.2  # tokens are valid for 15 minutes, and a run on a slow machine takes as long
        token = requested.access_token(simulator)
        with tempfile.TemporaryDirectory() as folder:
            code = await requested.run_schemathesis(simulator, token, Path(folder), examples=examples, seed=seed)
        met: requested.Statuses = {}
        for record in simulator.ledger.requests:
            if record.operation is not None and record.status is not None:
                met.setdefault(record.operation, Counter())[record.status] += 1
        return code, met


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.proofs.contract", description=__doc__)
    parser.add_argument("--examples", type=int, default=10, help="generated requests per operation and phase")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--requested-only", action="store_true", help="leave schemathesis out")
    options = parser.parse_args()
    code, met = (0, {}) if options.requested_only else asyncio.run(generate(options.examples, options.seed))
    contract = requested.run()
    for name, statuses in met.items():
        contract.statuses[name] += statuses
    total, left = 0, []
    for name, operation in OPERATIONS.items():
        reached, without = contract.statuses[name], map(str, NOT_REACHED.get(name, ()))
        print(f"{name:45} {' '.join(f'{status}:{count}' for status, count in sorted(reached.items()))}")
        names = {each for status in reached for each in (str(status), f"{status // 100}XX")}.union(without)
        left += [f"not reached: {name} {status}" for status in operation["responses"] if status not in names]
        total += len(operation["responses"])
    print(f"{total - len(left)} of {total} documented statuses reached or without a cause here", *left, sep="\n")
    print(*contract.failures, sep="\n")
    return int(bool(code or contract.failures or left))


if __name__ == "__main__":
    raise SystemExit(main())
