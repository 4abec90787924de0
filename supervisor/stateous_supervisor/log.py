"""The supervisor's log: lines for people on stderr, through structlog."""

from __future__ import annotations

import logging
import sys
from typing import Any, Final, Protocol, cast

import structlog
from structlog.typing import EventDict, WrappedLogger

from stateous.model.sentences import printable

_LONGEST: Final = 20_000
"""Characters of a traceback: an exception may carry megabytes."""


class Log(Protocol):
    """What the supervisor needs of a logger; the event is the sentence."""

    def info(self, event: str, **values: Any) -> None: ...
    def warning(self, event: str, **values: Any) -> None: ...
    def error(self, event: str, **values: Any) -> None: ...


def open_log() -> Log:
    """Make the log of this process: one line for each event, with the local time before it."""
    structlog.configure(
        processors=[
            structlog.processors.TimeStamper(fmt="%H:%M:%S", utc=False, key="time"),
            structlog.processors.format_exc_info,
            _line,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=True,
    )
    return cast("Log", structlog.get_logger())


def _line(_logger: WrappedLogger, _method: str, event: EventDict) -> str:
    """`12:34:56  task 2 of TICKET-1: reported passed`, then a traceback if there is one."""
    at, said, raised = event.pop("time"), event.pop("event"), event.pop("exception", None)
    values = "".join(f"  {key}={value}" for key, value in event.items())
    line = f"{at}  {printable(f'{said}{values}')}"
    if raised is None:
        return line
    traceback = "\n".join(printable(each) for each in str(raised)[:_LONGEST].splitlines())
    return f"{line}\n{traceback}"
