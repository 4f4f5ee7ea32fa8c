"""Clients that others wrote, run call by call against the simulator: ``nox -s interop``."""
