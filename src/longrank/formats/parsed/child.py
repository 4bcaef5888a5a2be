"""Run parsers in a child process with limits of time, memory and output.

A file that crashes its parser, or exceeds a limit, ends the child alone. The child answers in JSON, and nothing that
it says is executed. It opens the named file, and no network connection.
"""

from __future__ import annotations

import atexit
import json
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from longrank.errors import InputError
from longrank.formats.parsed import Parsed

_START = "import sys; sys.path[:] = sys.argv[1:]; from longrank.formats.parsed.worker import main; main()"
_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class ParserLimits:
    """Limits of a parser.

    Attributes:
        seconds: longest time for a document.
        memory: largest address space of the child, in bytes.
        output: largest answer for a document, in bytes of JSON.
    """

    seconds: float = 60.0
    memory: int = 1 << 30
    output: int = 256 << 20


DEFAULT_PARSER_LIMITS = ParserLimits()


class NoTextLayer(InputError):
    """A file holds pictures of text alone."""


def parse(
    path: Path, format: str, text: str | None = None, limits: ParserLimits = DEFAULT_PARSER_LIMITS
) -> Iterator[Parsed]:
    """Yield the documents of a file.

    Args:
        path: the file.
        format: a key of `longrank.formats.parsed.PARSERS`.
        text: the file's text, for parsers that take text.
        limits: limits of the child process.

    Raises:
        InputError: the file cannot be read; names the file and the fault.
        NoTextLayer: it holds pictures of text alone.
    """
    request = {"format": format, "path": str(path.absolute())} | ({} if text is None else {"text": text})
    with _leased(limits) as child:
        child.ask(request)
        while "document" in (answer := child.answer(path)):
            document = answer["document"]
            document["headings"] = [tuple(heading) for heading in document["headings"]]
            yield Parsed(**document)
    if "error" in answer:
        raise (NoTextLayer if answer["no_text"] else InputError)(answer["error"], path=path)


class _Child:
    def __init__(self, limits: ParserLimits) -> None:
        self.limits = limits
        self._pending = bytearray()
        paths = [path or str(Path.cwd()) for path in sys.path]
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", _START, *paths],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # an interrupt ends the parent, which ends the child
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        )
        self.ask({"memory": limits.memory, "seconds": limits.seconds})

    def ask(self, request: dict[str, Any]) -> None:
        """Send a request."""
        stdin = cast(IO[bytes], self._process.stdin)
        with suppress(BrokenPipeError):  # `answer` says how the child ended
            stdin.write(json.dumps(request).encode() + b"\n")
            stdin.flush()

    def answer(self, path: Path) -> dict[str, Any]:
        """Return the next line of the child.

        Raises:
            InputError: the child ended, or exceeded a limit; names `path`.
        """
        read, deadline = self._pending, time.monotonic() + self.limits.seconds
        end = read.find(b"\n")
        while end < 0:
            n_read = len(read)
            read += self._read(path, deadline)
            if len(read) > self.limits.output:
                raise InputError(f"holds more text than the limit of {self.limits.output} bytes", path=path)
            end = read.find(b"\n", n_read)
        self._pending = read[end + 1 :]
        del read[end:]
        line = read.decode("ascii")
        read.clear()  # a large answer is in memory twice at most
        return json.loads(line)  # type: ignore[no-any-return]

    def _read(self, path: Path, deadline: float) -> bytes:
        out = cast(IO[bytes], self._process.stdout).fileno()
        with selectors.DefaultSelector() as selector:  # select.select refuses descriptors from 1,024 on
            selector.register(out, selectors.EVENT_READ)
            ready = selector.select(max(0.0, deadline - time.monotonic()))
        if not ready:
            raise InputError(f"takes its parser more than {self.limits.seconds:g} seconds", path=path)
        chunk = os.read(out, _CHUNK)
        if not chunk:
            code = self._process.wait()
            how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
            raise InputError(f"ends its parser {how}: damaged, or over the limits of time or memory", path=path)
        return chunk

    def stop(self) -> None:
        """End the process."""
        self._process.kill()
        for stream in (self._process.stdin, self._process.stdout):
            with suppress(BrokenPipeError):
                cast(IO[bytes], stream).close()
        self._process.wait()


_idle: list[_Child] = []  # at most one: it answers file after file
# A forked process would read what the child answers to its parent, and the parent what it answers to the fork.
os.register_at_fork(after_in_child=_idle.clear)


@contextmanager
def _leased(limits: ParserLimits) -> Iterator[_Child]:
    """Yield a child that nobody else uses; it is ended if its file was not read to the end."""
    try:
        child = _idle.pop()
    except IndexError:
        child = _Child(limits)
    if child.limits != limits:
        child.stop()
        child = _Child(limits)
    try:
        yield child
    except BaseException:
        child.stop()
        raise
    if _idle:
        child.stop()
    else:
        _idle.append(child)


@atexit.register
def _stop_idle() -> None:
    while _idle:
        _idle.pop().stop()
