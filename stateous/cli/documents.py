"""JSON objects as people write them on a command line: JSON, `key=value`, `@file`, or `-` for stdin."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import msgspec

from stateous.model.refusals import StateousError


class NotADocument(StateousError):
    """What was given for an option is no JSON object."""


def read_document(texts: Sequence[str], *, option: str) -> dict[str, Any] | None:
    """All values that were given for an option, as one object; None when there is none.

    Later keys win. The value of `key=value` is taken as JSON when it is JSON (`amount=5`), else as text.
    Raises NotADocument, or OSError for a file that cannot be read.
    """
    if not texts:
        return None
    document: dict[str, Any] = {}
    for text in texts:
        document.update(_read(text, option=option))
    return document


def _read(text: str, *, option: str) -> dict[str, Any]:
    key, equals, value = text.partition("=")
    if text == "-":
        value = _json(sys.stdin.buffer.read(), of=f"what {option} - read from stdin")
    elif text.startswith("@"):
        value = _json(Path(text[1:]).read_bytes(), of=f"the file {text[1:]} of {option}")
    elif equals and not text.lstrip().startswith(("{", "[", '"')):
        return {key: _pair_value(value)}
    elif text.strip() and not text.lstrip().startswith("{"):
        value = None  # a word, or JSON that is no object: neither is what this option takes
    else:
        value = _json(os.fsencode(text), of=f"the value of {option}")
    if not isinstance(value, dict):
        raise NotADocument(f"{option} takes a JSON object, key=value, @FILE, or - for stdin")
    return cast("dict[str, Any]", value)


def _json(raw: bytes, *, of: str) -> Any:
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        raise NotADocument(f"{of} is not JSON: {error}") from error


def _pair_value(text: str) -> Any:
    try:
        return msgspec.json.decode(os.fsencode(text))
    except (msgspec.DecodeError, RecursionError, ValueError):
        return text
