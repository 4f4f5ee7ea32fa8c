"""The simulator against the bundled schema: every operation, every documented status, over real HTTP.

`python -m tests.proofs.contract` runs schemathesis with all of its checks, then asks for each documented error on
purpose.
"""
