"""The control plane's log: one line for each event on stderr, as `hold.lost reason=…`."""

from __future__ import annotations

import logging
import sys

import structlog


def open_log() -> None:
    """Make structlog write for people who read a terminal or a file; what is below `info` is left out."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="%H:%M:%S", utc=False),
            structlog.dev.ConsoleRenderer(
                colors=False,
                pad_event_to=0,
                # The default one shows the values of variables, passwords among them.
                exception_formatter=structlog.dev.plain_traceback,
            ),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=True,
    )
    # It warns of connections that end, which we tell in events of our own.
    logging.getLogger("psycopg").setLevel(logging.ERROR)
