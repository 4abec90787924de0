"""The supervisor's log: a sentence for people, or a JSON object for programs, for each thing that happens."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Literal, Protocol, cast

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from stateous.model.sentences import printable
from stateous_supervisor.outcome import LONGEST_TRACEBACK

LogFormat = Literal["text", "json"]
Write = Callable[[str], None]


class Log(Protocol):
    """What the supervisor needs of a logger.

    `event` is the sentence. Of the values, `kind` is the name by which programs count (`task.claimed`),
    `traceback` is a text that is shown below, and the others are fields of the JSON object: what a person
    must know is in the sentence. A log never raises.
    """

    def info(self, event: str, **values: Any) -> None: ...
    def warning(self, event: str, **values: Any) -> None: ...
    def error(self, event: str, **values: Any) -> None: ...


def open_log(log_format: LogFormat, *, write: Write) -> Log:
    """A log that gives its lines to `write`, each without its end. It is not the one that routines configure."""
    render: list[Processor] = (
        [_json, structlog.processors.JSONRenderer()] if log_format == "json" else [_text]
    )
    log = structlog.wrap_logger(
        _Lines(write),
        processors=[structlog.processors.format_exc_info, *render],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
    )
    return cast("Log", log.bind())  # bound once: an unbound one binds itself for each line


class _Lines:
    """Where structlog puts a finished line, whatever its level."""

    def __init__(self, write: Write) -> None:
        self.info = self.warning = self.error = write


def _text(_logger: WrappedLogger, _level: str, event: EventDict) -> str:
    """`12:34:56  task 2 of TICKET-1: reported passed`, then a traceback if there is one."""
    line = f"{time.strftime('%H:%M:%S')}  {printable(event['event'])}"
    traceback = _traceback(event)
    if traceback is None:
        return line
    return "\n".join([line, *(printable(each) for each in traceback.splitlines())])


def _json(_logger: WrappedLogger, level: str, event: EventDict) -> EventDict:
    """The fields of a line, the ones that each line has before the others."""
    traceback = _traceback(event)
    line: dict[str, Any] = {
        "time": datetime.now(UTC).isoformat(),
        "level": level,
        "event": event.pop("kind", "said"),
        "message": event.pop("event"),
        **event,
    }
    if traceback is not None:
        line["traceback"] = traceback
    return line


def _traceback(event: EventDict) -> str | None:
    """Take the traceback out, whether it came as a text or as `exc_info`."""
    text = event.pop("traceback", None) or event.pop("exception", None)
    return None if text is None else str(text)[:LONGEST_TRACEBACK]
