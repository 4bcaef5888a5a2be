"""The examples of docs/integrations.md without a server print the relevant passage."""

from __future__ import annotations

import contextlib
import io
import os
import re
import warnings
from pathlib import Path

import pytest

pytestmark = pytest.mark.neural

PAGE = Path(__file__).resolve().parents[2] / "docs" / "integrations.md"
HALF, _ = PAGE.read_text(encoding="utf-8").split("## Clients over HTTP")
EXAMPLES = dict(re.findall(r"^### (.+?)\n.*?```python\n(.*?)```", HALF, re.DOTALL | re.MULTILINE))
MODULES = {"PyTerrier": "pyterrier", "LangChain": "langchain_core", "Haystack": "haystack", "LlamaIndex": "llama_index"}
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"  # read when it is imported


def test_every_component_has_an_example() -> None:
    assert EXAMPLES.keys() == MODULES.keys()


@pytest.mark.parametrize("framework", MODULES)
def test_components_find_the_passage(framework: str) -> None:
    pytest.importorskip(MODULES[framework])
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings(action="ignore"):
        exec(compile(EXAMPLES[framework], f"{PAGE.name}: {framework}", "exec"), {})
    assert "Hurricanes are named" in printed.getvalue()
