"""Code generator: from ``schema/`` to ``brokerage_async/_generated``, never imported by the package."""
