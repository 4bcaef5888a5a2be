"""A server with the API of S3, in this process, and a proxy before it that cuts connections."""

from __future__ import annotations

import logging
import socket
import struct
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from typing import Any

import pytest

BUCKET = "bucket"


@contextmanager
def serving_s3() -> Iterator[int]:
    """Yield the port of a new server with an empty bucket."""
    server_module = pytest.importorskip("moto.server", reason="needs the extra dev (moto)")
    pytest.importorskip("s3fs", reason="needs the extra remote")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = server_module.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        yield server.get_host_and_port()[1]
    finally:
        server.stop()


@cache
def _connected(port: int) -> Any:
    boto3 = pytest.importorskip("boto3")
    keys = {"aws_access_key_id": "key", "aws_secret_access_key": "secret", "region_name": "us-east-1"}
    return boto3.client("s3", endpoint_url=f"http://127.0.0.1:{port}", **keys)


def client(port: int) -> Any:
    """Empty the server and make the bucket; return a client."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/moto-api/reset", b"", timeout=60) as reply:
        assert reply.status == 200
    made = _connected(port)
    made.create_bucket(Bucket=BUCKET)
    return made


def settings(port: int) -> dict[str, str]:
    """Environment variables by which clients of S3 find the server or proxy at a port."""
    found = {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}", "AWS_DEFAULT_REGION": "us-east-1"}
    found |= {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_MAX_ATTEMPTS": "1"}
    return found | {"AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": "/dev/null"}


def use(monkeypatch: pytest.MonkeyPatch, port: int) -> None:
    """Let s3fs use the server or proxy at a port, and give up after few faults.

    One fault is not enough: a kept connection that the server has just closed fails, too.
    """
    import s3fs
    from botocore.loaders import JSONFileLoader

    for name, value in settings(port).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(s3fs.S3FileSystem, "retries", 3)
    for name in ("connect_timeout", "read_timeout"):  # 5 s and 15 s are short on a machine that pauses
        monkeypatch.setattr(s3fs.S3FileSystem, name, 120)
    descriptions = _descriptions()
    monkeypatch.setattr(JSONFileLoader, "load_file", lambda self, path: descriptions(path))
    s3fs.S3FileSystem.clear_instance_cache()


@cache
def _descriptions() -> Callable[[str], Any]:
    """Read each description of the API once; every new client reads them all: a fifth of a second."""
    from botocore.loaders import JSONFileLoader

    return cache(partial(JSONFileLoader.load_file, JSONFileLoader()))


class Proxy:
    """Passes bytes on until a number of them has gone one way, then resets every connection.

    Attributes:
        port: its port.
        left: bytes of answers that may still pass; None: all.
        sent: bytes of requests that may still pass; None: all.
        fetched: bytes of answers that have passed.
        waits: True: bytes beyond wait for ever, as on a network that is gone.
    """

    def __init__(self, target: int) -> None:
        self._target, self._listener = target, socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.left: int | None = None
        self.sent: int | None = None
        self.fetched, self.waits = 0, False
        self._lock = threading.Lock()
        threading.Thread(target=self._run, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _run(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(near,), daemon=True).start()

    def _serve(self, near: socket.socket) -> None:
        with near, socket.create_connection(("127.0.0.1", self._target)) as far:
            asking = threading.Thread(target=self._pass, args=(near, far, False), daemon=True)
            asking.start()
            self._pass(far, near, True)
            asking.join()

    def _pass(self, source: socket.socket, sink: socket.socket, answers: bool) -> None:
        with suppress(OSError):
            while content := source.recv(4096):
                if not self._may_pass(len(content), answers):
                    if self.waits:
                        threading.Event().wait()
                    for end in (source, sink):  # a reset, not an orderly end
                        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                        end.shutdown(socket.SHUT_RDWR)
                    return
                sink.sendall(content)
            sink.shutdown(socket.SHUT_WR)

    def _may_pass(self, n: int, answers: bool) -> bool:
        with self._lock:
            name = "left" if answers else "sent"
            left: int | None = getattr(self, name)
            if left is not None:
                if left < n:
                    setattr(self, name, 0)
                    return False
                setattr(self, name, left - n)
            self.fetched += n if answers else 0
            return True
