"""HTTP clients of other projects, each in its own environment, and servers for them."""

from __future__ import annotations

import asyncio
import json
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from integrations_texts import QUERY, TEXTS

if TYPE_CHECKING:
    from longrank.service.rerank import Service

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = ROOT / "tests" / "clients"
KEY = "key-for-tests"
NAMES = list(TEXTS)


def python_of(environment: str) -> Path:
    """Return the python of an environment."""
    return ROOT / f".venv-clients-{environment}" / "bin" / "python"


def needs(environment: str) -> pytest.MarkDecorator:
    """Mark a test that is skipped where an environment is missing."""
    reason = f"needs the environment .venv-clients-{environment}; make test-clients makes it"
    return pytest.mark.skipif(not python_of(environment).exists(), reason=reason)


def asked(environment: str, script: str, ask: str, url: str, key: str = KEY) -> Any:
    """Run a script's function in its environment and return what it answers."""
    with begun(environment, script, ask, url, key) as process:
        return result(process)


def result(process: subprocess.Popen[str]) -> Any:
    """Wait for a script's end and return what it answers."""
    out, err = process.communicate(timeout=280)
    assert process.returncode == 0, err[-3000:]
    return json.loads(out)


@contextmanager
def begun(environment: str, script: str, ask: str, url: str, key: str = KEY) -> Iterator[subprocess.Popen[str]]:
    """Start a script's function, told what to ask; it is ended with the block."""
    pipe = subprocess.PIPE
    command = [python_of(environment), "-W", "ignore", SCRIPTS / f"client_{script}.py", ask]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdin
        json.dump({"url": url, "key": key, "query": QUERY, "texts": list(TEXTS.values())}, process.stdin)
        process.stdin.close()
        process.stdin = None
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def in_thread(desk: Service) -> Iterator[str]:
    """Serve a desk in a thread of this process, so that a test decides what it holds; yields its address."""
    import uvicorn

    from longrank.service.app import create_app

    server = uvicorn.Server(uvicorn.Config(create_app(desk), port=0, log_level="warning", lifespan="off"))
    thread = threading.Thread(target=server.run)
    desk.scheduler.start()
    thread.start()
    until = time.monotonic() + 60
    while not server.started:
        assert time.monotonic() < until, "the server has not started"
        time.sleep(0.02)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        asyncio.run(desk.scheduler.close())


def wait_for_refusals(desk: Service, code: str, n: int) -> None:
    """Wait until a server has refused so many requests for this reason."""
    until = time.monotonic() + 60
    while f'code="{code}"}} {float(n)}' not in (text := desk.metrics.text().decode()):
        assert time.monotonic() < until, text
        time.sleep(0.02)
