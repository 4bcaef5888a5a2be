"""Follow an index that changes while it is served.

A thread looks every second (in an object store, every 30 seconds) whether the manifest of the index or of its stored
vectors was replaced, and exchanges the index of the engine. An index that cannot be opened leaves the old index in
use; it is tried again later.
"""

from __future__ import annotations

import logging
import threading

from longrank.errors import LongRankError
from longrank.index.stamps import CANNOT_OPEN, Stamp, stamp_of
from longrank.service.engine import Engine
from longrank.types import Notes

_LOG = logging.getLogger("longrank.service.reloading")
_POLL_SECONDS = 1.0
_LONGEST = 60.0  # seconds from a failed attempt to the next, if nothing changes


class Reloader:
    """Exchanges the index of an engine after each commit.

    Args:
        engine: the loaded pipelines.
        seen: the stamp from before the engine's index was opened; None without an index.
    """

    def __init__(self, engine: Engine, seen: Stamp | None) -> None:
        self._engine, self._seen = engine, seen
        self._asked = self._stopped = False
        self._wake = threading.Event()
        self._failure = ""
        self._pause = self._left = 0.0  # seconds from the last failed attempt to the next, and those that are left
        self._thread = threading.Thread(target=self._run, name="longrank-reload", daemon=True)

    def start(self) -> None:
        """Start to look; call it when the engine is loaded."""
        self._thread.start()

    def ask(self) -> None:
        """Reload at once, even if nothing has changed."""
        self._asked = True
        self._wake.set()

    def stop(self) -> None:
        """End the thread, if it was started; a reload under way is waited for up to a second."""
        self._stopped = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(_POLL_SECONDS)

    def look(self) -> None:
        """Reload if that was asked for, if there was a commit, or if a failed attempt is due again."""
        index = self._engine.index
        if index is None:
            if self._asked:
                _LOG.info("no index to reload")
            self._asked = False
            return
        asked, self._asked = self._asked, False
        stamp = stamp_of(index.location)
        self._left -= _POLL_SECONDS
        if asked or stamp != self._seen:
            self._failure, self._pause = ("", 0.0)
        elif not self._failure or self._left > 0:
            return
        self._seen = stamp
        self._reload()

    def _reload(self) -> None:
        try:
            notes = self._engine.reopen()
        except CANNOT_OPEN as error:
            if str(error) != self._failure:
                _LOG.info("the index cannot be reloaded, the old one stays in use: %s", error)
            self._failure = str(error) or type(error).__name__
            self._pause = self._left = min(_LONGEST, max(_POLL_SECONDS, 2 * self._pause))
            return
        self._failure, self._pause = "", 0.0
        if (index := self._engine.index) is not None:
            _LOG.info("index reloaded: %s, %d documents", index.digest, len(index))
        _log_notes(notes)

    def _run(self) -> None:
        while not self._stopped:
            try:
                self.look()
            except LongRankError as error:  # an object store that cannot be reached
                _LOG.info("no look at the index, the old one stays in use: %s", error)
            except Exception:  # the thread goes on
                _LOG.exception("the index cannot be reloaded, the old one stays in use")
            if not self._asked and not self._stopped:
                self._wake.wait(_POLL_SECONDS)
            self._wake.clear()


def _log_notes(notes: Notes) -> None:
    for line in notes.lines():
        _LOG.info("%s", line)
