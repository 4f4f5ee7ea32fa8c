"""Deterministic simulation: an hour of trading against a faulty brokerage, from one seed.

The client is the real one. The brokerage is the simulator behind its in-memory transport. Both run on virtual time, so
an hour takes a second, and the same seed gives the same history, byte for byte. Each seed chooses its own mix of
operations, latencies, faults, cancellations and client options. Afterwards the client's view is compared with the
brokerage's ledger::

    python -m tests.proofs.simulation --seeds 1000          # 0 violations, or the seeds that found some
    python -m tests.proofs.simulation --seed 17 --history   # the history of seed 17
    python -m tests.proofs.simulation --http --seeds 20     # ten minutes each over real HTTP, see `stages`
"""
