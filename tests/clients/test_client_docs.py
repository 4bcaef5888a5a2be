"""The examples of docs/integrations.md with a server, and examples/rerank_client.py."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="needs the extra serve")

from integrations_texts import ANSWER, QUERY, TEXTS
from real_clients import KEY, ROOT, needs, python_of

pytestmark = pytest.mark.neural

_, HALF = (ROOT / "docs" / "integrations.md").read_text(encoding="utf-8").split("## Clients over HTTP")
EXAMPLES = dict(re.findall(r"^### (.+?)\n.*?```python\n(.*?)```", HALF, re.DOTALL | re.MULTILINE))
ENVIRONMENTS = {
    "Cohere's SDK": "cohere7",
    "langchain-cohere": "cohere5",
    "cohere-haystack": "cohere7",
    "LlamaIndex's postprocessors": "cohere6",
    "litellm": "cohere7",
}
QUIET = {"HAYSTACK_TELEMETRY_ENABLED": "False", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}


def printed(python: str | Path, *arguments: str | Path, **environment: str) -> str:
    command = [python, "-W", "ignore", *arguments]
    env = os.environ | QUIET | environment
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=280)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_every_client_has_an_example() -> None:
    assert EXAMPLES.keys() == ENVIRONMENTS.keys()


@pytest.mark.parametrize("client", [pytest.param(one, marks=needs(ENVIRONMENTS[one])) for one in ENVIRONMENTS])
def test_clients_find_the_document(client: str, url: str) -> None:
    code = EXAMPLES[client].replace("http://127.0.0.1:8330", url).replace("KEY", KEY)
    out = printed(python_of(ENVIRONMENTS[client]), "-c", code)
    assert "Hurricanes are named" in out or "'n': 2" in out
    assert "Boats" not in out


def test_the_example_needs_only_the_standard_library(url: str, tmp_path: Path) -> None:
    for name, text in TEXTS.items():
        (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8")
    paths = [tmp_path / f"{name}.txt" for name in TEXTS]
    script = ROOT / "examples" / "rerank_client.py"
    lines = printed(sys.executable, "-I", script, QUERY, *paths, LONGRANK_URL=url, LONGRANK_API_KEY=KEY).splitlines()
    assert [re.search(r"(\w+)\.txt:", line)[1] for line in lines] == ["long", "near", "far"]  # type: ignore[index]
    start, end = re.search(r":(\d+)-(\d+)  ", lines[0]).groups()  # type: ignore[union-attr]
    assert ANSWER in TEXTS["long"][int(start) : int(end)]
