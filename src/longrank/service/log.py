"""The server's log: one escaped line per request.

2026-11-22T04:50:00 127.0.0.1 POST /v2/rerank 200 56 ms 7d0c2b...
"""

from __future__ import annotations

import logging
from typing import TextIO

from longrank.errors import printable

_MAX_CHARACTERS = 2000


class OneLine(logging.Formatter):
    """Escapes control characters, line ends and changes of the writing direction."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line of at most 2000 characters."""
        return printable(super().format(record))[:_MAX_CHARACTERS]


def log_to(stream: TextIO) -> None:
    """Write the log to `stream`, with the errors of uvicorn and asyncio."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(OneLine("%(asctime)s %(message)s", "%Y-%m-%dT%H:%M:%S"))
    for name, level in (("longrank.service", logging.INFO), ("uvicorn", logging.ERROR), ("asyncio", logging.ERROR)):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)
