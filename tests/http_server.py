"""A server process with a small application, and a client that sends raw HTTP.

python tests/http_server.py '{"header_timeout": 1}'      prints where it listens; serves until a signal
"""

from __future__ import annotations

import asyncio
import json
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self


class Answer:
    """What came back: status, headers in lower case, body."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """One connection."""

    def __init__(self, port: int, timeout: float = 60.0) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        self._read = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def post(self, path: str, body: bytes = b"{}", *more: str) -> Answer:
        self.send(request("POST", path, "Content-Type: application/json", *more, body=body))
        return self.answer()

    def get(self, path: str, *more: str) -> Answer:
        self.send(request("GET", path, *more))
        return self.answer()

    def answer(self, *, of_head: bool = False) -> Answer:
        """Read one answer."""
        while b"\r\n\r\n" not in self._read:
            self._more()
        head, _, self._read = self._read.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        length = 0 if of_head else int(headers["content-length"])
        while len(self._read) < length:
            self._more()
        body, self._read = self._read[:length], self._read[length:]
        return Answer(int(lines[0].split()[1]), headers, body)

    def is_closed(self) -> bool:
        """Wait for the server to close the connection, or to send something."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True

    def _more(self) -> None:
        data = self.socket.recv(65536)
        if not data:
            raise EOFError(f"the server has closed the connection after {self._read!r}")
        self._read += data


def request(method: str, target: str, *lines: str, body: bytes = b"") -> bytes:
    """Return a request; its length is said if it has a body and nothing else is said of it."""
    lines = lines if any(line.lower().startswith("host:") for line in lines) else ("Host: localhost", *lines)
    if body and not any(line.lower().startswith(("content-length", "transfer-encoding")) for line in lines):
        lines = (*lines, f"Content-Length: {len(body)}")
    return "\r\n".join([f"{method} {target} HTTP/1.1", *lines, "", ""]).encode("latin-1") + body


@dataclass
class Running:
    """A server's process."""

    process: subprocess.Popen[str]
    port: int
    log: Path

    def client(self, timeout: float = 60.0) -> Client:
        return Client(self.port, timeout)

    def post(self, path: str, body: bytes = b"{}", *more: str) -> Answer:
        with self.client() as client:
            return client.post(path, body, *more)

    def get(self, path: str, *more: str) -> Answer:
        with self.client() as client:
            return client.get(path, *more)

    def stop(self, number: int = signal.SIGTERM) -> None:
        self.process.send_signal(number)

    def wait_until_refusing(self, seconds: float = 60.0) -> None:
        """Wait until the server takes no new connection, as it does once it knows of a signal."""
        until = time.monotonic() + seconds
        with suppress(
            ConnectionRefusedError, ConnectionResetError
        ):  # reset: it was in the queue of a listener that closed
            while time.monotonic() < until:
                self.client().socket.close()
                time.sleep(0.01)
            raise AssertionError("the server still takes connections")

    def rss(self) -> int:
        """Return the bytes of memory that it holds."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        assert found
        return 1024 * int(found[1])

    def n_files(self) -> int:
        """Return how many files and connections it has open."""
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))

    def wait_for_log(self, text: str, seconds: float = 60.0) -> str:
        until = time.monotonic() + seconds
        while text not in (log := self.log.read_text()):
            assert time.monotonic() < until, f"'{text}' is not in the log: {log[-2000:]}"
            time.sleep(0.02)
        return log


@contextmanager
def running(folder: Path, *arguments: str, **settings: Any) -> Iterator[Running]:
    """Run the server until the block ends; `arguments`: another command than this module's."""
    log = folder / "log.txt"
    command = arguments or (sys.executable, __file__, json.dumps({"port": 0, **settings}))
    with log.open("w") as to:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=to, text=True)
    try:
        assert process.stdout
        line = process.stdout.readline()
        assert line.startswith("listening on http://"), f"{line!r} {log.read_text()}"
        yield Running(process, int(line.rpartition(":")[2]), log)
    finally:
        process.kill()
        process.communicate()


def application() -> Any:
    """Return a small application."""
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse, PlainTextResponse, Response
    from starlette.routing import Route

    from longrank.service.transport import request_id_of

    left: list[str] = []

    async def health(request: Request) -> Response:
        return JSONResponse({"status": "ok", "left": left})

    async def rank(request: Request) -> Response:
        body = await request.body()
        until = Path(request.headers.get("x-until", "/"))
        try:
            while not until.exists():
                await asyncio.sleep(0.01)
        except asyncio.CancelledError:
            left.append(request_id_of(request.scope))
            raise
        return JSONResponse({"bytes": len(body), "request_id": request_id_of(request.scope)})

    async def boom(request: Request) -> Response:
        raise RuntimeError("a secret\r\n\x1b[31m\u202e place")

    async def large(request: Request) -> Response:
        return PlainTextResponse("x" * 8_000_000)

    return Starlette(
        routes=[
            Route("/health", health),
            Route("/ready", health),
            Route("/", health),
            Route("/search", rank, methods=["POST"]),
            Route("/rerank", rank, methods=["POST"]),
            Route("/boom", boom, methods=["POST", "GET"]),
            Route("/large", large),
        ]
    )


def main(settings: str) -> int:
    from longrank.service.log import log_to
    from longrank.service.server import serve
    from longrank.service.settings import ServiceSettings
    from longrank.service.transport import Transport

    log_to(sys.stderr)
    limits = ServiceSettings(**json.loads(settings))
    return serve(Transport(application(), limits), limits, load=lambda: None, say=lambda line: print(line, flush=True))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
