"""The server's log: one line each, whatever a client sends.

2026-11-22T04:50:00 127.0.0.1 POST /v2/rerank 200 56 ms 7d0c2b...
"""

from __future__ import annotations

import logging
from typing import TextIO

from longrank.errors import printable

_MOST_CHARACTERS = 2000


class OneLine(logging.Formatter):
    """Escapes whatever could end a line, steer a terminal or turn the direction of writing."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line of at most 2000 characters."""
        return printable(super().format(record))[:_MOST_CHARACTERS]


def log_to(stream: TextIO) -> None:
    """Write the log to `stream`, together with what the libraries beneath complain of."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(OneLine("%(asctime)s %(message)s", "%Y-%m-%dT%H:%M:%S"))
    for name, level in (("longrank.service", logging.INFO), ("uvicorn", logging.ERROR), ("asyncio", logging.ERROR)):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)
