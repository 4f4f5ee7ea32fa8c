"""Issues: where decoding reports a value that does not fit the schema."""

from __future__ import annotations

import logging
import re
from typing import Any

import msgspec

from ...errors import ResponseDecodeError
from .adaptive import REGISTRY, DecoderRegistry

logger: logging.Logger = logging.getLogger("brokerage_async.decode")

#: How a warning ends, which says what became of the value.
KEPT, LEFT_OUT, IGNORED, READ = "kept as raw JSON in extra", "left out", "ignored", "read all the same"
#: The reason and the outcome for a row without a value that every recorded answer has.
MISSING = ("missing", "read as an empty string")
MAX_WARNED = 4096  # warnings that are remembered, later ones are repeated; their paths have keys of the schema alone
_INDEX = re.compile(r"\[\d+\]")


class Issues(msgspec.Struct, eq=False):
    """Reports of one decoding: a warning for each path, or in strict mode an exception."""

    operation: str
    strict: bool = False
    registry: DecoderRegistry = REGISTRY

    def report(self, path: str, reason: str, outcome: str) -> None:
        """Log one issue and its outcome, once for each operation and path without its indexes, `MISSING` apart.

        In strict mode the issue has no other outcome than ResponseDecodeError. A path without its indexes raises
        ValueError there: the rows are read one by one then, and name it.
        """
        if self.strict:
            if "[]" in path:
                raise ValueError(path)
            message = f"{path}: {reason}; rejected in strict mode"
            raise ResponseDecodeError(message, json_path=path, operation=self.operation)
        pattern = _INDEX.sub("[]", path)
        warning = (self.operation, f"{pattern} {reason}" if (reason, outcome) == MISSING else pattern)
        if warning not in self.registry.warned:
            if len(self.registry.warned) < MAX_WARNED:
                self.registry.warned.add(warning)
            logger.warning("%s: %s: %s; %s", self.operation, pattern, reason, outcome)


def describe(raw: Any) -> str:
    """Return the JSON type of a raw value, without its content."""
    names = {str: "a string", bool: "a boolean", dict: "an object", list: "a list", type(None): "null"}
    return names.get(type(raw), "a number")
