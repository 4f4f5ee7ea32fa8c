"""Mutation testing of `protocol` and `order_entry`: small changes to the code, and whether the unit tests notice them.

The changes are those of mutmut's operators (`mutants`). Running them is done here, because a run of the tests for every
change would take days: the tests are run once under coverage.py (`reach`), then collected once, and every mutant is
tried in a fork of that process, in which its function has been given the changed code (`swap`), by the tests alone
that run the changed lines, the quickest first (`session`). A change outside of functions takes effect at import; so
does one to a function that import itself calls. Those are tried in a process that imports the package from the start.

A mutant counts as caught when a test fails, or does not end within thrice its time. A change with which the package
cannot be imported is not counted at all. Survivors are listed in the report, each with a reason.
"""
