"""Requests for servers that rerank, servers in child processes, and a client that is little more than a socket.

A request has documents of 300 to 1,500 words each: stretches of the standard library's documentation that begin
anywhere, so that no server has read a passage before; and a question of the demo about it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple, Self
from urllib.parse import urlsplit

from longrank.demo.collection import load
from longrank.text.segment import make_segmenter
from longrank.types import Document, Notes

WORDS = (300, 1500)
_WAIT = 600.0  # seconds for an answer


class Asked(NamedTuple):
    """A query with its documents, and the passages of each in our windows of 150 words, 75 of them new.

    `body` is the request as Cohere's clients send it.
    """

    query: str
    documents: list[str]
    passages: list[list[str]]
    body: bytes = b""

    @property
    def n_passages(self) -> int:
        """All of them."""
        return sum(map(len, self.passages))


def asked(n: int, n_documents: int) -> Asked:
    """Make the n-th request."""
    rng, (words, questions) = random.Random(f"request {n}"), _source()
    texts = []
    for _ in range(n_documents):
        length = rng.randint(*WORDS)
        first = rng.randrange(len(words) - length)
        texts.append(" ".join(words[first : first + length]))
    segment = make_segmenter("windows", {}).segment
    passages = [[one.text for one in segment(Document("d", "", text)).passages] for text in texts]
    query = rng.choice(questions)
    return Asked(query, texts, passages, json.dumps({"model": "any", "query": query, "documents": texts}).encode())


@cache
def _source() -> tuple[list[str], list[str]]:
    demo = load(Notes())
    words = [word for document in demo.documents for word in document.text.split()]
    return words, [query.text for query in demo.queries]


class Stock:
    """Requests, each another one, made beforehand as far as possible: making one takes as long as a refusal may."""

    def __init__(self, n_documents: int, numbers: Iterator[int]) -> None:
        self._n_documents, self._numbers = n_documents, numbers
        self._made: deque[Asked] = deque()

    def fill(self, n: int) -> None:
        """Have `n` at hand."""
        while len(self._made) < n:
            self._made.append(asked(next(self._numbers), self._n_documents))

    def take(self) -> Asked:
        """Return the next one."""
        self.fill(1)
        return self._made.popleft()


@dataclass(frozen=True)
class Answer:
    """An answer and its latency in seconds; status 0: the connection was lost."""

    status: int
    seconds: float
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""


class Connection:
    """A connection that is kept open."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname, parts.port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None

    async def get(self, path: str) -> Answer:
        return await self._exchange(f"GET {path} HTTP/1.1\r\nHost: {self._host}\r\n\r\n".encode())

    async def post(self, path: str, body: bytes) -> Answer:
        head = f"POST {path} HTTP/1.1\r\nHost: {self._host}\r\nContent-Type: application/json\r\n"
        return await self._exchange(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)

    async def _exchange(self, request: bytes) -> Answer:
        started = time.perf_counter()
        try:
            async with asyncio.timeout(_WAIT):
                if self._streams is None:
                    self._streams = await asyncio.open_connection(self._host, self._port, limit=1 << 24)
                reader, writer = self._streams
                writer.write(request)
                await writer.drain()
                status, headers = _head(await reader.readuntil(b"\r\n\r\n"))
                body = await _body(reader, headers)
        except (OSError, EOFError, TimeoutError):
            self.close()
            return Answer(0, time.perf_counter() - started)
        if headers.get("connection", "").lower() == "close":
            self.close()
        return Answer(status, time.perf_counter() - started, headers, body)


def _head(head: bytes) -> tuple[int, dict[str, str]]:
    first, *lines = head.decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in lines if line)
    return int(first.split()[1]), {name.lower(): value.strip() for name, _, value in pairs}


async def _body(reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
    if headers.get("transfer-encoding") != "chunked":
        return await reader.readexactly(int(headers.get("content-length", 0)))
    parts = []
    while size := int(await reader.readline(), 16):
        parts.append(await reader.readexactly(size))
        await reader.readline()
    await reader.readline()
    return b"".join(parts)


class Server:
    """A server in a process of its own, which prints ``listening on URL`` and then ``ready``.

    Args:
        arguments: of Python.
        threads: that PyTorch may use.
        log: where its other output goes.
    """

    def __init__(self, arguments: Sequence[str], threads: int, log: Path) -> None:
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
        with log.open("wb") as stderr:
            self.process = subprocess.Popen(
                [sys.executable, *arguments], stdout=subprocess.PIPE, stderr=stderr, text=True, env=environment
            )
        self.url = self._line("listening on ").removeprefix("listening on ").split()[0]
        self._line("ready")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.terminate()
            self.process.wait(40)
        self.process.kill()

    def _line(self, beginning: str) -> str:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith(beginning):
                return line.strip()
        raise SystemExit(f"the server ended, with exit code {self.process.wait()}, before it was '{beginning.strip()}'")

    def cpu_seconds(self) -> float:
        """Return the CPU time that all threads of the process have had."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def mebibytes(self) -> float:
        """Return the memory of the process."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
        return 0.0
