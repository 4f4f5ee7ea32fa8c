"""Interface versions of a run of the tests, from SERVED_VERSIONS; see CONTRIBUTING.md."""

import os
from typing import Any

from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.simulator.api.versions import InterfaceVersions


def serve_versions() -> None:
    """Let simulators serve them, unless a test chooses others, and operations ask for the oldest if theirs is gone."""
    served = tuple(filter(None, os.environ.get("SERVED_VERSIONS", "").split(",")))
    if not served:
        return
    make: Any = InterfaceVersions.__init__

    def serve(self: InterfaceVersions, settings: Any, alive: Any = None, withdrawn: Any = ()) -> None:
        make(self, settings, served if alive is None else alive, withdrawn)

    InterfaceVersions.__init__ = serve  # type: ignore[method-assign]
    for operation in OPERATIONS.values():
        if operation.version is not None and operation.version < min(served):
            object.__setattr__(operation, "version", min(served))
