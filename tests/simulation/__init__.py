"""Deterministic simulation: an hour of trading, client and brokerage and all the trouble between them, from one seed.

The client is the real one. The brokerage is the simulator behind its in-memory door. Both live on virtual time, so an
hour takes a second, and the same seed plays the same history, byte for byte. Each seed chooses its own mix of
operations, latencies, faults, cancellations and options of the client; afterwards the client's account of what happened
is held against the brokerage's ledger::

    python -m tests.simulation --seeds 1000          # 0 violations, or the seeds that found some
    python -m tests.simulation --seed 17 --history   # what happened in seed 17
    python -m tests.simulation --bugs                # is every planted bug found?
    python -m tests.simulation --http --seeds 20     # ten minutes each over real HTTP, see `stages`
"""
