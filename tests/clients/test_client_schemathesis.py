"""Replies to thousands of valid and invalid requests match openapi.json."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="needs the extra serve")

from http_server import running
from longrank.cli.main import main
from real_clients import ROOT, needs, python_of

pytestmark = [needs("schemathesis"), pytest.mark.timeout(600)]

PHASES, CHECKS = ("--phases", "examples,coverage,fuzzing"), ("--checks", "all")
REPEATABLE = ("--seed", "1", "--generation-database", "none", "--no-color")
# A request that fits the schema may name a field that no document has, or cut texts by its deadline against its own
# `truncation`: 422.
ALLOWED = '[checks.positive_data_acceptance]\nexpected-statuses = ["2xx", "404", "422", "429"]\n'


def test_thousands_of_requests_are_answered_as_described(tmp_path: Path) -> None:
    (tmp_path / "schemathesis.toml").write_text(ALLOWED, encoding="utf-8")
    index = tmp_path / "examples.index"
    assert main(["index", str(ROOT / "examples" / "docs.jsonl"), "-o", str(index)]) == 0
    serve = [sys.executable, "-m", "longrank", "serve", str(index), "--pipeline", "lexical", "--pipeline", "bm25"]
    with running(tmp_path, *serve, "--port", "0") as server:
        assert server.process.stdout
        assert server.process.stdout.readline() == "ready\n"
        description = f"http://127.0.0.1:{server.port}/openapi.json"
        command = [
            python_of("schemathesis").with_name("st"),
            "run",
            *PHASES,
            *CHECKS,
            "-n",
            "400",
            *REPEATABLE,
            description,
        ]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert server.get("/ready").status == 200
    assert done.returncode == 0, done.stdout[-5000:]
    (generated, passed) = re.search(r"(\d+) generated, (\d+) passed", done.stdout).groups()  # type: ignore[union-attr]
    assert int(generated) == int(passed) > 2000
