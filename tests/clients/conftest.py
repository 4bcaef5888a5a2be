"""A server for clients: `longrank serve --rerank-only` with a key, on loopback."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from http_server import running
from real_clients import KEY


@pytest.fixture(scope="session")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that reranks with the pipeline maxp and MiniLM's vectors, when it is ready."""
    folder = tmp_path_factory.mktemp("clients")
    (folder / "key").write_text(KEY)
    command = [sys.executable, "-m", "longrank", "serve", "--rerank-only", "--pipeline", "maxp", "--port", "0"]
    with running(folder, *command, "--key-file", str(folder / "key")) as server:
        assert server.process.stdout
        assert server.process.stdout.readline() == "ready\n"
        yield f"http://127.0.0.1:{server.port}"
