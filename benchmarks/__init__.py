"""Costs of the library, compared with its peers. See RESULTS.md."""
