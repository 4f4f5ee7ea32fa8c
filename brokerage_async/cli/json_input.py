"""JSON that a person gives to a command: read exactly, and refused where its meaning is in doubt."""

from __future__ import annotations

import difflib
import json
import logging
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from .._generated.operations import REQUEST_MODELS
from ..errors import ErrorDetail, InvalidRequestError, ResponseDecodeError
from ..models import converter
from ..protocol.validation.requests import with_article

T = TypeVar("T")
MAX_CHARACTERS = 1_000_000  # more than any request body; a device or a data file given by mistake ends here


def read_source(source: str) -> str:
    """Return the content of a file, or of standard input for ``-``. Raise ValueError if it cannot be read."""
    if source == "-":
        content = sys.stdin.read(MAX_CHARACTERS + 1)
    else:
        try:
            with Path(source).open(encoding="utf-8-sig") as file:
                content = file.read(MAX_CHARACTERS + 1)
        except UnicodeDecodeError:
            raise ValueError("not a file in UTF-8") from None
        except OSError as problem:
            raise ValueError(problem.strerror or str(problem)) from None
    if len(content) > MAX_CHARACTERS:
        raise ValueError(f"the JSON must be at most {MAX_CHARACTERS:,} characters long")
    return content


def read_exactly(content: str) -> Any:
    """Parse JSON with every digit of its numbers. Raise ValueError for a key that occurs twice in one object, too."""

    def refuse(name: str) -> NoReturn:
        raise ValueError(f"a number must be finite, got {name}")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise ValueError(f"the key {twice!r} occurs twice in one object")
        return made

    try:
        return json.loads(content, parse_float=Decimal, parse_constant=refuse, object_pairs_hook=unique)
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None
    except ArithmeticError:
        raise ValueError("a number is too large or too small") from None


def read_model(document: object, model: type[T], *, operation: str | None = None) -> T:
    """Build a request model. Refuse fields it does not have, and values that do not fit: ``errors`` lists them all."""
    logger = logging.getLogger("brokerage_async.decode")  # its warnings say "kept", but nothing is kept here
    disabled, logger.disabled = logger.disabled, True
    try:
        made: T = converter.structure(document, model)
    except ResponseDecodeError:
        said = f"the JSON must be an object with the fields of {with_article(model.__name__)}"
        raise InvalidRequestError(said, operation=operation) from None
    finally:
        logger.disabled = disabled
    if problems := tuple(_problems(made, "")):
        raise InvalidRequestError(
            f"the JSON must have the form of {with_article(model.__name__)}", operation=operation, errors=problems
        )
    return made


def _problems(made: Any, prefix: str) -> Iterator[ErrorDetail]:
    """Yield what a request model and the models inside it keep in ``extra``."""
    fields = {field.wire: field for field in REQUEST_MODELS[type(made)].fields}
    for key in made.extra:
        if key in fields:
            wanted = f"a list of {fields[key].kind}s" if fields[key].array else f"of kind {fields[key].kind}"
            yield ErrorDetail("invalid", f"must be {wanted}, got {str(made.extra[key])[:40]!r}", prefix + key)
            continue
        close = difflib.get_close_matches(key, fields, 1)
        hint = f"; did you mean {close[0]}?" if close else ""
        yield ErrorDetail("unknown", f"unknown field{hint}", prefix + key)
    for field in fields.values():
        value = getattr(made, field.name) if field.model is not None else None
        for index, item in enumerate(value if field.array and value is not None else [value]):
            if type(item) in REQUEST_MODELS:
                place = f"{prefix}{field.wire}[{index}]" if field.array else f"{prefix}{field.wire}"
                yield from _problems(item, f"{place}.")
